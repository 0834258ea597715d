"""Verdicts of extensions, read from the frames between zot and them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

_MOST_OPEN = 1_024


class _Frame(msgspec.Struct):
    type: str = ""
    id: str = ""
    event: str = ""
    tool_id: str = ""
    block: bool = False
    handled: bool = False
    ask: bool = False
    modified_args: Any = None
    replace_text: Any = None
    value: Any = None


_decode = msgspec.json.Decoder(_Frame).decode
Report = Callable[[str, str, str, int, str], None]


class FrameVerdicts:
    """A tap for frames; ``report`` gets extension, event, tool call, start and verdict."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: dict[tuple[str, str], tuple[_Frame, int]] = {}

    def __call__(self, extension: str, direction: str, line: bytes) -> None:
        if b'"event_intercept' not in line[:64]:
            return
        try:
            frame = _decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return
        if direction == "out" and frame.type == "event_intercept":
            if len(self._open) >= _MOST_OPEN:  # answers that never came
                self._open.clear()
            self._open[extension, frame.id] = frame, time.time_ns()
        elif direction == "in" and (asked := self._open.pop((extension, frame.id), None)) is not None:
            question, start = asked
            self._report(extension, question.event, question.tool_id, start, _verdict(frame))


def _verdict(frame: _Frame) -> str:
    if frame.block:
        return "handled" if frame.handled else "block"
    if frame.handled:
        return "handled"
    if frame.modified_args is not None or frame.replace_text is not None or frame.value is not None:
        return "rewrite"
    return "ask" if frame.ask else "allow"
