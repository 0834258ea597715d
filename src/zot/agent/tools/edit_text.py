"""A text file taken apart for editing and put together again, byte for byte where nothing was changed.

Edits see the text with plain ``\\n`` line ends and without a byte order mark. Each untouched line keeps its own
line end, new lines take that of their surroundings, and bytes that are no UTF-8 survive as surrogates.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec

_BOM = "\ufeff"


class Span(msgspec.Struct, frozen=True, order=True):
    """Characters ``start`` to ``end`` of the plain text, to be replaced by ``new``; ``number`` is the edit's."""

    start: int
    end: int
    number: int
    new: str


class EditableText:
    """``body`` is what edits are matched against."""

    def __init__(self, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        self._bom = _BOM if text.startswith(_BOM) else ""
        self._original = text.removeprefix(_BOM)
        self.body = plain(self._original)
        self._crlf = _crlf_positions(self._original)

    def replaced(self, spans: list[Span]) -> bytes:
        """The file's new bytes. Spans are sorted and do not overlap."""
        pieces = [self._bom]
        position = 0
        for span in spans:
            start, end, new = self._changed_lines(span)
            pieces += [self._original[position : self._at(start)], self._with_line_ends(new, start)]
            position = self._at(end)
        pieces.append(self._original[position:])
        return "".join(pieces).encode("utf-8", "surrogateescape")

    def _changed_lines(self, span: Span) -> tuple[int, int, str]:
        """The span without the lines it shares with its replacement, so that those keep their own line ends."""
        old, new = self.body[span.start : span.end], span.new
        before = _common_lines(old, new)
        old, new = old[before:], new[before:]
        after = _common_lines(old, new, from_end=True)
        return span.start + before, span.end - after, new[: len(new) - after]

    def _with_line_ends(self, new: str, start: int) -> str:
        if "\n" not in new or not self._crlf:
            return new
        near = self.body.find("\n", start)
        if near < 0:
            near = self.body.rfind("\n", 0, start)
        return new.replace("\n", "\r\n") if self._is_crlf(near) else new

    def _is_crlf(self, position: int) -> bool:
        index = bisect_left(self._crlf, position)
        return index < len(self._crlf) and self._crlf[index] == position

    def _at(self, position: int) -> int:
        """Where a position of the plain text lies in the original."""
        return position + bisect_left(self._crlf, position)


def plain(text: str) -> str:
    """With ``\\n`` as the only line end."""
    return text.replace("\r\n", "\n")


def _crlf_positions(original: str) -> list[int]:
    """Where in the plain text the line ends stand that were ``\\r\\n``."""
    positions: list[int] = []
    found = original.find("\r\n")
    while found >= 0:
        positions.append(found - len(positions))
        found = original.find("\r\n", found + 2)
    return positions


def _common_lines(old: str, new: str, *, from_end: bool = False) -> int:
    """How many characters of whole lines, line ends included, both have in common at one end."""
    if from_end:
        shared = _common_length(old[::-1], new[::-1])
        # A shared end counts from the start of a line on: after the first line end within it.
        cut = old.find("\n", len(old) - shared)
        return 0 if cut < 0 else len(old) - cut - 1
    return old.rfind("\n", 0, _common_length(old, new)) + 1


def _common_length(one: str, two: str) -> int:
    """Length of the common beginning, by halving: comparing slices is quick, comparing characters is not."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
