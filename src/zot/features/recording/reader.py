"""Reads a recording's lines and its damage.
A damaged file is a recording that ends early; a newer format, another kind of file or too large a file is a
ConfigError."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from zot.errors import ConfigError
from zot.features.recording.recorder import FORMAT
from zot.system.checksummed_lines import SealedLine, read_checked_lines
from zot.system.safe_open import open_buffered
from zot.system.strict_json import too_deep

LARGEST = 2 << 30


class RecordedLine(NamedTuple):
    """One line of a recording."""

    number: int
    type: str
    fields: dict[str, Any]

    @property
    def t(self) -> float:
        t = self.fields.get("t")
        return float(t) if isinstance(t, int | float) else 0.0

    @property
    def agent(self) -> int:
        return int(self.fields.get("agent", 1))


class Recording(msgspec.Struct, frozen=True):
    """``damage`` is the first problem; ``ended`` is False if the last line is missing."""

    path: str
    header: Mapping[str, Any]
    lines: tuple[RecordedLine, ...]
    damage: str = ""
    ended: bool = True

    @property
    def format(self) -> int:
        return int(self.header.get("format", 1))

    @property
    def setup(self) -> RecordedLine | None:
        return next((line for line in self.lines if line.type == "setup"), None)


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """ConfigError if the file cannot be used."""
    try:
        with open_buffered(path) as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                raise ConfigError(f"{path}: larger than {LARGEST >> 30} GiB")
            return _read(os.fspath(path), read_checked_lines(file))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error


def _read(path: str, found: Iterator[SealedLine]) -> Recording:
    first = next(found, None)
    if first is None:
        raise ConfigError(f"{path}: not a recording: the file is empty")
    header = decoded_line(first)
    if header is None or header.type != "header":
        raise ConfigError(f"{path}: not a recording: line 1 is not a header")
    format = header.fields.get("format")
    if not isinstance(format, int) or format < 1:
        raise ConfigError(f"{path}: not a recording: its header has no format")
    if format > FORMAT:
        made_by = str(header.fields.get("zot", "a newer zot"))[:40]
        raise ConfigError(
            f"{path}: unsupported recording format {format} of zot {made_by}; this zot reads up to {FORMAT}"
        )
    checked = format > 1
    lines, ended = [header], False
    damage = f"line 1 {first.fault}" if checked and first.fault else ""
    for sealed in found:
        line = None if not sealed.data else decoded_line(sealed)
        fault = sealed.fault if checked or not sealed.data or not sealed.whole else ""
        if line is None and not fault:
            fault = "is not a recording line"
        if fault and not damage and sealed.whole:
            damage = f"line {sealed.number} {fault}"
        if line is None or not sealed.whole:
            break
        lines.append(line)
        ended = line.type == "end"
    return Recording(path, header.fields, tuple(lines), damage, ended)


def decoded_line(sealed: SealedLine) -> RecordedLine | None:
    """A line's fields; None unless it is an object with a type."""
    if too_deep(sealed.data):
        return None
    try:
        value: Any = msgspec.json.decode(sealed.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    type = fields.get("type")
    return RecordedLine(sealed.number, type, fields) if isinstance(type, str) else None
