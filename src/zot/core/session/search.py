"""Full-text search in session files, for a thread: line by line, abortable. Tool results are not searched."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from zot.core.session.records import DiskMessage
from zot.core.session.turn_history import NOT_SAID
from zot.provider.messages import SHOWN_TEXT
from zot.system.safe_open import open_buffered

_LONGEST = 8 << 20  # bytes of a row to search; longer ones are images
_TAILS = (128 << 10, 4 << 20)
_AROUND = 160  # characters before a match
_EXCERPT = 2_000
_LAST = 24

# Characters that JSON encoders do not escape.
_PLAIN = re.compile(r"[a-z0-9 _.,:;=+*()\[\]{}@#$%^!?-]+")


class MessageExcerpt(msgspec.Struct, frozen=True):
    """``role`` is ``user``, ``assistant``, or ``tool`` for the arguments of a call."""

    role: str
    text: str


class Hit(msgspec.Struct, frozen=True):
    path: str
    said: MessageExcerpt


class _SearchRow(msgspec.Struct):
    type: str = ""
    message: DiskMessage | None = None


_decode_row = msgspec.json.Decoder(_SearchRow).decode


def search(paths: Iterable[str], typed: str, given_up: Callable[[], bool]) -> Iterator[Hit]:
    """The first row of each conversation that contains all words, in the order of the paths."""
    words = typed.lower().split()
    for path in paths if words else ():
        try:
            with open_buffered(Path(path)) as file:
                excerpt = _first(file, words, given_up)
        except OSError:
            continue
        if given_up():
            return
        if excerpt is not None:
            yield Hit(path, excerpt)


def _first(file: BinaryIO, words: list[str], given_up: Callable[[], bool]) -> MessageExcerpt | None:
    """A row is decoded only if it contains the bytes of every word."""
    needles = [needle.encode() for word in words if (needle := max(_PLAIN.findall(word), key=len, default=""))]
    for line in _lines(file):
        if given_up():
            return None
        lower = line.lower()
        if any(needle not in lower for needle in needles):
            continue
        for excerpt in _excerpts(line):
            text = excerpt.text.lower()
            if all(word in text for word in words):
                at = text.find(words[0])
                start = max(at - _AROUND, 0)
                if start:
                    start = excerpt.text.find(" ", start, at) + 1 or start
                return MessageExcerpt(excerpt.role, ("…" if start else "") + excerpt.text[start : start + _EXCERPT])
    return None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST):
        if line.endswith(b"\n") or len(line) < _LONGEST:
            yield line
            continue
        while (more := file.readline(_LONGEST)) and not more.endswith(b"\n"):
            pass


def last_messages(path: str) -> list[MessageExcerpt]:
    """The end of a conversation, oldest first; raises OSError. Reads only the end of the file."""
    with open_buffered(Path(path)) as file:
        size, found = os.fstat(file.fileno()).st_size, list[MessageExcerpt]()
        for tail in _TAILS:
            file.seek(max(size - tail, 0))
            if tail < size:
                file.readline(tail)  # the rest of a row
            found = [excerpt for line in _lines(file) for excerpt in _excerpts(line) if excerpt.role != "tool"]
            if found or tail >= size:
                break
    return [MessageExcerpt(excerpt.role, excerpt.text[:_EXCERPT]) for excerpt in found[-_LAST:]]


def _excerpts(line: bytes) -> Iterator[MessageExcerpt]:
    """Texts of the user and the model in a row, and arguments of tools."""
    try:
        row = _decode_row(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    message = row.message
    if row.type != "message" or message is None or (message.meta or {}).keys() & NOT_SAID:
        return
    shown = (message.meta or {}).get(SHOWN_TEXT)
    if shown:
        yield MessageExcerpt(message.role, shown)
    for block in message.content or ():
        if block.text.strip() and message.role in ("user", "assistant"):
            if shown is None:
                yield MessageExcerpt(message.role, block.text)
        elif block.name and message.role == "assistant":
            yield MessageExcerpt("tool", f"{block.name} {_strings(block.arguments)}")


def _strings(arguments: msgspec.Raw) -> str:
    """The values in the arguments of a call."""
    try:
        parsed: Any = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    fields = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
    return " ".join(value for value in fields.values() if isinstance(value, str))
