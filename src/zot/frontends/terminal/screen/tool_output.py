"""The rows below a tool call: its diff, the end of a failure, requested output; everything in full views."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.frontends.terminal.screen.call_summary import read_bash, state_of, text_of
from zot.provider.messages import ImageBlock
from zot.tui import diff
from zot.tui.highlight import language_of
from zot.tui.image import cell_aspect, picture
from zot.tui.markdown import Painter
from zot.tui.sanitize import excerpt, one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.tool_call_rows import INDENT, fold_hint, folded, string_fields
from zot.tui.width import CONTINUED, broken, cut, visible, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zot.core.events import ToolResultEvent

DIFF_ROWS, NEW_FILE_ROWS = 40, 10  # rows of a change and of a new file
_REWRITTEN_ROWS = 4
FAILED_ROWS, ASKED_ROWS = 8, 40  # rows of the end of a failure, and of requested output
_LINES, _CHARACTERS = 4_000, 200_000  # lines of one result that are laid out; above any built-in tool's
_ARGUMENTS = 4_000  # characters of them
_NUMBERED = r" *([0-9]{1,9})\t(.*)"
_COLOURED = 400  # highlighted lines; the rest of a huge file is plain


# --- while the arguments stream


def composing_rows(name: str, text: str, arguments: dict[str, Any], painter: Painter, width: int) -> list[str]:
    """The end of streaming text: its rows are cut, not wrapped, since they move."""
    if name == "write":
        content = arguments.get("content")
        if not isinstance(content, str) or not content:
            return []
        written = content.removesuffix("\n").split("\n")  # an empty last line has no number
        first = max(len(written) - 10, 0)
        shown = "\n".join(line[-4 * width :] for line in written[first:])
        return code_rows(shown, str(arguments.get("path", "")), first + 1, painter, width, moving=True)
    if name == "edit":
        fields = list(string_fields(text))
        number = sum(field.key == "oldText" for field in fields)
        if not number:
            return []
        rows = [painter.theme.paint("muted", f"edit {number}")]
        latest = next((field.value for field in reversed(fields) if field.key in ("newText", "oldText")), "")
        if fields and fields[-1].key == "newText" and latest:
            lines = "\n".join(line[-4 * width :] for line in latest.split("\n")[-8:])
            rows += code_rows(lines, str(arguments.get("path", "")), 0, painter, width, moving=True)
        return rows
    return []


def output_rows(text: str, theme: Theme, width: int) -> list[str]:
    """Live output."""
    return [theme.paint("tool_out", row) for line in safe_lines(text.rstrip("\n")) for row in wrap(line, width)]


# --- the result


def has_image(result: ToolResultEvent) -> bool:
    return any(isinstance(block, ImageBlock) for block in result.content)


def change_of(name: str, arguments: dict[str, Any], result: ToolResultEvent) -> list[diff.DiffLine]:
    """Removed, added and context lines of a call; empty if it changed nothing or this is unknown."""
    if result.is_error:
        return []
    details = result.details or {}
    text = text_of(result)
    if name == "edit":
        return edit_lines(str(details.get("diff", text)), details)
    if name == "write":
        if isinstance(changes := details.get("changes"), str) and changes:
            return diff.hunks(visible(sanitize(changes)))
        content = details.get("content", arguments.get("content"))
        if not text.startswith("created ") or not isinstance(content, str) or not content:
            return []
        lines = visible(sanitize(content)).removesuffix("\n").split("\n")
        return [diff.DiffLine("+", number, line) for number, line in enumerate(lines, 1)]
    if name not in ("read", "bash", "grep", "glob"):
        return diff.unified(visible(sanitize(text[:_CHARACTERS])).rstrip("\n")) or []
    return []


def rewritten_rows(name: str, result: ToolResultEvent, painter: Painter, width: int) -> list[str]:
    """The arguments that ran, if a hook, an extension or the user changed the model's."""
    args = (result.details or {}).get("executed_args")
    if not isinstance(args, dict):
        return []
    fields = cast("dict[str, Any]", args)
    text = fields.get("command") if name == "bash" else None
    shown = text if isinstance(text, str) else msgspec.json.encode(fields).decode("utf-8", "replace")
    return [painter.theme.paint("warning", row) for row in wrap(f"ran instead: {one_line(shown)}", width, "  ")][
        :_REWRITTEN_ROWS
    ]


