"""Traces and recordings read again: the frames in a file, those in one that grows, and one readable line for each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.errors import ConfigError
from zot.features.recording.frame_trace import TracedFrame
from zot.system.safe_open import reading
from zot.wire.line_splitter import Lines

_LOOK_AGAIN = 0.1
_AT_ONCE = 16 << 20
_SUMMARY = 96


def read_frames(path: Path) -> Iterator[tuple[int, TracedFrame]]:
    """The extension frames of a recording or a trace, with their line numbers; ConfigError names a bad line."""
    try:
        file = reading(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    with file:
        for number, line in enumerate(file, 1):
            if (traced := _frame_of(path, number, line)) is not None:
                yield number, traced


def _frame_of(path: Path, number: int, line: bytes) -> TracedFrame | None:
    """None for the other records of a recording, and for a last line that was cut."""
    try:
        if msgspec.json.decode(line, type=_Kind).type not in ("", "frame"):
            return None
        return msgspec.json.decode(line, type=TracedFrame)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        if not line.endswith(b"\n"):
            return None
        raise ConfigError(f"{path}: line {number} is neither of a trace nor of a recording: {error}") from error


class _Kind(msgspec.Struct, frozen=True):
    type: str = ""


def follow_frames(path: Path) -> Iterator[TracedFrame]:
    """The frames of a file while it grows, for ever; one that was started over is read from its beginning."""
    lines, place = Lines(), 0
    while True:
        size = path.stat().st_size if path.exists() else 0
        if size < place:
            lines, place = Lines(), 0
        if size > place:
            with reading(path) as file:
                file.seek(place)
                new = file.read(_AT_ONCE)
                place = file.tell()
            yield from (traced for line in lines.feed(new) if (traced := _traced(line or b"")) is not None)
        else:
            time.sleep(_LOOK_AGAIN)


def _traced(line: bytes) -> TracedFrame | None:
    """None for what is not a frame: the other records of a recording, or damage."""
    try:
        return msgspec.json.decode(line, type=TracedFrame)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def summary_of(traced: TracedFrame) -> str:
    """One readable line: time, extension, direction, type, id, latency, size and the beginning of the rest."""
    line = traced.line
    arrow = "←" if traced.direction == "in" else "→"
    words = [f"{traced.t:9.3f}", traced.extension, arrow, *_type_and_fields(traced)]
    if traced.latency is not None:
        words.append(f"after {traced.latency * 1000:.1f} ms")
    if traced.pending:
        words.append(f"[{len(traced.pending)} open]")
    return " ".join((*words, f"({_size(len(line))})"))


def _type_and_fields(traced: TracedFrame) -> list[str]:
    if traced.text or not bytes(traced.frame):
        return ["NOT A FRAME", _cut(repr(traced.text))]
    value: Any = msgspec.json.decode(traced.frame)
    if not isinstance(value, dict):
        return ["NOT A FRAME", _cut(bytes(traced.frame).decode())]
    fields = cast("dict[str, Any]", value)
    rest = {key: item for key, item in fields.items() if key not in ("type", "id")}
    words = [str(fields.get("type", "?"))]
    if "id" in fields:
        words.append(f"#{fields['id']}")
    return [*words, _cut(msgspec.json.encode(rest).decode())] if rest else words


def _cut(text: str) -> str:
    return text if len(text) <= _SUMMARY else f"{text[: _SUMMARY - 1]}…"


def _size(size: int) -> str:
    return f"{size} B" if size < 10_000 else f"{size / 1024:.0f} KiB"
