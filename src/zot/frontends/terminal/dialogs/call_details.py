"""Shows the effect of a tool call in full, with hidden characters escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.agent.tools.edit_diff import CONTEXT, Diff, EditSpan, diff_of
from zot.errors import ToolError
from zot.system.safe_open import TooLarge, read_whole
from zot.system.visible_text import MARK, TAB, escape_lines, has_invisible
from zot.tui.decision_text import decision_rows, folded, painted
from zot.tui.diff import UNTINTED, changed_words, numbered, on_tint
from zot.tui.highlight import language_of
from zot.tui.markdown import Painter
from zot.tui.tool_call_rows import counts
from zot.tui.width import CONTINUED, cut, visible, wrap

if TYPE_CHECKING:
    from zot.agent.tools.workspace import Workspace

LARGEST_COMPARED = 4 << 20  # bytes of a replaced file

_ROLES = {" ": "diff_context", "-": "diff_remove", "+": "diff_add"}
_CHANGED = ("diff_remove", "diff_add")
_COLOURED = 400  # highlighted lines; the rest of a huge file is plain


Existing = Callable[[str], bytes | None]  # current content by path


def nothing_there(path: str) -> bytes | None:
    return None


def call_rows(tool: str, args: Any, painter: Painter, width: int, existing: Existing = nothing_there) -> list[str]:
    """Nothing is omitted, whatever its length: an approved call must be readable.
    A write over an existing file is a diff first, then the whole file; an edit is shown with context."""
    fields = _fields(args)
    if tool == "bash" and isinstance(command := fields.get("command"), str):
        return [*_text(f"$ {command}", "accent", painter, width), *_rest(fields, ("command",), painter, width)]
    if tool == "write" and isinstance(content := fields.get("content"), str) and _has_path(fields):
        rows = [*_path(fields, painter, width), *_rest(fields, ("path", "content"), painter, width)]
        rows += _replaced(existing(fields["path"]), content, painter, width)
        return rows + _file(content, fields["path"], painter, width)
    if tool == "edit" and (changes := _changes(fields)) and _has_path(fields):
        rows = [*_path(fields, painter, width), *_rest(fields, ("path", "edits"), painter, width)]
        return rows + (_in_place(existing(fields["path"]), changes, painter, width) or _edits(changes, painter, width))
    return _rest(fields, (), painter, width) if fields else _text(_as_text(args), "fg", painter, width)


def existing_in(workspace: Workspace) -> Existing:
    """Reads the file that a write would replace."""

    def read(path: str) -> bytes | None:
        try:
            return read_whole(workspace.resolve(path), LARGEST_COMPARED)
        except (OSError, TooLarge, ToolError, ValueError):
            return None

    return read


def has_invisible_text(tool: str, args: Any) -> bool:
    """True if the call contains characters a screen would hide."""
    return has_invisible(tool) or any(map(has_invisible, _strings(args)))


def _strings(value: Any) -> Iterator[str]:
    waiting: list[Any] = [value]
    while waiting:
        item: Any = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            fields = cast("dict[Any, Any]", item)
            waiting += [*fields.keys(), *fields.values()]
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)


def _fields(args: Any) -> dict[str, Any]:
    if isinstance(args, str):
        try:
            args = msgspec.json.decode(args)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}
    return cast("dict[str, Any]", args) if isinstance(args, dict) else {}


def _has_path(fields: dict[str, Any]) -> bool:
    return isinstance(fields.get("path"), str)


def _path(fields: dict[str, Any], painter: Painter, width: int) -> list[str]:
    return _text(fields["path"], "accent", painter, width)


def _file(content: str, path: str, painter: Painter, width: int) -> list[str]:
    """Numbered; highlighted if a line fits and nothing in it was escaped."""
    lines = escape_lines(content.removesuffix("\n"))
    language = language_of(path)
    styled = painter.code.lines("\n".join(lines[:_COLOURED]), language) if language else []
    digits = max(4, len(str(len(lines))))
    rows: list[str] = []
    for number, line in enumerate(lines):
        parts = folded(line, max(width - digits - 1, 1))
        coloured = styled[number] if number < len(styled) else ""
        if len(parts) == 1 and visible(coloured) == line and not MARK.search(line) and TAB not in line:
            made = [coloured]
        else:
            made = painted(parts, "tool_out", painter.theme)
        gutters = [f"{number + 1:>{digits}} ", *[f"{CONTINUED:>{digits}} "] * (len(made) - 1)]
        rows += [painter.theme.paint("muted", gutter) + row for gutter, row in zip(gutters, made, strict=True)]
    return rows


def _replaced(before: bytes | None, content: str, painter: Painter, width: int) -> list[str]:
    """Changes to an existing file; empty for a new one."""
    if before is None:
        return []
    theme = painter.theme
    if before == content.encode("utf-8", "replace"):
        return [theme.paint("muted", row) for row in wrap("the file already has exactly this content", width)]
    if b"\0" in before:
        return [theme.paint("warning", row) for row in wrap("this replaces a file that is not text", width)]
    changes = list(_difference(before.decode("utf-8", "replace"), content))
    signs = [text[0] for role, text in changes if role in _ROLES.values()]
    title = theme.paint("fg", "replaces a file ") + f"({counts(theme, signs.count('+'), signs.count('-'))})"
    whole = theme.paint("fg", "the whole file after the change")
    return [cut(title, width), *_changed_rows(changes, painter, width), cut(whole, width)]


def _changes(fields: dict[str, Any]) -> list[dict[str, str]]:
    """Empty if the edits are invalid; the raw arguments are shown instead."""
    edits = fields.get("edits")
    listed: list[Any] = cast("list[Any]", edits) if isinstance(edits, list) else []
    return cast("list[dict[str, str]]", listed) if all(map(_is_change, listed)) else []


def _is_change(edit: Any) -> bool:
    if not isinstance(edit, dict):
        return False
    change = cast("dict[str, Any]", edit)
    return change.keys() == {"oldText", "newText"} and all(isinstance(text, str) for text in change.values())


def _edits(changes: list[dict[str, str]], painter: Painter, width: int) -> list[str]:
    rows: list[str] = []
    for number, change in enumerate(changes, 1):
        if len(changes) > 1:
            rows.append(painter.theme.paint("muted", f"edit {number} of {len(changes)}"))
        rows += _changed_rows(list(_difference(change["oldText"], change["newText"])), painter, width)
    return rows


def _in_place(before: bytes | None, changes: list[dict[str, str]], painter: Painter, width: int) -> list[str]:
    """The edits with context and line numbers.
    Empty if the file does not match, or if more would have to be shown."""
    after = _edited(before, changes) if before is not None else None
    if before is None or after is None:
        return []
    diff = _compared(before.decode(), after)
    lines = numbered(diff.text.split("\n"), [(hunk.old_start, hunk.new_start) for hunk in diff.hunks])
    quoted = sum(text.count("\n") + 1 for change in changes for text in change.values())
    if not diff.hunks or len(lines) > quoted + (2 * CONTEXT + 2) * len(changes):
        return []
    digits = max(4, len(str(max((line.number for line in lines), default=0))))
    gutters = [f"{line.number:>{digits}} " if line.sign else " " * (digits + 1) for line in lines]
    rows = [(_ROLES[line.sign], f"{line.sign} {line.text}") if line.sign else ("muted", line.text) for line in lines]
    return _changed_rows(rows, painter, width, gutters)


def _edited(before: bytes, changes: list[dict[str, str]]) -> str | None:
    """The resulting text; None if an edit does not match, which the tool reports."""
    try:
        text = before.decode()
    except UnicodeDecodeError:
        return None
    spans = sorted((text.find(change["oldText"]), change["oldText"], change["newText"]) for change in changes)
    pieces: list[str] = []
    end = 0
    for start, old, new in spans:
        if not old or start < end or text.count(old) != 1:
            return None
        pieces += [text[end:start], new]
        end = start + len(old)
    return "".join([*pieces, text[end:]])


def _changed_rows(
    changes: list[tuple[str, str]], painter: Painter, width: int, gutters: Sequence[str] = ()
) -> list[str]:
    """Changed lines on a tint, changed words on a stronger one, each line wrapped, nothing cut."""
    theme = painter.theme
    room = max(width - len(gutters[0]), 1) if gutters else width
    words = changed_words([text[:1] for _, text in changes], [text for _, text in changes])
    rows: list[str] = []
    for place, (role, text) in enumerate(changes):
        ground, strong = (
            ("", "") if role not in _CHANGED else (theme.tint(role), theme.tint(role, strong=True) or UNTINTED)
        )
        parts = folded(text, room, 2)
        gutter = theme.paint("muted", gutters[place]) if gutters else ""
        start = 0
        for number, (part, shown) in enumerate(zip(parts, painted(parts, role, theme), strict=True)):
            spans = [(first - start, last - start) for first, last in words.get(place, [])]
            mark = theme.paint("muted", f"{CONTINUED} ") if number else ""
            rows.append(gutter + mark + on_tint(shown, ground, spans, strong))
            gutter = " " * len(gutters[place]) if gutters else ""
            start += len(part)
    return rows


def _difference(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Role and text of each line. Text an edit quotes only to be unique is context."""
    for row in _compared(old, new).text.split("\n"):
        yield (_ROLES[row[0]], f"{row[0]} {row[1:]}") if row[:1] in _ROLES else ("muted", row)


def _compared(old: str, new: str) -> Diff:
    """Escaped before comparing, so that differing lines still differ."""
    if old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
    old, new = "\n".join(escape_lines(old)), "\n".join(escape_lines(new))
    return diff_of(old, [EditSpan(0, len(old), 1, new)])


def _rest(fields: dict[str, Any], shown: tuple[str, ...], painter: Painter, width: int) -> list[str]:
    """All other arguments in order."""
    rows: list[str] = []
    for name, value in fields.items():
        if name not in shown:
            rows += _text(f"{name}: {_as_text(value)}", "fg", painter, width)
    return rows


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _text(text: str, role: str, painter: Painter, width: int) -> list[str]:
    return decision_rows(text, role, painter.theme, width)