def edit_lines(changes: str, details: dict[str, Any]) -> list[diff.DiffLine]:
    hunks = cast("list[dict[str, int]]", details.get("hunks") or [])
    starts = [(hunk.get("old_start", 1), hunk.get("new_start", 1)) for hunk in hunks]
    rows = sanitize(changes).replace("\x1b", "").rstrip("\n").split("\n")
    while rows and rows[-1] in (" ", "..."):
        rows.pop()  # text after the last newline is no line; a continuing file is not noted
    return diff.numbered(rows, starts) if starts else diff.unnumbered(rows)


def edit_diff_rows(changes: str, details: dict[str, Any], path: str, painter: Painter, width: int) -> list[str]:
    return diff.render(edit_lines(changes, details), painter.theme, painter.code, language_of(path), width)


def short_rows(
    name: str, arguments: dict[str, Any], result: ToolResultEvent, painter: Painter, width: int, *, asked: bool = False
) -> list[str]:
    """Rows shown at once; ``asked``: the user ran it and sees its output."""
    images = _images(result, painter, width)
    if changes := change_of(name, arguments, result):
        new = name == "write" and all(line.sign == "+" for line in changes)
        return _change_rows(changes, path_of(arguments), NEW_FILE_ROWS if new else DIFF_ROWS, painter, width)
    state, text = state_of(result), text_of(result)
    shown, _ = excerpt(text, lines=_LINES, characters=_CHARACTERS)
    if name == "bash" and state != "refused":
        output = read_bash(shown, str(arguments.get("command", "")))
        wanted = asked or state != "done"
        rows = output_rows(output.output, painter.theme, width) if wanted and output.output else []
        rows = folded(painter.theme, rows, ASKED_ROWS if asked else FAILED_ROWS, tail=True)
        return rows + ([] if output.timed_out else _notes(output.notes, painter.theme, width))
    if state in ("failed", "refused"):
        return folded(painter.theme, _plain(shown, painter.theme, width, "tool_out"), FAILED_ROWS, tail=True)
    return images


def _change_rows(
    lines: Sequence[diff.DiffLine], path: str, most: int, painter: Painter, width: int, *, all_of_it: bool = False
) -> list[str]:
    """Only shown lines are highlighted and wrapped."""
    shown = lines if all_of_it else lines[: most + 2]
    rows = diff.render(shown, painter.theme, painter.code, language_of(path) if path else "", width)
    hidden = len(lines) - len(shown) + len(rows) - most
    if all_of_it or hidden <= 2:
        return rows
    return [*rows[:most], fold_hint(painter.theme, hidden)]


def full_rows(name: str, arguments: dict[str, Any], result: ToolResultEvent, painter: Painter, width: int) -> list[str]:
    """Everything: nothing is folded, and long lines are wrapped."""
    text = text_of(result)
    shown, remark = excerpt(text, lines=_LINES, characters=_CHARACTERS)
    rows = _full(name, arguments, shown, result, painter, width)
    rows += [painter.theme.paint("muted", cut(remark, width))] if remark else []
    return rows + _images(result, painter, width)


def _full(
    name: str, arguments: dict[str, Any], text: str, result: ToolResultEvent, painter: Painter, width: int
) -> list[str]:
    theme, path = painter.theme, path_of(arguments)
    if not text and has_image(result):
        return []
    if name == "bash":
        return bash_rows(text, str(arguments.get("command", "")), theme, width)
    if result.is_error:
        return _plain(text, theme, width, "error")
    details = result.details or {}
    if changes := change_of(name, arguments, result):
        return _change_rows(changes, path, 0, painter, width, all_of_it=True)
    if name == "write" and isinstance(content := details.get("content", arguments.get("content")), str):
        return code_rows(content.rstrip("\n"), path, 1, painter, width)
    if name == "read":
        return read_rows(text, arguments, details, path, painter, width)
    clean = visible(sanitize(text)).rstrip("\n")
    return (
        code_rows(clean, path, 1, painter, width) if path and "\n" in clean else _plain(clean, theme, width, "tool_out")
    )


