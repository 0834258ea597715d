"""``--ext-trace`` and ``--record``: attaches the requested files to a run. Loaded only with a flag."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from zot import __version__
from zot.agent.conversation import Conversation
from zot.agent.feature import Feature
from zot.agent.services import Services
from zot.agent.system_prompt import SystemPrompt
from zot.agent.tools.registry import BashLimits
from zot.core.state import Boundary
from zot.features.lookup import extension_host
from zot.features.recording.frame_trace import TraceFile
from zot.features.recording.journal_file import JournalFile, RecordingWriter
from zot.features.recording.recorder import FORMAT, Recorder
from zot.features.recording.recording_boundary import RecordingBoundary, own_specs
from zot.provider.providers import credential_variables
from zot.system.files import find_program
from zot.system.secret_variables import looks_like_secret

_SECRET_FLAGS = ("--api-key",)
_USER_INFO = re.compile(r"//[^/@\s]+@")
_SURROUNDINGS = ("LANG", "LC_ALL", "TERM", "COLORTERM", "NO_COLOR", "SHELL", "TZ", "CI", "ZOT_HOME", "XDG_CACHE_HOME")


class RecordingFeature(Feature):
    """Files are opened when the agent is created and closed after everything else."""

    name = "recording"
    _trace: TraceFile | None = None

    @classmethod
    def prepare(cls, services: Services) -> None:
        if services.config.record:
            services.create_boundary = partial(_recording_boundary, services)

    def joined(self) -> None:
        """Called before any event: a recording begins with the agent's initial state."""
        conversation, host = self.conversation, extension_host(self.conversation)
        boundary = conversation.agent.boundary
        if self.services.config.ext_trace:
            self._trace = TraceFile(_file(self.services.config.ext_trace, "--ext-trace", self.services, self.notify))
            if host is not None:
                host.traces.append(self._trace)
        if isinstance(boundary, RecordingBoundary):
            recorder = boundary.recorder
            if isinstance(recorder.sink, RecordingWriter):
                recorder.sink.file.on_failure = self.notify
            recorder.put("setup", **_setup(conversation, boundary))
            if conversation.gate is not None:
                recorder.watch(conversation.gate, boundary)
            if host is not None:
                host.traces.append(recorder.frame)
                host.ends.append(recorder)

    async def aclose(self) -> None:
        if self._trace is not None:
            self._trace.close()
        if isinstance(boundary := self.conversation.agent.boundary, RecordingBoundary):
            boundary.recorder.close()


def _recording_boundary(services: Services) -> Boundary:
    file = _file(services.config.record, "--record", services, lambda text: None)
    recorder = Recorder(RecordingWriter(file))
    environ = {name: value for name in _SURROUNDINGS if (value := os.environ.get(name))}
    recorder.put(
        "header",
        format=FORMAT,
        **versions(),
        argv=public_argv(services.config.argv),
        cwd=str(services.workspace.cwd),
        home=str(services.home),
        environ=environ,
        # Recorded times are seconds since the start; the header has the date.
        clock={"wall": time.time(), "monotonic": file.started, "zone": time.strftime("%z")},
    )
    return RecordingBoundary(recorder)


def versions() -> dict[str, str]:
    """The operating system; ``platform`` would take milliseconds."""
    system = os.uname()
    return {
        "zot": __version__,
        "python": sys.version.split()[0],
        "platform": f"{system.sysname} {system.release} {system.machine}",
    }


def _setup(conversation: Conversation, boundary: RecordingBoundary) -> dict[str, Any]:
    """The agent's initial state: enough to create one like it without its files."""
    services, host, gate = conversation.services, extension_host(conversation), conversation.gate
    agent, system = boundary.agent, boundary.agent.system
    values = services.settings.values
    limits = BashLimits(int(values.bash_timeout_s), int(values.bash_timeout_max_s))
    setup: dict[str, Any] = {
        "provider": conversation.resolved.provider.id,
        "state": boundary.begin(),
        "system": system.parts() if isinstance(system, SystemPrompt) else {"text": system(agent.specs)},
        "tools": own_specs(agent.tools),
        "taken": [tool.name for tool in conversation.toolset.own],
        "bash": {"shell": find_program("bash") or "/bin/sh", "limits": limits},
        "chosen": conversation.toolset.choice.names,
        "interceptors": [each.watches_text for each in agent.interceptors],
        "messages": agent.messages,
        "cost": agent.cost,
        "fallback": bool(services.config.fallback_model),
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


def _file(path: str, flag: str, services: Services, notify: Callable[[str], None]) -> JournalFile:
    place = Path(os.path.abspath(os.path.expanduser(path)))
    return JournalFile(place, flag, notify, known_secrets(services))


def known_secrets(services: Services) -> set[str]:
    """All credentials of this run: flags, environment and stored logins."""
    names = credential_variables(services.catalog.providers().values())
    places = (os.environ, services.environ)
    found = {place[name] for place in places for name in place if name in names or looks_like_secret(name)}
    found |= {services.config.api_key, *services.auth.secrets()}
    if services.resolved.endpoint is not None:
        found.add(services.resolved.endpoint.api_key)
    return {value for value in found if value}


def public_argv(argv: Sequence[str]) -> list[str]:
    """The command line without values of secret flags and without user info in addresses."""
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
