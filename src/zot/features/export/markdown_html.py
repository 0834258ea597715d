"""Markdown as HTML, by the same grammar the terminal shows it with: what looks like a table there is one here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from zot.tui import inline, markdown, table

_DEEPEST = 8  # styles inside styles, quotes inside quotes
_SAFE_LINK = re.compile(r"(?i)(?:https?://|mailto:)")
_STYLES = {"bold": "strong", "italic": "em", "strike": "s"}


def rendered(text: str, depth: int = _DEEPEST) -> str:
    """A whole text."""
    found = markdown.blocks(text.split("\n"))
    pieces: list[str] = []
    while found:
        count = _run_of_items(found)
        pieces.append(_list(found[:count]) if count else _block(found[0], depth))
        del found[: count or 1]
    return "\n".join(pieces)


def _run_of_items(found: Sequence[markdown.Block]) -> int:
    return next((i for i, block in enumerate(found) if block.kind != "item"), len(found))


def _block(block: markdown.Block, depth: int) -> str:
    match block.kind:
        case "code":
            return f"<pre><code>{escape(markdown.code_of(block)[1])}</code></pre>"
        case "heading":
            level = len(block.lines[0].strip()) - len(block.lines[0].strip().lstrip("#"))
            return f"<h{level}>{spans(block.lines[0].strip().strip('#').strip())}</h{level}>"
        case "rule":
            return "<hr>"
        case "table":
            return _table(block.lines)
        case "quote" if depth:
            return f"<blockquote>{rendered(markdown.unquoted(block), depth - 1)}</blockquote>"
        case _:
            return f"<p>{_lines(block.lines)}</p>"


def _lines(lines: Sequence[str]) -> str:
    """Lines stay lines, as models mean them."""
    return spans("\n".join(line.strip() for line in lines)).replace("\n", "<br>\n")


def _table(lines: Sequence[str]) -> str:
    header = table.cells_of(lines[0])
    rows = [[*table.cells_of(line), *[""] * len(header)][: len(header)] for line in lines[2:]]
    head = "".join(f"<th>{spans(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{spans(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _list(items: Sequence[markdown.Block]) -> str:
    """Items that stand further to the right belong to a list inside the item before them."""
    parts: list[str] = []
    open_at: list[tuple[int, str]] = []  # the lists that are open: how far they stand to the right, and their tag
    for block in items:
        indent, marker, lines = markdown.item_of(block)
        while len(open_at) > 1 and indent < open_at[-1][0]:
            parts.append(f"</li></{open_at.pop()[1]}>")
        if not open_at or (indent > open_at[-1][0] + 1 and len(open_at) < _DEEPEST):
            tag = "ul" if marker in "-*+" else "ol"
            start = f' start="{int(marker[:-1])}"' if tag == "ol" and marker[:-1] != "1" else ""
            open_at.append((indent, tag))
            parts.append(f"<{tag}{start}>")
        else:
            parts.append("</li>")
        parts.append(f"<li>{_lines(lines)}")
    parts += [f"</li></{tag}>" for _, tag in reversed(open_at)]
    return "".join(parts)


def spans(text: str, depth: int = _DEEPEST) -> str:
    """Styles and links inside a paragraph."""
    return "".join(_span(span, depth) for span in inline.spans(text)) if depth else escape(text)


def _span(span: inline.Span, depth: int) -> str:
    if span.kind in _STYLES:
        tag = _STYLES[span.kind]
        return f"<{tag}>{spans(span.text, depth - 1)}</{tag}>"
    if span.kind == "code":
        return f"<code>{escape(span.text)}</code>"
    if span.kind == "link" and _SAFE_LINK.match(span.url):
        label = span.text or span.url
        inner = escape(label) if label == span.url else spans(label, depth - 1)
        return f'<a href="{escape(span.url)}" rel="noopener noreferrer">{inner}</a>'
    return escape(span.text if span.kind == "text" or not span.url else f"{span.text} ({span.url})")
