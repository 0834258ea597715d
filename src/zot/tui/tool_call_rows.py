"""Rows of a tool call: a glyph for its state, a summary line and a body.
No frames or padding, so copies are clean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from zot.tui.theme import Theme
from zot.tui.width import cells, clusters, cut

INDENT = 4  # rows of a body
_MARGIN = 2  # free cells on the right
_NARROWEST = 8  # minimum width of a body
_LEAST_SUBJECT = 12  # minimum cells of a subject before the parts after it are truncated

GLYPHS = {
    "done": ("●", "tool"),
    "failed": ("✖", "error"),
    "refused": ("⊘", "warning"),
    "interrupted": ("◌", "muted"),
    "waiting": ("○", "muted"),
}

Words = tuple[str, str]  # a text and its role


class CallHead(msgspec.Struct, frozen=True):
    """``state`` is one of ``GLYPHS``, or a spinner's frame while the call runs.
    ``verb`` and ``subject`` describe it; ``outcome`` are the parts after it, each after a dot; ``owner`` is an
    extension's name, ``changed`` the numbers of added and removed lines. In a narrow row the end of a path stays,
    and the ``range`` after it."""

    state: str
    verb: str
    subject: str = ""
    outcome: tuple[Words, ...] = ()
    owner: str = ""
    changed: tuple[int, int] | None = None
    range: str = ""
    is_path: bool = False


def body_width(width: int) -> int:
    """Cells for a row of a body on a screen of this width."""
    return max(width - INDENT - _MARGIN, _NARROWEST)


def head_row(theme: Theme, head: CallHead, width: int) -> str:
    """One row: the subject is truncated first, so that the outcome stays readable."""
    room = max(width - _MARGIN, 1)
    glyph, role = GLYPHS.get(head.state, (head.state, "spinner"))
    row = f"{theme.paint(role, glyph)} {theme.paint('tool_name', head.verb, bold=True)}"
    if head.owner:
        row += theme.paint("muted", f" [{head.owner}]")
    outcome = f" ({counts(theme, *head.changed)})" if head.changed else ""
    outcome += "".join(theme.paint("muted", " · ") + theme.paint(part_role, text) for text, part_role in head.outcome)
    if head.subject:
        left = max(room - cells(row) - 1 - cells(head.range) - cells(outcome), _LEAST_SUBJECT)
        shown = _end_of(head.subject, left) if head.is_path else cut(head.subject, left)
        row += f" {theme.paint('fg', shown + head.range)}"
    return cut(row + outcome, room)


def _end_of(path: str, width: int) -> str:
    """The end of a path, which is more informative than its beginning."""
    if cells(path) <= width:
        return path
    kept: list[str] = []
    room = width - 1
    for cluster, size in reversed(list(clusters(path[-8 * width :]))):
        room -= size
        if room < 0:
            break
        kept.append(cluster)
    return f"…{''.join(reversed(kept))}"


def counts(theme: Theme, added: int, removed: int) -> str:
    """``+2 −1``, with a real minus sign; zeros are omitted."""
    parts = [theme.paint("diff_add", f"+{added:,}")] if added or not removed else []
    parts += [theme.paint("diff_remove", f"\N{MINUS SIGN}{removed:,}")] if removed else []
    return " ".join(parts)


def call_rows(theme: Theme, head: CallHead, body: Sequence[str], width: int) -> list[str]:
    """The head and its body, whose rows fit ``body_width``."""
    indent = " " * (INDENT if width >= INDENT + _NARROWEST else 0)
    return [head_row(theme, head, width), *(f"{indent}{row}" if row else row for row in body)]


def folded(theme: Theme, rows: Sequence[str], most: int, *, tail: bool = False) -> list[str]:
    """At most about this many rows: the first or last ones, and a line about the hidden ones."""
    if len(rows) <= most + 2:  # a hint would save nothing
        return list(rows)
    hint = fold_hint(theme, len(rows) - most, before=tail)
    return [hint, *rows[-most:]] if tail else [*rows[:most], hint]


def fold_hint(theme: Theme, hidden: int, *, before: bool = False) -> str:
    return theme.paint("muted", f"… {hidden:,} {'earlier' if before else 'more'} rows · ctrl+o shows all")


# String fields of a call's JSON that is still arriving.

_TOKEN = re.compile(r'"((?:[^"\\]++|\\.)*+)("|\\?\Z)|([{}\[\],:])', re.DOTALL)
_HALF = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")
_HIGH = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


class Field(msgspec.Struct, frozen=True):
    """``depth`` 1 is the outermost object; ``complete`` once its closing quote arrived."""

    key: str
    value: str
    complete: bool
    depth: int


def string_fields(text: str) -> Iterator[Field]:
    """Every string value with its key, in order; a key name inside another value is only text."""
    depth, key, expecting = 0, "", False
    before = ""
    for match in _TOKEN.finditer(text):
        raw, closing, mark = match.groups()
        if mark:
            depth += 1 if mark in "{[" else -1 if mark in "}]" else 0
            if mark == ":":
                key, expecting = before, True
            elif mark in ",{[]}":
                expecting = False
            continue
        if expecting:
            yield Field(key, _decoded(raw, complete=closing == '"'), closing == '"', depth)
            expecting = False
        else:
            before = _decoded(raw, complete=True)


def _decoded(raw: str, *, complete: bool) -> str:
    if not complete:
        raw = _HALF.sub("", raw)
        raw = _HIGH.sub("", raw)  # half of a surrogate pair
    try:
        return msgspec.json.decode(f'"{raw}"', type=str, strict=False)
    except (msgspec.DecodeError, UnicodeError):
        return raw.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t").replace("\\\\", "\\")
