"""A document as Markdown that reads well as it is and in any renderer; calls are folded where the reader can."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zot.features.export.document import Document, Entry

_LABELS = {"prompt": "You", "answer": "Assistant", "command": "You ran", "summary": "Summary of what came before"}
_TICKS = re.compile(r"`{3,}")


def markdown_page(document: Document) -> str:
    facts = [f"- {name}: {_escaped(value)}" for name, value in document.facts]
    return "\n".join([f"# {_escaped(document.title)}", "", *facts, *_body(document.entries)]) + "\n"


def _body(entries: tuple[Entry, ...]) -> Iterator[str]:
    speaker = ""
    for entry in entries:
        if entry.kind == "call":
            yield from ("", *_call(entry))
            speaker = "Assistant"
            continue
        label = _LABELS[entry.kind]
        if label != speaker or entry.kind != "answer":
            yield from ("", f"## {label}" + (f" · {entry.time}" if entry.time else ""))
        speaker = label
        yield from ("", *([fenced(entry.text)] if entry.kind == "command" else [entry.text.strip("\n")]))
        yield from _images(entry)


def _call(entry: Entry) -> Iterator[str]:
    mark = "✖" if entry.failed else "●"
    yield f"<details><summary>{mark} <code>{_html(entry.head)}</code></summary>"
    yield ""
    yield fenced(entry.text, "diff" if entry.diff else "")
    yield from _images(entry)
    yield ""
    yield "</details>"


def _images(entry: Entry) -> Iterator[str]:
    for image in entry.images:
        yield from ("", f"*(an image: {image.mime_type}, {len(image.data):,} bytes)*")


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", text)


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
