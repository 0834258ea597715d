"""Markdown as rows, block by block, for finished text and for streams.
A stream settles a block when the next begins, and lines of a long code block as they come; settled rows are not
rendered again, so the cost per token is constant. Very long lines and blocks are shown in parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from zot.tui.highlight import Highlighter
from zot.tui.image import Protocol
from zot.tui.inline import Inline, Style
from zot.tui.table import is_delimiter, table_rows
from zot.tui.theme import Theme
from zot.tui.width import cells, closed_lines, wrap

# No pattern may backtrack: the text is untrusted.
_FENCE = re.compile(r"(?P<indent> *+)(?P<marks>`{3,}+|~{3,}+)\s*+(?P<language>[^\s`]*+)[^`]*+")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s.*)?")
_RULE = re.compile(r" {0,3}+(?:(?:\*\s*+){3,}+|(?:-\s*+){3,}+|(?:_\s*+){3,}+)")
_ITEM = re.compile(r"(?P<indent>\s*+)(?P<marker>[-*+]|\d{1,9}[.)])(?P<gap>\s++|$)(?P<task>\[[ xX]\]\s+)?(?P<text>.*)")
_QUOTE = re.compile(r" {0,3}> ?")

_LONGEST_LINE = 4_000  # characters; a longer line is shown as several lines
_LARGEST_BLOCK = 8_000  # characters of a block that is not code; the rest is the next block
_NESTED_QUOTES = 12
_OPEN_CODE = 24  # lines of an open code block that stay live
_CONTEXT = 60  # lines before them that the highlighter sees again


class Painter(msgspec.Struct, frozen=True):
    """Context of rendering."""

    theme: Theme
    inline: Inline
    code: Highlighter
    images: Protocol = ""
    project: Path | None = None  # links may lead to its files

    @classmethod
    def of(cls, theme: Theme, *, links: bool = False, images: Protocol = "", project: Path | None = None) -> Painter:
        return cls(theme, Inline(theme, links=links), Highlighter(theme), images, project)


class MarkdownBlock(msgspec.Struct, frozen=True):
    """Source lines of one block; ``gap``: blank lines came before it."""

    kind: str
    lines: tuple[str, ...]
    gap: bool = False
    closed: bool = True


def render(text: str, painter: Painter, width: int, *, nested: int = 0) -> list[str]:
    """A whole text."""
    return _rendered(blocks(_bounded(text.split("\n"))), painter, width, nested)


def _rendered(
    found: Sequence[MarkdownBlock], painter: Painter, width: int, nested: int = 0, *, begun: bool = False
) -> list[str]:
    """``begun``: there are rows above these."""
    rows: list[str] = []
    for block in found:
        made = render_block(block, painter, width, nested)
        rows += ["", *made] if block.gap and made and (rows or begun) else made
    return rows


def _bounded(lines: list[str]) -> list[str]:
    """The lines, a very long one in pieces, split at a nearby space."""
    if all(len(line) <= _LONGEST_LINE for line in lines):
        return lines
    pieces: list[str] = []
    for line in lines:
        start = 0
        while len(line) - start > _LONGEST_LINE:
            end = start + _LONGEST_LINE
            end = line.rfind(" ", end - 200, end) + 1 or end
            pieces.append(line[start:end])
            start = end
        pieces.append(line[start:])
    return pieces


# --- parsing


def blocks(lines: Sequence[str], header: tuple[str, ...] = (), *, gap: bool = False) -> list[MarkdownBlock]:
    """``header``: of the table that the first lines continue. ``gap``: a blank line came before them."""
    found: list[MarkdownBlock] = []
    i = 0
    while i < len(lines):
        if not lines[i].strip():
            gap, i = True, i + 1
            continue
        kind, end, closed = _block_at(lines, i, len(lines), header)
        block = MarkdownBlock(kind, (*header, *lines[i:end]), gap, closed)
        found.append(block)
        header = _carried_header(block, lines, end, len(lines))
        gap, i = False, end
    return found


def _block_at(lines: Sequence[str], i: int, stop: int, header: Sequence[str]) -> tuple[str, int, bool]:
    """Kind, end, and whether the end is certain without another line."""
    line = lines[i]
    if header:
        return "table", max(_while(lines, i, stop, sum(map(len, header)), _is_row), i + 1), False
    if fence := _FENCE.fullmatch(line):
        end = next((at for at in range(i + 1, stop) if _closes(lines[at], fence["marks"])), stop)
        return "code", min(end + 1, stop), end < stop
    if _HEADING.fullmatch(line):
        return "heading", i + 1, True
    if _RULE.fullmatch(line):
        return "rule", i + 1, True
    if "|" in line and i + 1 < stop and is_delimiter(lines[i + 1]):
        return "table", _while(lines, i + 2, stop, len(line) + len(lines[i + 1]), _is_row), False
    if _QUOTE.match(line):
        return "quote", _while(lines, i + 1, stop, len(line), _is_quote), False
    kind = "item" if _ITEM.fullmatch(line) else "paragraph"
    end, size = i + 1, len(line)
    while end < stop and lines[end].strip() and not _begins(lines, end, stop):
        size += len(lines[end])
        if size > _LARGEST_BLOCK:
            break
        end += 1
    return kind, end, False


def _closes(line: str, marks: str) -> bool:
    """True if the line ends a code block opened by these marks: at least as many, and nothing else."""
    body = line.lstrip(" ").rstrip()
    return len(body) >= len(marks) and body[0] == marks[0] and not body.strip(marks[0])


def _while(lines: Sequence[str], i: int, stop: int, size: int, holds: Callable[[str], bool]) -> int:
    while i < stop and lines[i].strip() and holds(lines[i]):
        size += len(lines[i])
        if size > _LARGEST_BLOCK:
            break
        i += 1
    return i


def _is_row(line: str) -> bool:
    return "|" in line


def _is_quote(line: str) -> bool:
    return _QUOTE.match(line) is not None


def _carried_header(block: MarkdownBlock, lines: Sequence[str], end: int, stop: int) -> tuple[str, ...]:
    """A table too large for one block continues in the next, under the same header."""
    goes_on = block.kind == "table" and end < stop and lines[end].strip() and _is_row(lines[end])
    return block.lines[:2] if goes_on else ()


def _begins(lines: Sequence[str], i: int, stop: int) -> bool:
    """True if a block of another kind, or another item, begins here in the middle of text."""
    line = lines[i]
    if _FENCE.fullmatch(line) or _HEADING.fullmatch(line) or _RULE.fullmatch(line) or _QUOTE.match(line):
        return True
    if _ITEM.fullmatch(line):
        return True
    return "|" in line and i + 1 < stop and is_delimiter(lines[i + 1])


# --- rendering


def render_block(block: MarkdownBlock, painter: Painter, width: int, nested: int = 0) -> list[str]:
    """``nested``: number of enclosing quotes."""
    match block.kind:
        case "code":
            return _code(block, painter, width)
        case "heading":
            style = Style("heading", bold=True)
            return wrap(painter.inline.render(block.lines[0].strip(), style), width)
        case "rule":
            return [painter.theme.paint("border", "─" * min(width, 40))]
        case "table":
            table = table_rows(block.lines, painter.inline, painter.theme, width)
            return _paragraph(block.lines, painter, width) if table is None else table
        case "quote":
            return _quote(block, painter, width, nested)
        case "item":
            return _item(block, painter, width)
        case _:
            return _paragraph(block.lines, painter, width)


def _paragraph(lines: Sequence[str], painter: Painter, width: int) -> list[str]:
    """Line breaks stay, as models intend them; each line wraps separately, styles may cross them."""
    text = "\n".join(line.rstrip() for line in lines)
    return [row for line in closed_lines(painter.inline.render(text)) for row in wrap(line.lstrip(" "), width)]


def _item(block: MarkdownBlock, painter: Painter, width: int) -> list[str]:
    match = _ITEM.fullmatch(block.lines[0])
    assert match is not None
    marker = match["marker"]
    bullet = "•" if marker in "-*+" else marker
    task = {"[x]": "☑ ", "[X]": "☑ ", "[ ]": "☐ "}.get((match["task"] or "").strip(), "")
    indent = " " * min(cells(match["indent"].expandtabs(4)), max(width // 2, 0))
    lead = f"{indent}{painter.theme.paint('accent', bullet)} {task}"
    hang = " " * (cells(indent) + cells(bullet) + 1 + cells(task))
    text = "\n".join([match["text"], *(line.strip() for line in block.lines[1:])])
    lines = closed_lines(painter.inline.render(text))
    rows = wrap(lead + lines[0], width, hang)
    for line in lines[1:]:
        rows += wrap(hang + line, width, hang)
    return rows


def _quote(block: MarkdownBlock, painter: Painter, width: int, nested: int) -> list[str]:
    if width < 4 or nested >= _NESTED_QUOTES:  # no space for another bar; this also ends endless nesting
        return _paragraph([line.lstrip("> ") for line in block.lines], painter, width)
    bar = painter.theme.paint("quote", "┃ ")
    return [bar + row for row in render(unquoted(block), painter, width - 2, nested=nested + 1)]


def _code(block: MarkdownBlock, painter: Painter, width: int) -> list[str]:
    opening = _FENCE.fullmatch(block.lines[0])
    assert opening is not None
    lines = block.lines[1:-1] if block.closed else block.lines[1:]
    return code_rows(lines, opening["language"], len(opening["indent"]), painter, width)


def unquoted(block: MarkdownBlock) -> str:
    """The content of a quote."""
    return "\n".join(_QUOTE.sub("", line, count=1) for line in block.lines)


def item_of(block: MarkdownBlock) -> tuple[int, str, list[str]]:
    """Indentation, marker and lines of a list item."""
    match = _ITEM.fullmatch(block.lines[0])
    assert match is not None
    first = f"{match['task'] or ''}{match['text']}"
    return cells(match["indent"].expandtabs(4)), match["marker"], [first, *block.lines[1:]]


def code_of(block: MarkdownBlock) -> tuple[str, str]:
    """Language and text of a code block, without its fence and indentation."""
    opening = _FENCE.fullmatch(block.lines[0])
    assert opening is not None
    lines = block.lines[1:-1] if block.closed else block.lines[1:]
    return opening["language"], "\n".join(_dedent(line, len(opening["indent"])) for line in lines)


def code_rows(
    lines: Sequence[str], language: str, indent: int, painter: Painter, width: int, *, skip: int = 0
) -> list[str]:
    """``skip`` lines in front are context for the highlighter."""
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
        self._lines: list[str] = []  # source not yet settled; the last line may be unfinished
        self._any = False
        self._gap = False
        self._header: tuple[str, ...] = ()  # of a partly settled table
        self._code: _OpenCode | None = None  # a partly settled code block

    def feed(self, text: str) -> None:
        self._pieces.append(text)

    def _gather(self) -> None:
        if not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces.clear()
        if not self._any and not self._lines:
            text = text.lstrip("\n")
        first, *rest = text.replace("\r\n", "\n").split("\n")
        first = (self._lines.pop() if self._lines else "") + first
        self._lines += _bounded([first, *rest])

    def advance(self, painter: Painter, width: int) -> list[str]:
        """Rows of everything that can no longer change."""
        self._gather()
        rows: list[str] = []
        at, stop = 0, len(self._lines) - 1  # the last line may continue
        while at < stop:
            if self._code is not None:
                end, more = self._settle_code(self._code, at, stop, painter, width)
            elif self._lines[at].strip():
                end, more = self._settle_block(at, stop, painter, width)
            else:
                self._gap, end, more = True, at + 1, []
            if end == at:
                break
            rows += more
            at = end
        del self._lines[:at]
        return rows

    def live(self, painter: Painter, width: int) -> list[str]:
        """Rows that may still change."""
        self._gather()
        if self._code is not None:
            lines = self._lines[:-1] if _closes(self._lines[-1], self._code.marks) else self._lines
            seen = [*self._code.context, *lines]
            return code_rows(seen, self._code.language, self._code.indent, painter, width, skip=len(self._code.context))
        found = blocks(self._lines, self._header, gap=self._gap)
        return _rendered(found, painter, width, begun=self._any)

    def finish(self, painter: Painter, width: int) -> list[str]:
        """All remaining rows."""
        rows = self.advance(painter, width) + self.live(painter, width)
        self._lines, self._code, self._gap, self._header = [], None, False, ()
        self._any = self._any or bool(rows)
        return rows

    def _settle_block(self, at: int, stop: int, painter: Painter, width: int) -> tuple[int, list[str]]:
        """The end of the block at ``at``, and its rows; the end is its start while it may continue."""
        kind, end, closed = _block_at(self._lines, at, stop, self._header)
        if not closed and end == stop:
            if kind == "code" and _is_large(self._lines[at:stop]):
                fence = _FENCE.fullmatch(self._lines[at])
                assert fence is not None
                self._code = _OpenCode(fence["marks"], fence["language"], len(fence["indent"]), [])
                return at + 1, self._spaced([], begun=True)
            return at, []
        block = MarkdownBlock(kind, (*self._header, *self._lines[at:end]), closed=closed)
        self._header = _carried_header(block, self._lines, end, stop)
        return end, self._spaced(render_block(block, painter, width))

    def _spaced(self, rows: list[str], *, begun: bool = False) -> list[str]:
        """With the blank row before it; an empty block has none, unless it has only ``begun``."""
        gap, self._gap = self._gap and self._any and (begun or bool(rows)), False
        self._any = self._any or begun or bool(rows)
        return ["", *rows] if gap else rows

    def _settle_code(self, code: _OpenCode, at: int, stop: int, painter: Painter, width: int) -> tuple[int, list[str]]:
        """The same for the lines of an open code block."""
        lines = self._lines
        end = next((i for i in range(at, stop) if _closes(lines[i], code.marks)), None)
        if end is None and not _is_large(lines[at:stop]):
            return at, []
        last = end if end is not None else stop - len(_newest(lines[at:stop], _OPEN_CODE // 2))
        seen = [*code.context, *lines[at:last]]
        rows = code_rows(seen, code.language, code.indent, painter, width, skip=len(code.context))
        self._code = None if end is not None else msgspec.structs.replace(code, context=_newest(seen, _CONTEXT))
        return last if end is None else last + 1, rows


class _OpenCode(msgspec.Struct, frozen=True):
    """A code block without its end; ``context`` are settled lines, for the highlighter."""

    marks: str
    language: str
    indent: int
    context: list[str]


def _is_large(lines: Sequence[str]) -> bool:
    """True if enough of an open code block is complete to settle part of it."""
    return len(lines) > _OPEN_CODE or sum(map(len, lines)) > _LARGEST_BLOCK


def _newest(lines: Sequence[str], most: int) -> list[str]:
    """At most this many of the last lines, and not more than half a block of text."""
    size, first = 0, len(lines)
    while first > max(len(lines) - most, 0) and (size := size + len(lines[first - 1])) <= _LARGEST_BLOCK // 2:
        first -= 1
    return list(lines[first:])
