"""Markdown as rows, block by block. The same code renders a finished text and one that is still arriving.

A stream settles a block as soon as the next one has begun, and the finished lines of a long open code block as they
come; what is settled is never rendered again, so that cost per token does not grow with the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from zot.tui.highlight import Highlighter
from zot.tui.image import Protocol
from zot.tui.inline import Inline, Style
from zot.tui.theme import Theme
from zot.tui.width import RESET, cells, wrap

_FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,})\s*(?P<language>[^\s`]*)[^`]*")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+.*)?")
_RULE = re.compile(r" {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})")
_ITEM = re.compile(r"(?P<indent>\s*)(?P<marker>[-*+]|\d{1,9}[.)])(?P<gap>\s+|$)(?P<task>\[[ xX]\]\s+)?(?P<text>.*)")
_QUOTE = re.compile(r" {0,3}> ?")
_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_CELL = re.compile(r"((?:\\\||`[^`]*`|[^|])*)\|")
_SGR = re.compile(r"\x1b\[[0-9;:]*m")

_NARROWEST_COLUMN = 3
_OPEN_CODE = 24  # lines of an open code block kept live
_CONTEXT = 60  # lines before them that the highlighter sees again


class Painter(msgspec.Struct, frozen=True):
    """What rendering needs besides the text."""

    theme: Theme
    inline: Inline
    code: Highlighter
    images: Protocol = ""

    @classmethod
    def of(cls, theme: Theme, *, links: bool = False, images: Protocol = "") -> Painter:
        return cls(theme, Inline(theme, links=links), Highlighter(theme), images)


class Block(msgspec.Struct, frozen=True):
    """Source lines of one block; ``gap``: blank lines stood before it."""

    kind: str
    lines: tuple[str, ...]
    gap: bool = False
    closed: bool = True


def render(text: str, painter: Painter, width: int) -> list[str]:
    """A whole text."""
    rows: list[str] = []
    for block in blocks(text.lstrip("\n").split("\n")):
        if block.gap and rows:
            rows.append("")
        rows += render_block(block, painter, width)
    return rows


# --- finding blocks


def blocks(lines: Sequence[str]) -> list[Block]:
    found: list[Block] = []
    gap, i = False, 0
    while i < len(lines):
        if not lines[i].strip():
            gap, i = True, i + 1
            continue
        kind, end, closed = _block_at(lines, i)
        found.append(Block(kind, tuple(lines[i:end]), gap, closed))
        gap, i = False, end
    return found


def _block_at(lines: Sequence[str], i: int) -> tuple[str, int, bool]:
    """Kind, end, and whether the end is certain without another line."""
    line = lines[i]
    if fence := _FENCE.fullmatch(line):
        return _fence_end(lines, i, fence)
    if _HEADING.fullmatch(line):
        return "heading", i + 1, True
    if _RULE.fullmatch(line):
        return "rule", i + 1, True
    if "|" in line and i + 1 < len(lines) and _is_delimiter(lines[i + 1]):
        return "table", _while(lines, i + 2, lambda text: "|" in text), False
    if _QUOTE.match(line):
        return "quote", _while(lines, i + 1, lambda text: _QUOTE.match(text) is not None), False
    kind = "item" if _ITEM.fullmatch(line) else "paragraph"
    end = i + 1
    while end < len(lines) and lines[end].strip() and not _begins(lines, end):
        end += 1
    return kind, end, False


def _fence_end(lines: Sequence[str], i: int, fence: re.Match[str]) -> tuple[str, int, bool]:
    closing = _closing(fence["marks"])
    for end in range(i + 1, len(lines)):
        if closing.fullmatch(lines[end]):
            return "code", end + 1, True
    return "code", len(lines), False


def _closing(marks: str) -> re.Pattern[str]:
    """The line that ends a code block opened by these marks."""
    return re.compile(rf" *{re.escape(marks[0])}{{{len(marks)},}}\s*")


def _while(lines: Sequence[str], i: int, holds: Callable[[str], bool]) -> int:
    while i < len(lines) and lines[i].strip() and holds(lines[i]):
        i += 1
    return i


def _begins(lines: Sequence[str], i: int) -> bool:
    """Whether a block of another kind, or another item, begins here in the middle of text."""
    line = lines[i]
    if _FENCE.fullmatch(line) or _HEADING.fullmatch(line) or _RULE.fullmatch(line) or _QUOTE.match(line):
        return True
    if _ITEM.fullmatch(line):
        return True
    return "|" in line and i + 1 < len(lines) and _is_delimiter(lines[i + 1])


def _is_delimiter(line: str) -> bool:
    """The line that makes the one above it the header of a table."""
    return "-" in line and _DELIMITER.fullmatch(line) is not None


# --- rendering blocks


def render_block(block: Block, painter: Painter, width: int) -> list[str]:
    match block.kind:
        case "code":
            return _code(block, painter, width)
        case "heading":
            style = Style("heading", bold=True)
            return wrap(painter.inline.render(block.lines[0].strip(), style), width)
        case "rule":
            return [painter.theme.paint("border", "─" * min(width, 40))]
        case "table":
            return _table(block, painter, width)
        case "quote":
            return _quote(block, painter, width)
        case "item":
            return _item(block, painter, width)
        case _:
            return _paragraph(block.lines, painter, width)


def _paragraph(lines: Sequence[str], painter: Painter, width: int) -> list[str]:
    """Lines stay lines, as models mean them; each wraps by itself, styles may cross them."""
    text = "\n".join(line.rstrip() for line in lines)
    return [row for line in _styled_lines(painter.inline.render(text)) for row in wrap(line.lstrip(" "), width)]


def _styled_lines(text: str) -> list[str]:
    """The lines of a styled text, each closed in itself: a style that crosses a newline is opened again."""
    if "\n" not in text:
        return [text]
    out: list[str] = []
    active = ""
    for line in text.split("\n"):
        whole = active + line
        active = "".join(_SGR.findall(whole.rpartition(RESET)[2]))
        out.append(whole + (RESET if active else ""))
    return out


def _item(block: Block, painter: Painter, width: int) -> list[str]:
    match = _ITEM.fullmatch(block.lines[0])
    assert match is not None
    marker = match["marker"]
    bullet = "•" if marker in "-*+" else marker
    task = {"[x]": "☑ ", "[X]": "☑ ", "[ ]": "☐ "}.get((match["task"] or "").strip(), "")
    indent = " " * min(cells(match["indent"].expandtabs(4)), max(width // 2, 0))
    lead = f"{indent}{painter.theme.paint('accent', bullet)} {task}"
    hang = " " * (cells(indent) + cells(bullet) + 1 + cells(task))
    text = "\n".join([match["text"], *(line.strip() for line in block.lines[1:])])
    lines = _styled_lines(painter.inline.render(text))
    rows = wrap(lead + lines[0], width, hang)
    for line in lines[1:]:
        rows += wrap(hang + line, width, hang)
    return rows


def _quote(block: Block, painter: Painter, width: int) -> list[str]:
    if width < 4:  # no room for another bar; this also ends a quote nested without end
        return _paragraph([line.lstrip("> ") for line in block.lines], painter, width)
    inner = "\n".join(_QUOTE.sub("", line, count=1) for line in block.lines)
    bar = painter.theme.paint("quote", "┃ ")
    return [bar + row for row in render(inner, painter, width - 2)]


def _table(block: Block, painter: Painter, width: int) -> list[str]:
    """Cells wrap, pipes stay aligned, the widest column gives way first."""
    header, *body = [_split_row(line) for line in (block.lines[0], *block.lines[2:])]
    count = len(header)
    aligns = [*(_align(cell) for cell in _split_row(block.lines[1])), *["left"] * count][:count]
    styled = [[painter.inline.render(cell, Style(bold=True)) for cell in header]]
    styled += [[painter.inline.render(cell, Style()) for cell in [*row, *[""] * count][:count]] for row in body]
    widths = _widths(styled, width)
    rule = "─┼─".join("─" * size for size in widths)
    out = _table_row(styled[0], widths, aligns, painter.theme)
    out.append(painter.theme.paint("border", f"├─{rule}─┤"))
    for row in styled[1:]:
        out += _table_row(row, widths, aligns, painter.theme)
    return out


def _split_row(line: str) -> list[str]:
    """The cells of one row; an escaped pipe, or one inside code, is text."""
    text = line.strip().removeprefix("|")
    text = text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
    cells_of_row = _CELL.findall(text + "|")
    return [cell.replace("\\|", "|").strip() for cell in cells_of_row] or [""]


def _align(cell: str) -> str:
    if cell.startswith(":") and cell.endswith(":"):
        return "centre"
    return "right" if cell.endswith(":") else "left"


def _widths(rows: list[list[str]], width: int) -> list[int]:
    widths = [max(_NARROWEST_COLUMN, *(cells(row[i]) for row in rows)) for i in range(len(rows[0]))]
    room = max(width - 3 * len(widths) - 1, _NARROWEST_COLUMN * len(widths))
    while sum(widths) > room:
        widest = widths.index(max(widths))
        # Down to the second widest in one step, so that a long cell costs no time.
        second = max((w for i, w in enumerate(widths) if i != widest), default=_NARROWEST_COLUMN)
        widths[widest] = max(
            _NARROWEST_COLUMN, min(widths[widest] - 1, max(second, widths[widest] - (sum(widths) - room)))
        )
    return widths


def _table_row(row: list[str], widths: list[int], aligns: list[str], theme: Theme) -> list[str]:
    wrapped = [wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
    pipe = theme.paint("border", "│")
    out: list[str] = []
    for number in range(max(map(len, wrapped))):
        pieces = [
            _aligned(cell[number] if number < len(cell) else "", size, align)
            for cell, size, align in zip(wrapped, widths, aligns, strict=True)
        ]
        out.append(f"{pipe} {f' {pipe} '.join(pieces)} {pipe}")
    return out


def _aligned(text: str, size: int, align: str) -> str:
    gap = max(size - cells(text), 0)
    before = gap if align == "right" else gap // 2 if align == "centre" else 0
    return " " * before + text + " " * (gap - before)


def _code(block: Block, painter: Painter, width: int) -> list[str]:
    opening = _FENCE.fullmatch(block.lines[0])
    assert opening is not None
    lines = block.lines[1:-1] if block.closed else block.lines[1:]
    return code_rows(lines, opening["language"], len(opening["indent"]), painter, width)


def code_rows(
    lines: Sequence[str], language: str, indent: int, painter: Painter, width: int, *, skip: int = 0
) -> list[str]:
    """``skip`` lines in front are only there for the highlighter to know where it is."""
    if len(lines) <= skip:
        return []
    plain = [_dedent(line, indent).expandtabs(4) for line in lines]
    styled = painter.code.lines("\n".join(plain), language)[skip:]
    lead = " " * indent
    return [row for line in styled for row in wrap(lead + line, width, lead)]


def _dedent(line: str, indent: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(spaces, indent) :]


class MarkdownStream:
    """Text that arrives in pieces. ``feed`` is cheap; ``advance`` returns rows that are final, ``live`` the rest."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._lines: list[str] = []  # source not yet settled; the last one may be unfinished
        self._any = False
        self._gap = False
        self._code: tuple[str, int, list[str]] | None = None  # language, indent, context of a half-settled block
        self._closing = re.compile("")

    def feed(self, text: str) -> None:
        self._pieces.append(text)

    def _gather(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            if not self._any and not self._lines:
                text = text.lstrip("\n")
            first, *rest = text.replace("\r\n", "\n").split("\n")
            self._lines = [*self._lines[:-1], (self._lines[-1] if self._lines else "") + first, *rest]

    def advance(self, painter: Painter, width: int) -> list[str]:
        """Rows of everything that can no longer change."""
        self._gather()
        rows: list[str] = []
        while (done := self._settle_one(painter, width)) is not None:
            rows += done
        return rows

    def live(self, painter: Painter, width: int) -> list[str]:
        """Rows of what may still change."""
        self._gather()
        if self._code is not None:
            return self._code_live(painter, width)
        rows = render("\n".join(self._lines), painter, width) if self._lines else []
        gap = self._any and (self._gap or (len(self._lines) > 1 and not self._lines[0].strip()))
        return ["", *rows] if rows and gap else rows

    def finish(self, painter: Painter, width: int) -> list[str]:
        """The rest, whatever it is."""
        rows = self.advance(painter, width) + self.live(painter, width)
        self._lines, self._code, self._gap = [], None, False
        self._any = self._any or bool(rows)
        return rows

    def _settle_one(self, painter: Painter, width: int) -> list[str] | None:
        if self._code is not None:
            return self._settle_code(painter, width)
        while self._lines[:-1] and not self._lines[0].strip():
            self._gap = True
            del self._lines[0]
        complete = self._lines[:-1]
        if not complete:
            return None
        kind, length, closed = _block_at(complete, 0)
        block = Block(kind, tuple(complete[:length]), closed=closed)
        if block.kind == "code" and not block.closed:
            return self._open_code(block, painter, width)
        ended = block.closed or len(block.lines) < len(complete)
        if not ended:
            return None
        del self._lines[: len(block.lines)]
        return self._spaced(render_block(block, painter, width))

    def _spaced(self, rows: list[str]) -> list[str]:
        gap, self._gap = self._gap and self._any, False
        self._any = True
        return ["", *rows] if gap else rows

    def _open_code(self, block: Block, painter: Painter, width: int) -> list[str] | None:
        """An open block that grew long: from now on it is settled line by line."""
        if len(block.lines) <= _OPEN_CODE:
            return None
        fence = _FENCE.fullmatch(block.lines[0])
        assert fence is not None
        self._closing = _closing(fence["marks"])
        self._code = (fence["language"], len(fence["indent"]), [])
        del self._lines[0]
        return self._spaced([]) or []

    def _settle_code(self, painter: Painter, width: int) -> list[str] | None:
        assert self._code is not None
        language, indent, context = self._code
        complete = self._lines[:-1]
        end = next((i for i, line in enumerate(complete) if self._closing.fullmatch(line)), None)
        if end is None and len(complete) <= _OPEN_CODE:
            return None
        count = end if end is not None else len(complete) - _OPEN_CODE // 2
        rows = code_rows([*context, *complete[:count]], language, indent, painter, width, skip=len(context))
        if end is not None:
            self._code = None
            del self._lines[: count + 1]
        else:
            self._code = (language, indent, [*context, *complete[:count]][-_CONTEXT:])
            del self._lines[:count]
        return rows

    def _code_live(self, painter: Painter, width: int) -> list[str]:
        assert self._code is not None
        language, indent, context = self._code
        lines = self._lines[:-1] if self._closing.fullmatch(self._lines[-1]) else self._lines
        return code_rows([*context, *lines], language, indent, painter, width, skip=len(context))
