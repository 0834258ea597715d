"""Width of text in cells; cut, pad and wrap by cells. A line may contain SGR styles and OSC 8 links.
Styles open at the end of a row are reset and opened again on the next. Clusters are never broken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

RESET = "\x1b[0m"
CONTINUED = "↪"  # prefix of rows that continue a long line
LINK_END = "\x1b]8;;\x1b\\"
STYLE = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")

# One cell each, never part of a cluster: nearly all text, so that the tables are not imported.
_ONE_CELL = (
    " -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0377\u0391-\u03ff\u0400-\u0482\u2010-\u2027\u2030-\u203b\u2190-\u2199"
    "\u21a9\u21aa\u21e5\u2500-\u25a9\u27e8\u27e9\u25b2-\u25b5\u25b8-\u25bf\u25c6-\u25cf\u2713\u2717\u2800-\u28ff"
    "\u2212\u2298\u2716\u273b"
)
# Two cells each and never part of a cluster: common Chinese, Japanese and Korean.
_WIDE_FROM = "\u3000"
TWO_CELLS = "\u3000-\u3020\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60"
_PLAIN = re.compile(f"[{_ONE_CELL}]*")
_SIMPLE = re.compile(f"[{_ONE_CELL}{TWO_CELLS}]*")
_WORD = re.compile(r"(?:[^ \x1b]++|\x1b\[[0-9;:]*+m|\x1b\]8;[^\x1b\x07]*+(?:\x1b\\|\x07))++| ++")
# Closing punctuation in Chinese and Japanese: no row begins with it.
_CLOSING = frozenset("。、，．）」』】！？：；〉》〕〗〙")
_RESETS = frozenset({RESET, "\x1b[m"})
_LONG_CLUSTER = 16  # longer ones are not cached
_CUT_FROM = 4096  # extra characters besides the width: limit of the text cut for a row
_LONGEST_STYLE, _LONGEST_LINK = 256, 512  # longer ones are closed at the end of their row and not opened again
_MOST_OPEN = 32  # styles that a row may open again; the oldest are dropped


def visible(text: str) -> str:
    """The text without colours and links."""
    return STYLE.sub("", text) if "\x1b" in text else text


def cells(text: str) -> int:
    """The width of one line."""
    plain = visible(_without_drawings(text) if "\x1b7" in text else text)
    if _PLAIN.fullmatch(plain):
        return len(plain)
    if _SIMPLE.fullmatch(plain):
        return len(plain) + sum([character >= _WIDE_FROM for character in plain])
    return sum(width for _, width in clusters(plain))


def is_narrow(plain: str) -> bool:
    """True if every character of a text without styles takes one cell for certain."""
    return _PLAIN.fullmatch(plain) is not None


def _without_drawings(text: str) -> str:
    """Remove images in a row (saved cursor, drawing, restored cursor), which have no width."""
    kept: list[str] = []
    end = 0
    while (start := text.find("\x1b7", end)) >= 0 and (restored := text.find("\x1b8", start)) >= 0:
        kept.append(text[end:start])
        end = restored + 2
    return "".join([*kept, text[end:]])


def clusters(plain: str) -> Iterator[tuple[str, int]]:
    """The user-perceived characters of a text without styles, each with its width."""
    if _SIMPLE.fullmatch(plain):
        for character in plain:
            yield character, 2 if character >= _WIDE_FROM else 1
        return
    # Imported here: the tables take 30 ms, not needed for plain text.
    from wcwidth import iter_graphemes

    for cluster in iter_graphemes(plain):
        yield cluster, _cluster_cells(cluster) if len(cluster) <= _LONG_CLUSTER else _measured(cluster)


def _measured(cluster: str) -> int:
    """Width of a cluster: marks have none, wide characters two, odd pairs the sum of their parts."""
    from wcwidth import wcswidth, wcwidth

    size = max(wcswidth(cluster), *map(wcwidth, cluster))
    return size if size > 0 else max(wcswidth("x" + cluster) - 1, 0)  # a mark alone, after something


_cluster_cells = lru_cache(4096)(_measured)


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Styles (width 0) and clusters in order; a style inside a cluster comes after it."""
    plain = visible(text)
    if _SIMPLE.fullmatch(plain):
        position = 0
        for match in STYLE.finditer(text) if "\x1b" in text else ():
            yield from clusters(text[position : match.start()])
            yield match.group(), 0
            position = match.end()
        yield from clusters(text[position:])
        return
    styles = _placed_styles(text)
    place, style = next(styles)
    position = 0
    for cluster, size in clusters(plain):
        while place <= position:
            yield style, 0
            place, style = next(styles)
        yield cluster, size
        position += len(cluster)
    while style:
        yield style, 0
        place, style = next(styles)


