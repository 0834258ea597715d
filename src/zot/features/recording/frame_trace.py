"""Traces every frame between host and extensions as a JSON line with time, pending requests and latency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from zot.features.recording.journal_file import JournalFile

Direction = Literal["in", "out"]  # from the host's view: "in" comes from the extension
FrameTap = Callable[[str, Direction, bytes], None]


class ExitListener(Protocol):
    """Called when an extension's process ends, with its exit."""

    def gone(self, extension: str, reason: str) -> None: ...

    def exited(self, extension: str, code: int | None) -> None: ...


# (direction, type) of an answer -> of the requests it may belong to
_OPENERS: dict[tuple[Direction, str], tuple[tuple[Direction, str], ...]] = {
    ("in", "command_response"): (("out", "command_invoked"),),
    ("in", "tool_result"): (("out", "tool_call"),),
    ("in", "event_intercept_response"): (("out", "event_intercept"),),
    ("out", "tool_result"): (("in", "call_tool"),),
    ("in", "response"): (("out", "request"),),
    ("out", "response"): (("in", "request"), ("in", "contribute"), ("in", "withdraw")),
}
_ANSWERED = frozenset(question for questions in _OPENERS.values() for question in questions)
_LISTED = 32


class TracedFrame(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a trace. ``frame`` is the line; ``text`` has it if it is not JSON."""

    t: float
    extension: str
    direction: Direction
    frame: msgspec.Raw = msgspec.Raw(b"")
    text: str = ""
    latency: float | None = None
    pending: tuple[str, ...] = ()

    @property
    def line(self) -> bytes:
        return bytes(self.frame) or self.text.encode()


class _Head(msgspec.Struct, frozen=True):
    type: Any = ""
    id: Any = ""


_head = msgspec.json.Decoder(_Head).decode
_any = msgspec.json.Decoder().decode


class FrameLog:
    """Converts lines to traced frames; tracks open requests."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, Direction, str, str], float] = {}

    def frame(self, t: float, extension: str, direction: Direction, line: bytes) -> TracedFrame:
        line = line.rstrip(b"\r\n")
        try:
            head, raw, text = _head(line), msgspec.Raw(line), ""
            _any(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            head, raw, text = _Head(), msgspec.Raw(b""), line.decode("utf-8", "backslashreplace")
        latency = self._settle(t, extension, direction, str(head.type), str(head.id))
        pending = tuple(id for (owner, _, _, id) in self._open if owner == extension)[:_LISTED]
        return TracedFrame(t, extension, direction, raw, text, latency, pending)

    def _settle(self, t: float, extension: str, direction: Direction, type: str, id: str) -> float | None:
        if (direction, type) in _ANSWERED:
            if id:  # a contribution without id gets no answer
                self._open[extension, direction, type, id] = t
        elif questions := _OPENERS.get((direction, type)):
            found = [at for each in questions if (at := self._open.pop((extension, *each, id), None)) is not None]
            return round(t - found[0], 6) if found else None
        elif type == "hello":  # a new process: requests to the old one are lost
            self._open = {key: at for key, at in self._open.items() if key[0] != extension}
        return None


class TraceFile:
    """``--ext-trace FILE``: a tap that writes one JSON line per frame."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._log = FrameLog()

    def __call__(self, extension: str, direction: Direction, line: bytes) -> None:
        self._file.write(msgspec.json.encode(self._log.frame(self._file.now(), extension, direction, line)))

    def close(self) -> None:
        self._file.close()
