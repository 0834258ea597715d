"""What stands inside a tool's box: numbered code, a real diff, a command and its output, or plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from zot.provider.messages import ImageBlock, TextBlock
from zot.tui import diff
from zot.tui.excerpt import excerpt
from zot.tui.highlight import language_of
from zot.tui.image import cell_aspect, picture
from zot.tui.markdown import Painter
from zot.tui.partial_json import string_fields
from zot.tui.sanitize import one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.tool_box import MARGIN
from zot.tui.width import cut, visible, wrap

if TYPE_CHECKING:
    from zot.core.events import ToolResultEvent

_LINES, _CHARACTERS = 4_000, 200_000  # laid out of one result: more than any built-in tool gives
_NUMBERED = r" *([0-9]{1,9})\t(.*)"
_COLOURED = 400  # lines highlighted at most; the rest of a huge file is shown plain


def composing_rows(name: str, text: str, arguments: dict[str, Any], painter: Painter, width: int) -> list[str]:
    """While the arguments stream."""
    if name == "write":
        content = arguments.get("content")
        return _growing(content, arguments, painter, width) if isinstance(content, str) and content else []
    if name == "edit":
        return _edit_rows(text, arguments, painter, width)
    return []


def _growing(content: str, arguments: dict[str, Any], painter: Painter, width: int) -> list[str]:
    """The end of a file being written, with its line numbers."""
    lines = content.split("\n")
    first = max(len(lines) - 10, 0)
    return code_rows("\n".join(lines[first:]), str(arguments.get("path", "")), first + 1, painter, width)


def _edit_rows(text: str, arguments: dict[str, Any], painter: Painter, width: int) -> list[str]:
    fields = list(string_fields(text))
    number = sum(field.key == "oldText" for field in fields)
    if not number:
        return []
    rows = [painter.theme.paint("muted", f"edit {number}")]
    latest = next((field.value for field in reversed(fields) if field.key in ("newText", "oldText")), "")
    if fields and fields[-1].key == "newText" and latest:
        lines = latest.split("\n")[-8:]
        rows += code_rows("\n".join(lines), str(arguments.get("path", "")), 0, painter, width)
    return rows


def has_image(result: ToolResultEvent) -> bool:
    return any(isinstance(block, ImageBlock) for block in result.content)


def result_rows(
    name: str, arguments: dict[str, Any], result: ToolResultEvent, painter: Painter, width: int
) -> list[str]:
    images = [block for block in result.content if isinstance(block, ImageBlock)]
    text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    shown, remark = excerpt(text, lines=_LINES, characters=_CHARACTERS)
    rows = _text_rows(name, arguments, shown, result, painter, width)
    rows += [painter.theme.paint("muted", cut(remark, width))] if remark else []
    return rows + [row for block in images for row in image_rows(block, painter, width)]


def image_rows(block: ImageBlock, painter: Painter, width: int) -> list[str]:
    """Reserved rows with the image drawn over them, and its caption."""
    mime = one_line(block.mime_type)
    made = picture(block.data, mime, width, painter.images, aspect=cell_aspect(), indent=MARGIN + 2)
    *reserved, caption = made.rows
    return [*reserved, made.drawing + painter.theme.paint("muted", cut(caption, width))]


def _text_rows(
    name: str, arguments: dict[str, Any], text: str, result: ToolResultEvent, painter: Painter, width: int
) -> list[str]:
    theme = painter.theme
    if not text and has_image(result):
        return []
    if name == "bash":
        return bash_rows(text, theme, width, failed=result.is_error)
    if result.is_error:
        return [theme.paint("error", "error", bold=True), *_plain(text, theme, width, "error")]
    details = result.details or {}
    path = str(arguments.get("path") or arguments.get("file_path") or "")
    if name == "write" and isinstance(content := details.get("content"), str):
        return code_rows(content.rstrip("\n"), path, 1, painter, width)
    if name == "edit":
        return edit_diff_rows(str(details.get("diff", text)), details, path, painter, width)
    if name == "read":
        return read_rows(text, arguments, details, path, painter, width)
    return _other(text, path, painter, width)


def edit_diff_rows(changes: str, details: dict[str, Any], path: str, painter: Painter, width: int) -> list[str]:
    hunks = cast("list[dict[str, int]]", details.get("hunks") or [])
    starts = [(hunk.get("old_start", 1), hunk.get("new_start", 1)) for hunk in hunks]
    rows = sanitize(changes).replace("\x1b", "").rstrip("\n").split("\n")
    if rows and rows[-1] == " ":
        rows.pop()  # what follows the last newline of a file is no line
    lines = diff.numbered(rows, starts) if starts else diff.unnumbered(rows)
    return diff.render(lines, painter.theme, painter.code, language_of(path), width)


def read_rows(
    text: str, arguments: dict[str, Any], details: dict[str, Any], path: str, painter: Painter, width: int
) -> list[str]:
    offset = details.get("start_line") or arguments.get("offset")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    lines = text.rstrip("\n").split("\n")
    footer: list[str] = []
    while lines and lines[-1].startswith(("... ", "[")) and len(lines) > 1 and lines[-1].endswith("]"):
        footer.append(lines.pop())
    old = [re.fullmatch(_NUMBERED, line) for line in lines]
    if lines and all(old):  # sessions of other programs carry their numbers in the text
        first = int(old[0][1]) if old[0] else first
        lines = [match[2] for match in old if match]
    rows = code_rows("\n".join(lines), path, first, painter, width)
    return rows + [painter.theme.paint("muted", cut(visible(sanitize(line)), width)) for line in reversed(footer)]


def code_rows(code: str, path: str, first: int, painter: Painter, width: int) -> list[str]:
    """File text with a muted gutter of line numbers from ``first``; none when that is 0."""
    lines = [line.expandtabs(4) for line in visible(sanitize(code)).split("\n")]
    language = language_of(path) if path else ""
    styled = painter.code.lines("\n".join(lines[:_COLOURED]), language) if language else lines
    if not language:
        styled = [painter.theme.paint("tool_out", line) for line in lines]
    styled = [*styled, *lines[len(styled) :]]
    if not first:
        return [cut(line, width) for line in styled]
    digits = max(4, len(str(first + len(lines))))
    return [
        painter.theme.paint("muted", f"{first + i:>{digits}} ") + cut(line, max(width - digits - 1, 1))
        for i, line in enumerate(styled)
    ]


def bash_rows(text: str, theme: Theme, width: int, *, failed: bool = False) -> list[str]:
    """``$ command``, the output, and how it ended."""
    lines = box_safe(text)
    rows: list[str] = []
    if failed:
        rows.append(theme.paint("error", "error", bold=True))
    ending = len(lines)
    while ending > 1 and not lines[ending - 1].startswith("[exit "):
        ending -= 1
    for number, line in enumerate(lines):
        if number == 0 and line.startswith("$ "):
            rows += [theme.paint("accent", row) for row in wrap(line, width)]
        elif ending > 1 and number >= ending - 1:
            rows += [theme.paint("error" if failed else "muted", row) for row in wrap(line, width)]
        elif line or 0 < number < ending - 2:
            rows += [theme.paint("tool_out", row) for row in wrap(line, width)] or [""]
    return rows


def command_row(arguments: dict[str, Any], theme: Theme, width: int) -> str:
    """``$`` and as much of the command as one row holds; empty when there is none."""
    command = arguments.get("command")
    lines = box_safe(command.strip("\n")) if isinstance(command, str) else [""]
    if not lines[0]:
        return ""
    return theme.paint("accent", cut(f"$ {lines[0]}{' …' if len(lines) > 1 else ''}", width))


def output_rows(text: str, theme: Theme, width: int) -> list[str]:
    """Live output as it comes."""
    return [theme.paint("tool_out", row) for line in box_safe(text.rstrip("\n")) for row in wrap(line, width)]


def box_safe(text: str) -> list[str]:
    """Lines without escapes and control bytes; a carriage return begins a new row, tabs reach their stops."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [visible(sanitize(line)).expandtabs(8) for line in lines]


def _other(text: str, path: str, painter: Painter, width: int) -> list[str]:
    clean = visible(sanitize(text)).rstrip("\n")
    if (lines := diff.unified(clean)) is not None:
        return diff.render(lines, painter.theme, painter.code, language_of(path) if path else "", width)
    if path and "\n" in clean:
        return code_rows(clean, path, 1, painter, width)
    return _plain(clean, painter.theme, width, "tool_out")


def _plain(text: str, theme: Theme, width: int, role: str) -> list[str]:
    lines: Sequence[str] = box_safe(text.rstrip("\n"))
    return [theme.paint(role, row) for line in lines for row in wrap(line, width)]