def _placed_styles(text: str) -> Iterator[tuple[int, str]]:
    """Each style with its position in the visible text; at the end an empty one."""
    taken = 0
    for match in STYLE.finditer(text):
        yield match.start() - taken, match.group()
        taken += match.end() - match.start()
    yield len(text) + 1, ""


def cut(text: str, width: int, mark: str = "…") -> str:
    """At most ``width`` cells; a longer text ends in the mark."""
    if width <= 0:
        return ""
    if len(text) <= _CUT_FROM + 8 * width:
        if cells(text) <= width:
            return text
    elif "\x1b7" not in text:  # the text of an image has any length
        head = text[: _CUT_FROM + 8 * width]  # do not cut a style
        last = head.rfind("\x1b")
        text = head if last < 0 or STYLE.match(head, last) else head[:last]
    mark = mark if cells(mark) <= width else ""
    room = width - cells(mark)
    kept: list[str] = []
    styled = False
    for piece, size in _pieces(text):
        if size > room:
            break
        room -= size
        styled = styled or piece.startswith("\x1b")
        kept.append(piece)
    return "".join(kept) + mark + (_end_of(_open_after(kept)) if styled else "")


def _open_after(pieces: list[str]) -> list[str]:
    """The styles and the link that these pieces leave open."""
    active: list[str] = []
    for piece in pieces:
        for style in STYLE.findall(piece) if "\x1b" in piece else ():
            _follow(active, style)
    return active


def closed_lines(text: str) -> list[str]:
    """The lines of a styled text, each closed: styles that cross a line break are opened again."""
    if "\n" not in text:
        return [text]
    out: list[str] = []
    active: list[str] = []
    for line in text.split("\n"):
        whole = "".join(active) + line
        active = _open_after([whole])
        out.append(whole + _end_of(active))
    return out


def without_start(text: str, width: int) -> str:
    """The text behind its first cells, in its styles; a wide character that is divided becomes a space."""
    active: list[str] = []
    kept: list[str] = []
    at = 0
    for piece, size in _pieces(text):
        if at >= width:
            kept.append(piece)
        elif not size:
            for style in STYLE.findall(piece):
                _follow(active, style)
        elif at + size > width:
            kept.append(" " * (at + size - width))
        at += size
    return "".join([*active, *kept])


def with_cursor(text: str, column: int) -> str:
    """The row with one cell inverted for the cursor; after its end, that cell is added."""
    kept: list[str] = []
    at = 0
    for piece, size in _pieces(text):
        here = size and at <= column < at + size
        kept.append(f"\x1b[7m{piece}\x1b[27m" if here else piece)
        at += size
    return "".join(kept) if column < at else f"{text}{' ' * (column - at)}\x1b[7m \x1b[27m"


def pad(text: str, width: int) -> str:
    """Truncated or padded with spaces to exactly ``width`` cells."""
    text = cut(text, width)
    return text + " " * (width - cells(text))


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """One line as rows of ``width`` cells, later ones with ``indent``; breaks at spaces, splits longer words."""
    width = max(width, 1)
    if cells(indent) > width - 2:  # no space for a wide character
        indent = ""
    if "\n" in text:
        return [row for line in text.split("\n") for row in wrap(line, width, indent)]
    if cells(text) <= width:
        return [text]
    rows = _Wrapping(width, indent).rows(text)
    if _SIMPLE.fullmatch(visible(text)) or all(cells(row) <= width for row in rows):
        return rows
    rows = [""]
    for cluster, _ in clusters(visible(text)):
        if len(rows[-1]) < 8 * width and cells(rows[-1] + cluster) <= width:
            rows[-1] += cluster
        else:
            rows.append(cluster if cells(cluster) <= width else "…")
    return rows


