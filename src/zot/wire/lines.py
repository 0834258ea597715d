"""Lines and views: text with styles that extensions send and front ends draw.
A line is a string or a list of spans; whatever its shape, the result is a tuple of ``Span``. Limits and link schemes
are applied here; escapes and control characters are the business of whoever draws."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

MOST_LINES, MOST_CHARS, MOST_SPANS = 500, 4096, 256
ROLES = (
    *("fg", "muted", "accent", "tool", "success", "warning", "error", "heading", "code", "link", "user", "selection"),
    *("diff_add", "diff_remove"),
)
ATTRIBUTES = ("bold", "dim", "italic", "underline", "strike", "reverse")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_LINK = re.compile(r"(https?|file)://", re.IGNORECASE)
# Controls without SGR's escape, bidirectional overrides, line and paragraph separators.
_HOSTILE = re.compile("[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_ESCAPE = re.compile(r"\x1b(?!\[[0-9;:]*m)(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x1b\\|\x07|$)|.?)")


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a line. ``style`` are roles and attributes separated by spaces; ``fg`` and ``bg`` a role or
    ``#rrggbb``; ``fill`` repeats the text to fill the row."""

    text: str
    style: str = ""
    fg: str = ""
    bg: str = ""
    link: str = ""
    fill: bool = False


Line = tuple[Span, ...]


class View(msgspec.Struct, frozen=True, omit_defaults=True):
    """``lines`` is the folded form, ``expanded`` the whole; with ``markdown`` each line is Markdown."""

    lines: tuple[Line, ...]
    title: Line = ()
    expanded: tuple[Line, ...] = ()
    markdown: bool = False


def to_line(value: Any) -> Line:
    """A line of any shape; what cannot be drawn is drawn as its text, or left out."""
    if isinstance(value, str):
        return (Span(_clean(value[:MOST_CHARS])),) if value else ()
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list | tuple):
        return () if value is None else (Span(_clean(str(value)[:MOST_CHARS])),)
    spans: list[Span] = []
    room, filled = MOST_CHARS, False
    for item in cast("list[Any]", value)[:MOST_SPANS]:
        span = _span(item, room)
        if span is None:
            continue
        if span.fill and filled:
            span = msgspec.structs.replace(span, fill=False)
        filled = filled or span.fill
        room -= len(span.text)
        spans.append(span)
        if room <= 0:
            break
    return tuple(spans)


def to_lines(value: Any, most: int = MOST_LINES) -> tuple[Line, ...]:
    """Lines of a widget, panel or view; a single string is split at its line breaks."""
    if isinstance(value, str):
        value = value.split("\n")
    if not isinstance(value, list | tuple):
        return () if value is None else (to_line(value),)
    return tuple(to_line(item) for item in cast("list[Any]", value)[:most])


def to_view(value: Any) -> View | None:
    """None for what is no view."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    lines, expanded = to_lines(fields.get("lines")), to_lines(fields.get("expanded"))
    if not (lines or expanded):
        return None
    return View(lines, to_line(fields.get("title")), expanded, fields.get("markdown") is True)


def is_cut(value: Any, most: int = MOST_LINES) -> bool:
    """True if lines or characters of this value are above the limits."""
    if isinstance(value, str):
        return len(value) > MOST_CHARS
    if not isinstance(value, list | tuple):
        return False
    items = cast("list[Any]", value)
    return len(items) > most or any(_is_long(item) for item in items)


def view_is_cut(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    return is_cut(fields.get("lines")) or is_cut(fields.get("expanded"))


def plain_text(line: Line) -> str:
    return "".join(span.text for span in line)


def plain_lines(view: View) -> str:
    """The text of a view, for front ends that cannot draw."""
    title = [plain_text(view.title)] if view.title else []
    return "\n".join([*title, *map(plain_text, view.expanded or view.lines)])


def _is_long(item: Any) -> bool:
    if isinstance(item, str):
        return len(item) > MOST_CHARS
    if not isinstance(item, list | tuple):
        return False
    spans = cast("list[Any]", item)
    return len(spans) > MOST_SPANS or sum(len(_text(span)) for span in spans) > MOST_CHARS


def _text(item: Any) -> str:
    if isinstance(item, str):
        return item
    text = cast("dict[str, Any]", item).get("text") if isinstance(item, dict) else None
    return text if isinstance(text, str) else ""


def _span(item: Any, room: int) -> Span | None:
    text = _clean(_text(item)[:room])
    if not text:
        return None
    if not isinstance(item, dict):
        return Span(text)
    fields = cast("dict[str, Any]", item)
    return Span(
        text,
        " ".join(word for word in _word(fields.get("style")).split() if word in ROLES or word in ATTRIBUTES),
        _colour(fields.get("fg")),
        _colour(fields.get("bg")),
        _link(fields.get("link")),
        fields.get("fill") is True,
    )


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _colour(value: Any) -> str:
    text = _word(value)
    return text if text in ROLES or _HEX.fullmatch(text) else ""


def _link(value: Any) -> str:
    """An address whose scheme front ends may open; ``file`` is checked against the project where it is drawn."""
    text = _word(value)
    return text if _LINK.match(text) and text.isprintable() and len(text) <= MOST_CHARS else ""


def _clean(text: str) -> str:
    """Without line breaks, controls, bidirectional overrides and escapes other than SGR."""
    if text.isascii() and text.isprintable():
        return text
    cleaned = _HOSTILE.sub("\ufffd", _ESCAPE.sub("", text).replace("\t", "    "))
    return f"{cleaned}\x1b[0m" if "\x1b[" in cleaned else cleaned
