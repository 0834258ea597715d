"""Entries of an exported page: messages and calls with results, including compacted ones.
Thinking is excluded and terminal control sequences are removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from zot.core.session.records import messages_of
from zot.core.session.session_file import read_lines
from zot.core.session.summary import summarise
from zot.errors import SessionError
from zot.provider.messages import ENDED, ImageBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock
from zot.system.safe_open import open_buffered
from zot.tui.sanitize import one_line, sanitize

Kind = Literal["prompt", "answer", "call", "command", "summary", "end"]
Redact = Callable[[str], str]

_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_TELLING = ("command", "path", "pattern", "url", "query", "name", "prompt")  # arguments that identify a call
_LONGEST_HEAD = 200


class DocumentEntry(msgspec.Struct, frozen=True, kw_only=True):
    """``head`` describes a call; its ``text`` is the result, with diff rows if ``diff``. An ``end`` marks an answer
    that is not complete."""

    kind: Kind
    text: str
    time: str = ""
    head: str = ""
    failed: bool = False
    diff: bool = False
    images: tuple[ImageBlock, ...] = ()


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """``facts`` are pairs for the head of the page, such as model, start and cost."""

    title: str
    facts: tuple[tuple[str, str], ...]
    entries: tuple[DocumentEntry, ...]


def read_document(path: Path, redact: Redact = str) -> Document:
    """From a session file; SessionError if it cannot be read."""
    try:
        summary = summarise(path)
        if summary is None:
            raise SessionError(f"{path} is not a session: its first row is not a `meta` row")
        with open_buffered(path) as file:
            found = messages_of(line.row for line in read_lines(file))
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    facts = {
        "model": f"{summary.provider}/{summary.model}",
        "began": _minute(summary.started),
        "directory": summary.cwd,
        "cost": f"${summary.cost_usd:.3f}" if summary.cost_usd else "",
    }
    return document_of(found, summary.label, facts, redact)


def document_of(messages: Iterable[Message], title: str, facts: dict[str, str], redact: Redact = str) -> Document:
    """From messages in memory; empty facts are omitted."""
    messages = list(messages)
    results = {result.call_id: result for message in messages for result in message.tool_results()}
    entries = tuple(entry for message in messages for entry in _entries(message, results, redact))
    rows = tuple((name, redact(one_line(value))) for name, value in facts.items() if value)
    return Document(title=redact(one_line(title)), facts=rows, entries=entries)


def _entries(message: Message, results: dict[str, ToolResultBlock], redact: Redact) -> Iterator[DocumentEntry]:
    time = _minute(message.time)
    images = tuple(block for block in message.content if isinstance(block, ImageBlock))
    text = redact(plain(message.shown_text()))
    if message.role != "tool" and (text.strip() or images):
        yield DocumentEntry(kind=_kind(message), text=text, time=time, images=images)
    for call in message.tool_calls():
        yield _call(call, results.get(call.id), time, redact)
    if ended := message.end_text:
        yield DocumentEntry(kind="end", text=redact(one_line(ended)), failed=message.meta[ENDED] == "failed")


def end_mark(entry: DocumentEntry) -> str:
    return "✖" if entry.failed else "◌"


def _kind(message: Message) -> Kind:
    if message.role == "assistant":
        return "answer"
    if "compaction" in message.meta:
        return "summary"
    return "command" if "shell" in message.meta else "prompt"


def _call(call: ToolCallBlock, result: ToolResultBlock | None, time: str, redact: Redact) -> DocumentEntry:
    content = result.content if result is not None else (TextBlock("(no result)"),)
    text = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    return DocumentEntry(
        kind="call",
        text=redact(plain(text)).strip("\n"),
        time=time,
        head=redact(_head(call)),
        failed=result is None or result.is_error,
        diff=result is not None and bool(result.hunks),
        images=tuple(block for block in content if isinstance(block, ImageBlock)),
    )


def _head(call: ToolCallBlock) -> str:
    """``bash make test``, ``read src/x.py``: the tool and its main argument, on one line."""
    args = call.args or {}
    subject = next((str(args[name]) for name in _TELLING if args.get(name)), call.arguments if args else "")
    head = one_line(f"{call.name} {subject}")
    return head if len(head) <= _LONGEST_HEAD else f"{head[: _LONGEST_HEAD - 1]}…"


def plain(text: str) -> str:
    return _STYLE.sub("", sanitize(text))


def _minute(time: str) -> str:
    """``2025-01-31 14:05`` from a timestamp; empty if invalid."""
    return f"{time[:10]} {time[11:16]} UTC" if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*", time) else ""
