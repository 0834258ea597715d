"""``--ext-trace`` and ``--record``: joins the files that were asked for to a run. Loaded only when one was."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from zot import __version__
from zot.agent.conversation import Conversation
from zot.agent.model_resolver import Resolved
from zot.agent.services import Resources
from zot.agent.system_prompt import SystemPrompt
from zot.agent.tools.registry import Limits
from zot.core.agent import Agent
from zot.core.events import Diagnostic
from zot.features.recording.frame_trace import TraceFile
from zot.features.recording.journal_file import Journal, JournalFile
from zot.features.recording.recorder import FORMAT, Recorder
from zot.features.recording.recording_agent import RecordedAgent, own_specs
from zot.provider.providers import credential_variables
from zot.system.files import find_program
from zot.system.secret_variables import looks_like_secret

_SECRET_FLAGS = ("--api-key",)
_USER_INFO = re.compile(r"//[^/@\s]+@")
_SURROUNDINGS = ("LANG", "LC_ALL", "TERM", "COLORTERM", "NO_COLOR", "SHELL", "TZ", "CI", "ZOT_HOME", "XDG_CACHE_HOME")


def recorded_agent(
    resources: Resources, resolved: Resolved, files: ExitStack, told: Callable[[str], None]
) -> Callable[..., Agent]:
    """What makes the agent of a run with ``--record``; the file is begun here, and ``files`` closes it."""
    file = _file(resources.config.record, "--record", resources, resolved, told)
    files.callback(file.close)
    journal = Journal(file)
    recorder = Recorder(journal)

    def end() -> None:
        recorder.put("end")
        journal.close()

    def make(**parts: Any) -> Agent:
        recorder.put("header", **_header(resources, file.started))
        files.callback(end)
        return RecordedAgent(recorder, **parts)

    return make


def attach(conversation: Conversation, agent: Agent, files: ExitStack) -> None:
    """Begins to listen, before extensions are started."""
    resources, host = conversation.resources, conversation.extensions
    if resources.config.ext_trace:
        resolved = conversation.resolved
        file = _file(
            resources.config.ext_trace,
            "--ext-trace",
            resources,
            resolved,
            lambda text: conversation.emit(Diagnostic(text)),
        )
        trace = TraceFile(file)
        files.callback(trace.close)
        if host is not None:
            host.traces.append(trace)
    if isinstance(agent, RecordedAgent):
        recorder = agent.recorder
        recorder.put("setup", **_setup(conversation, agent))
        if conversation.gate is not None:
            recorder.watch(conversation.gate, agent)
        if host is not None:
            host.traces.append(recorder.frame)
            host.ends.append(recorder)


def versions() -> dict[str, str]:
    """What runs; ``platform`` would take milliseconds to say it better."""
    system = os.uname()
    return {
        "zot": __version__,
        "python": sys.version.split()[0],
        "platform": f"{system.sysname} {system.release} {system.machine}",
    }


def _header(resources: Resources, started: float) -> dict[str, Any]:
    """What ran, where and when; the clock lets times be told apart from seconds since the beginning."""
    environ = {name: value for name in _SURROUNDINGS if (value := os.environ.get(name))}
    return {
        "format": FORMAT,
        **versions(),
        "argv": public_argv(resources.config.argv),
        "cwd": str(resources.workspace.cwd),
        "home": str(resources.home),
        "environ": environ,
        "clock": {"wall": time.time(), "monotonic": started, "zone": time.strftime("%z")},
    }


def _setup(conversation: Conversation, agent: RecordedAgent) -> dict[str, Any]:
    """What the agent began with: enough to make one like it where none of its files are."""
    resources, host, gate = conversation.resources, conversation.extensions, conversation.gate
    system = agent.system
    setup: dict[str, Any] = {
        "provider": conversation.resolved.provider.id,
        "state": agent.begin(),
        "system": system.parts() if isinstance(system, SystemPrompt) else {"text": system(agent.specs)},
        "tools": own_specs(agent.tools),
        "taken": [tool.name for tool in resources.own_tools],
        "bash": _bash(resources),
        "chosen": resources.tool_choice.names,
        "interceptors": [each.watches_text for each in agent.interceptors],
        "messages": agent.messages,
        "cost": agent.cost,
        "fallback": bool(resources.config.fallback_model),
    }
    if gate is not None:
        setup["gate"] = {"limit": gate.limit, "asks_each": gate.asks_each}
    if host is not None:
        setup["extensions"] = host.plan().entries
        setup["permissions"] = {
            entry.manifest.name: host.permissions(entry, entry.manifest) for entry in host.plan().entries
        }
        setup["missing_guards"] = [problem for problem in host.plan().problems if problem.guard]
        setup["interactive"] = host.interactive
        setup["tool_timeout_s"] = host.tool_timeout_s
    return setup


def _bash(resources: Resources) -> dict[str, Any]:
    """What the description of bash depends on."""
    values = resources.settings.values
    limits = Limits(int(values.bash_timeout_s), int(values.bash_timeout_max_s))
    return {"shell": find_program("bash") or "/bin/sh", "limits": limits}


def _file(path: str, flag: str, resources: Resources, resolved: Resolved, told: Callable[[str], None]) -> JournalFile:
    place = Path(os.path.abspath(os.path.expanduser(path)))
    return JournalFile(place, flag, told, known_secrets(resources, resolved))


def known_secrets(resources: Resources, resolved: Resolved) -> set[str]:
    """Every credential this run can know: named by hand, in the environment, and stored by logging in."""
    names = credential_variables(resources.catalog.providers().values())
    places = (os.environ, resources.environ)
    found = {place[name] for place in places for name in place if name in names or looks_like_secret(name)}
    found |= {resources.config.api_key, *resources.auth.secrets()}
    if resolved.endpoint is not None:
        found.add(resolved.endpoint.api_key)
    return {value for value in found if value}


def public_argv(argv: Sequence[str]) -> list[str]:
    """The command line without the values of secret flags and without names and passwords in addresses."""
    shown: list[str] = []
    hide = False
    for word in argv:
        flag, equals, _ = word.partition("=")
        if hide:
            word, hide = "[removed]", False
        elif flag in _SECRET_FLAGS:
            word, hide = (f"{flag}=[removed]", False) if equals else (word, True)
        shown.append(_USER_INFO.sub("//", word))
    return shown