def argument_rows(text: str, theme: Theme, width: int) -> list[str]:
    """Arguments that do not fit into the call's line."""
    shown, remark = excerpt(text, lines=_LINES, characters=_ARGUMENTS)
    return [*_plain(shown, theme, width, "muted"), *([theme.paint("muted", cut(remark, width))] if remark else [])]


def path_of(arguments: dict[str, Any]) -> str:
    return str(arguments.get("path") or arguments.get("file_path") or "")


def _images(result: ToolResultEvent, painter: Painter, width: int) -> list[str]:
    images = [block for block in result.content if isinstance(block, ImageBlock)]
    return [row for block in images for row in image_rows(block, painter, width)]


def image_rows(block: ImageBlock, painter: Painter, width: int) -> list[str]:
    """Reserved rows with the image drawn over them, and its caption."""
    mime = one_line(block.mime_type)
    made = picture(block.data, mime, width, painter.images, aspect=cell_aspect(), indent=INDENT)
    *reserved, caption = made.rows
    return [*reserved, made.drawing + painter.theme.paint("muted", cut(caption, width))]


def read_rows(
    text: str, arguments: dict[str, Any], details: dict[str, Any], path: str, painter: Painter, width: int
) -> list[str]:
    offset = details.get("start_line") or arguments.get("offset")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    first = 0 if "entries" in details else first  # a directory
    lines = text.rstrip("\n").split("\n")
    footer: list[str] = []
    while lines and lines[-1].startswith(("... ", "[")) and len(lines) > 1 and lines[-1].endswith("]"):
        footer.append(lines.pop())
    old = [re.fullmatch(_NUMBERED, line) for line in lines]
    if lines and all(old):  # sessions of other programs have line numbers in the text
        first = int(old[0][1]) if old[0] else first
        lines = [match[2] for match in old if match]
    rows = code_rows("\n".join(lines), path, first, painter, width)
    return rows + _notes([visible(sanitize(line)) for line in reversed(footer)], painter.theme, width)


def code_rows(code: str, path: str, first: int, painter: Painter, width: int, *, moving: bool = False) -> list[str]:
    """File text with line numbers from ``first``, none if it is 0.
    A long line continues after a mark; ``moving`` text is cut instead."""
    lines = [line.expandtabs(4) for line in visible(sanitize(code)).split("\n")]
    language = language_of(path) if path else ""
    styled = painter.code.lines("\n".join(lines[:_COLOURED]), language) if language else lines
    if not language:
        styled = [painter.theme.paint("tool_out", line) for line in lines]
    styled = [*styled, *lines[len(styled) :]]
    digits = max(4, len(str(first + len(lines)))) if first else 1
    room = max(width - digits - 1, 1)
    rows: list[str] = []
    for number, line in enumerate(styled, first):
        parts = [cut(line, room)] if moving else broken(line, room)
        marks = [str(number) if first else "", *[CONTINUED] * (len(parts) - 1)]
        rows += [
            painter.theme.paint("muted", f"{mark:>{digits}} ") + part for mark, part in zip(marks, parts, strict=True)
        ]
    return rows


def bash_rows(text: str, command: str, theme: Theme, width: int) -> list[str]:
    """A multi-line command, the output, and the tool's notes."""
    output = read_bash(text, command)
    rows: list[str] = []
    if "\n" in command.strip("\n") or len(command) > width:
        rows += [theme.paint("accent", row) for line in safe_lines(f"$ {command.strip()}") for row in wrap(line, width)]
    rows += output_rows(output.output, theme, width) if output.output else []
    return rows + _notes(output.notes, theme, width)


def _notes(notes: Sequence[str], theme: Theme, width: int) -> list[str]:
    return [theme.paint("muted", row) for note in notes for row in wrap(one_line(note), width)]


def safe_lines(text: str) -> list[str]:
    """Lines without escapes and control bytes, as a terminal would show them.
    Text after the last carriage return stays, tabs are expanded."""
    lines = text.replace("\r\n", "\n").split("\n")
    return [visible(sanitize(line.rstrip("\r").rpartition("\r")[2])).expandtabs(8) for line in lines]


def _plain(text: str, theme: Theme, width: int, role: str) -> list[str]:
    return [theme.paint(role, row) for line in safe_lines(text.rstrip("\n")) for row in wrap(line, width)]
