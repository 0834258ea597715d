"""``--ext-trace`` and ``--record``: joins the files that were asked for to a run. Loaded only when one was."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

from zot.agent.conversation import Conversation
from zot.agent.recording.frame_trace import TraceFile
from zot.agent.recording.journal_file import JournalFile
from zot.agent.recording.recorder import Recorder
from zot.core.agent import Agent
from zot.core.events import Diagnostic
from zot.provider.providers import credential_variables


def attach(conversation: Conversation, agent: Agent, files: ExitStack) -> None:
    """Opens the files and begins to listen; ``files`` closes them, after everything else is closed."""
    config, host = conversation.resources.config, conversation.extensions
    traces = host.traces if host is not None else []
    if config.ext_trace:
        trace = TraceFile(_file(config.ext_trace, "--ext-trace", conversation))
        files.callback(trace.close)
        traces.append(trace)
    if config.record:
        cwd = conversation.resources.workspace.cwd
        recorder = Recorder(_file(config.record, "--record", conversation), sys.argv[1:], cwd)
        files.callback(recorder.close)
        traces.append(recorder.frame)
        recorder.join(agent)


def _file(path: str, flag: str, conversation: Conversation) -> JournalFile:
    place = Path(os.path.abspath(os.path.expanduser(path)))
    return JournalFile(place, flag, lambda text: conversation.emit(Diagnostic(text)), _secrets(conversation))


def _secrets(conversation: Conversation) -> set[str]:
    """Every credential this run can know."""
    names = credential_variables(conversation.resources.catalog.providers().values())
    found = {os.environ.get(name, "") for name in names} | {conversation.resources.config.api_key}
    if conversation.resolved.endpoint is not None:
        found.add(conversation.resolved.endpoint.api_key)
    return {value for value in found if value}