def broken(text: str, width: int) -> list[str]:
    """One line as rows of ``width`` cells, broken only where full, for code."""
    width = max(width, 1)
    if cells(text) <= width:
        return [text]
    rows: list[str] = []
    row: list[str] = []
    active: list[str] = []
    used = 0
    for piece, size in _pieces(text):
        if used + size > width and used:
            rows.append("".join(row) + _end_of(active))
            row, used = list(active), 0
        if size > width:
            piece, size = "…", 1  # a wide character in a one-cell column
        row.append(piece)
        used += size
        if piece.startswith("\x1b"):
            _follow(active, piece)
    return [*rows, "".join(row) + _end_of(active)]


class _Wrapping:
    def __init__(self, width: int, indent: str) -> None:
        self._width = width
        self._indent = indent
        self._indent_cells = cells(indent)
        self._done: list[str] = []
        self._row: list[str] = []
        self._used = 0
        self._active: list[str] = []  # styles open at this position
        self._gap = ""

    def rows(self, text: str) -> list[str]:
        for word in _WORD.findall(text):
            if word[0] == " ":
                if not self._done and not self._used:  # the line's own indentation stays
                    indent = word[: self._width - 1]
                    self._row.append(indent)
                    self._used += len(indent)
                else:
                    self._gap = word
            else:
                size = cells(word)
                fresh = self._used <= (self._indent_cells if self._done else 0)
                room = self._width - self._used - len(self._gap)
                if size <= room:
                    self._put(self._gap, len(self._gap))
                    self._put(word, size)
                elif size <= self._width - self._indent_cells and not fresh:
                    self._break()
                    self._put(word, size)
                else:
                    self._split(word)
                self._gap = ""
        self._break(last=True)
        return self._done

    def _split(self, word: str) -> None:
        if self._used + len(self._gap) < self._width:
            self._put(self._gap, len(self._gap))
        elif self._used:
            self._break()
        first = len(self._row)  # start of this word's pieces in the row
        for piece, size in _pieces(word):
            if self._used + size > self._width and self._used > (self._indent_cells if self._done else 0):
                carried = self._carried(first, size) if piece in _CLOSING else []
                self._break(carried)
                first = len(self._row) - len(carried)
            if size > self._width:
                piece, size = "…", 1  # a wide character in a one-cell column
            self._put(piece, size)

    def _carried(self, first: int, size: int) -> list[str]:
        """Characters that move to the next row with a closing mark; none if a row would be empty or too full."""
        start = len(self._row) - 1
        while start > first and (self._row[start] in _CLOSING or self._row[start].startswith("\x1b")):
            start -= 1
        carried = self._row[start:]
        fits = self._indent_cells + sum(map(cells, carried)) + size <= self._width
        left = cells("".join(self._row[:start])) > (self._indent_cells if self._done else 0)
        opens = start >= first and carried[0] not in _CLOSING and not carried[0].startswith("\x1b")
        return carried if opens and fits and left else []

    def _put(self, piece: str, size: int) -> None:
        if not piece:
            return
        self._row.append(piece)
        self._used += size
        if "\x1b" in piece:
            for style in STYLE.findall(piece):
                _follow(self._active, style)

    def _break(self, carried: Sequence[str] = (), *, last: bool = False) -> None:
        """End the row and begin the next one; ``carried`` is the end of the row that moves there."""
        if carried:
            del self._row[-len(carried) :]
            self._active = _open_after(self._row)
        self._done.append("".join(self._row) + _end_of(self._active))
        if last:
            return
        self._row = [self._indent, *self._active]
        self._used = self._indent_cells
        for piece in carried:
            self._put(piece, cells(piece))


def _follow(active: list[str], style: str) -> None:
    if style in _RESETS:
        active[:] = [s for s in active if s.startswith("\x1b]")]
    elif style.startswith("\x1b]"):
        active[:] = [s for s in active if not s.startswith("\x1b]")]  # a link ends where another begins
        if not style.startswith(("\x1b]8;;\x1b", "\x1b]8;;\x07")):
            active.append(style if len(style) <= _LONGEST_LINK else LINK_END)
    else:
        active.append(style if len(style) <= _LONGEST_STYLE else RESET)
        if len(active) > _MOST_OPEN:
            del active[0]


def _end_of(active: list[str]) -> str:
    """The sequence that closes these styles and this link."""
    link = LINK_END if any(s.startswith("\x1b]") for s in active) else ""
    return link + (RESET if any(not s.startswith("\x1b]") for s in active) else "")
