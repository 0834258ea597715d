"""What a tool call would do, in full: the command, the file, the changes, or every argument. Safe to show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from zot.agent.modes.interactive.screen.tool_bodies import box_safe, code_rows
from zot.agent.tools.edit_diff import Span, diff_of
from zot.tui.markdown import Painter
from zot.tui.sanitize import one_line
from zot.tui.width import wrap

_ROLES = {" ": "diff_context", "-": "diff_remove", "+": "diff_add"}


def call_rows(tool: str, args: Any, painter: Painter, width: int) -> list[str]:
    """Nothing is left out, whatever its length: what is approved has to be readable."""
    fields = _fields(args)
    if tool == "bash" and isinstance(command := fields.get("command"), str):
        return [*_text(f"$ {command}", "accent", painter, width), *_rest(fields, ("command",), painter, width)]
    if tool == "write" and isinstance(content := fields.get("content"), str):
        return [*_path(fields, painter, width), *_file(content, fields, painter, width)]
    if tool == "edit" and (changes := _changes(fields)):
        return [*_path(fields, painter, width), *_edits(changes, painter, width)]
    return _rest(fields, (), painter, width) if fields else _text(str(args), "fg", painter, width)


def _fields(args: Any) -> dict[str, Any]:
    if isinstance(args, str):
        try:
            args = msgspec.json.decode(args)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}
    return cast("dict[str, Any]", args) if isinstance(args, dict) else {}


def _path(fields: dict[str, Any], painter: Painter, width: int) -> list[str]:
    return _text(one_line(str(fields.get("path", ""))), "accent", painter, width)


def _file(content: str, fields: dict[str, Any], painter: Painter, width: int) -> list[str]:
    """Highlighted where every line fits; else wrapped, for a cut line may hide its end."""
    rows = code_rows(content.removesuffix("\n"), str(fields.get("path", "")), 1, painter, 1_000_000)
    return [part for row in rows for part in wrap(row, width, "     ")]


def _changes(fields: dict[str, Any]) -> list[dict[str, Any]]:
    edits = fields.get("edits")
    listed: list[Any] = cast("list[Any]", edits) if isinstance(edits, list) else []
    return [cast("dict[str, Any]", edit) for edit in listed if isinstance(edit, dict)]


def _edits(changes: list[dict[str, Any]], painter: Painter, width: int) -> list[str]:
    rows: list[str] = []
    for number, change in enumerate(changes, 1):
        if len(changes) > 1:
            rows.append(painter.theme.paint("muted", f"edit {number} of {len(changes)}"))
        for sign, role, line in _difference(str(change.get("oldText", "")), str(change.get("newText", ""))):
            rows += [painter.theme.paint(role, row) for row in wrap(f"{sign} {line}", width, "  ")]
    return rows


def _difference(old: str, new: str) -> Iterator[tuple[str, str, str]]:
    """Sign, role and text of each line. What an edit merely quotes to be unique is context, not a change."""
    if old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
    for row in box_safe(diff_of(old, [Span(0, len(old), 1, new)]).text):
        yield (row[:1], _ROLES[row[0]], row[1:]) if row[:1] in _ROLES else ("", "muted", row)


def _rest(fields: dict[str, Any], told: tuple[str, ...], painter: Painter, width: int) -> list[str]:
    """Every other argument, one after the other."""
    rows: list[str] = []
    for name, value in fields.items():
        if name not in told:
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            rows += _text(f"{one_line(name)}: {text}", "fg", painter, width)
    return rows


def _text(text: str, role: str, painter: Painter, width: int) -> list[str]:
    return [painter.theme.paint(role, row) for line in box_safe(text) for row in wrap(line, width, "  ")]
