"""``--ext-trace`` and ``--record``: joins the files that were asked for to a run. Loaded only when one was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from zot.agent.cli.flags import Flags
from zot.agent.recording.frame_trace import TraceFile
from zot.agent.recording.journal_file import JournalFile
from zot.agent.recording.recorder import Recorder
from zot.agent.runtime import Runtime
from zot.provider.providers import credential_variables


def attach(flags: Flags, runtime: Runtime) -> Callable[[], None]:
    """Opens the files and begins to listen; call what comes back when everything else is closed."""
    with ExitStack() as files:  # all of them or none
        _join(flags, runtime, files)
        return files.pop_all().close


def _join(flags: Flags, runtime: Runtime, files: ExitStack) -> None:
    traces = runtime.extensions.traces if runtime.extensions else []
    if flags.ext_trace:
        trace = TraceFile(_file(flags.ext_trace, "--ext-trace", flags, runtime))
        traces.append(trace)
        files.callback(trace.close)
    if flags.record:
        recorder = Recorder(_file(flags.record, "--record", flags, runtime), sys.argv[1:], runtime.workspace.cwd)
        traces.append(recorder.frame)
        recorder.join(runtime.agent)
        files.callback(recorder.close)


def _file(path: str, flag: str, flags: Flags, runtime: Runtime) -> JournalFile:
    place = Path(os.path.abspath(os.path.expanduser(path)))
    return JournalFile(place, flag, runtime.notices.append, _secrets(flags, runtime))


def _secrets(flags: Flags, runtime: Runtime) -> set[str]:
    """Every credential this run can know."""
    names = credential_variables(runtime.catalog.providers().values())
    found = {os.environ.get(name, "") for name in names} | {flags.api_key}
    if runtime.resolved.endpoint is not None:
        found.add(runtime.resolved.endpoint.api_key)
    return {value for value in found if value}
