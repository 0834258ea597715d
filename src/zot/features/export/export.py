"""Exports a session to a new private file, and the Markdown format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from zot.core.session import fork
from zot.errors import SessionError, UsageError
from zot.features.export.document import Document, DocumentEntry, Redact, end_mark, read_document
from zot.features.export.redaction import Redaction

Format = Literal["zotsession", "md", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
_NAMES: dict[str, Format] = {"zotsession": "zotsession", "md": "md", "markdown": "md", "html": "html", "htm": "html"}


def format_named(text: str) -> Format | None:
    """``md``, ``html``, ``zotsession`` and their aliases."""
    name = text.lower().lstrip(".")
    return _NAMES.get(name)


def format_of(destination: str, default: Format) -> Format:
    return format_named(os.path.splitext(destination.strip("\"' "))[1]) or default


def export(source: Path, destination: Path | str, kind: Format, redaction: Redaction | None = None) -> Path:
    """Writes the export and returns its path; SessionError if it fails."""
    if kind == "zotsession":
        return fork.export_session(source, destination, change=redaction.row if redaction is not None else None)
    redact: Redact = redaction or str
    origin = fork.source_of(source)
    target = fork.target_of(origin, fork.typed_path(destination, "export: expected a destination"), f".{kind}")
    return write_page(read_document(source, redact), target, kind)


def write_page(document: Document, target: Path, kind: Format) -> Path:
    return fork.write_numbered(target, f".{kind}", [page_of(document, kind)])


def page_of(document: Document, kind: Format) -> bytes:
    """SessionError for a conversation without prompts."""
    if not document.entries:
        raise SessionError("cannot export: this conversation has no prompts yet")
    if kind == "html":
        from zot.features.export.html_page import html_page

        page = html_page(document)
    else:
        page = markdown_page(document)
    return page.encode("utf-8", "replace")


def checked_format(text: str) -> Format:
    kind = format_named(text)
    if kind is None:
        raise UsageError(f'unknown format "{text}": expected one of {", ".join(FORMATS)}')
    return kind


# A document as Markdown; calls are folded where the renderer can.

_LABELS = {"prompt": "You", "answer": "Assistant", "command": "You ran", "summary": "Summary of earlier messages"}
_TICKS = re.compile(r"`{3,}")


def markdown_page(document: Document) -> str:
    facts = [f"- {name}: {_escaped(value)}" for name, value in document.facts]
    return "\n".join([f"# {_escaped(document.title)}", "", *facts, *_body(document.entries)]) + "\n"


def _body(entries: tuple[DocumentEntry, ...]) -> Iterator[str]:
    speaker = ""
    for entry in entries:
        if entry.kind == "call":
            yield from ("", *_call(entry))
            speaker = "Assistant"
            continue
        if entry.kind == "end":
            yield from ("", f"{end_mark(entry)} {_escaped(entry.text)}")
            continue
        label = _LABELS[entry.kind]
        if label != speaker or entry.kind != "answer":
            yield from ("", f"## {label}" + (f" · {entry.time}" if entry.time else ""))
        speaker = label
        yield from ("", *([fenced(entry.text)] if entry.kind == "command" else [entry.text.strip("\n")]))
        yield from _images(entry)


def _call(entry: DocumentEntry) -> Iterator[str]:
    mark = "✖" if entry.failed else "●"
    head = entry.head.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield f"<details><summary>{mark} <code>{head}</code></summary>"
    yield ""
    yield fenced(entry.text, "diff" if entry.diff else "")
    yield from _images(entry)
    yield ""
    yield "</details>"


def _images(entry: DocumentEntry) -> Iterator[str]:
    for image in entry.images:
        yield from ("", f"*(an image: {image.mime_type}, {len(image.data):,} bytes)*")


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", text)
