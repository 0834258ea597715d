"""``zot --json``: one JSON line per event; the last, ``done``, has the reason and the exit code."""

from __future__ import annotations

import msgspec

from zot.core.events import AgentEvent, Done, Error
from zot.errors import OutputFailed
from zot.frontends.console import Stdout, StdoutClosed
from zot.wire.events import JailState, encode


class DoneLine(msgspec.Struct, frozen=True, tag="done"):
    """``reason``: end_turn, length, blocked, error, step_limit, cost_limit, interrupted, terminated, hangup or
    session_fault (answered, but the session could not be saved)."""

    reason: str
    exit_code: int


class JailLine(JailState, frozen=True, kw_only=True, tag="jail"):
    """The first line of a jailed run."""


class JsonMode:
    def __init__(self, stdout: Stdout) -> None:
        self._stdout = stdout
        self._early: list[AgentEvent] | None = []  # before the first line

    def begin(self, jail: JailState | None) -> None:
        """Before the first event; diagnostics of the start follow."""
        if jail is not None:
            self._stdout.write(msgspec.json.encode(JailLine(**msgspec.structs.asdict(jail))) + b"\n")
        early, self._early = self._early or [], None
        for event in early:
            self.emit(event)

    def emit_line(self, line: msgspec.Struct) -> None:
        """A line that is no agent event."""
        self._stdout.write(msgspec.json.encode(line) + b"\n")

    def emit(self, event: AgentEvent) -> None:
        if isinstance(event, Done):
            return  # written by finish(), once the outcome is known
        if self._early is not None:
            self._early.append(event)
            return
        line = encode(event)
        if line is not None:
            self._stdout.write(line + b"\n")

    def display(self, source: str, text: str) -> None:
        from zot.wire.rpc_frames import ExtDisplay  # few runs display something

        self.emit_line(ExtDisplay(extension=source, text=text))

    def finish(self, reason: str, exit_code: int) -> None:
        self._stdout.write(msgspec.json.encode(DoneLine(reason, exit_code)) + b"\n")


def write_failure(message: str, exit_code: int) -> int:
    """An ``error`` line and ``done``, for a run that failed before its conversation; the exit code."""
    mode = JsonMode(Stdout())
    try:
        mode.begin(None)
        mode.emit(Error(message))
        mode.finish("error", exit_code)
    except StdoutClosed:
        return 141
    except OutputFailed:
        pass  # the error itself is on stderr
    return exit_code
