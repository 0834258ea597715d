"""Escapes text that a user decides on: control, invisible and blank characters become visible marks.
Examples: ``⟨ESC⟩``, ``⟨U+202E⟩``, ``⇥`` and ``↩``. Marks in the text itself are marked also."""

from __future__ import annotations

import re

BREAK, TAB = "↩", "⇥"
MARK = re.compile(r"⟨[^⟩]*⟩")

_TAB_STOP = 4
_MOST_COMBINING = 4  # combining marks on one letter; more would cover neighbouring rows
_NAMES = {0: "NUL", 7: "BEL", 8: "BS", 11: "VT", 12: "FF", 13: "CR", 27: "ESC", 127: "DEL"}
# Printable characters that are invisible or look like a space, and our own marks.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U00016fe4"
    "\U000e0100-\U000e01ef⟨⟩↩⇥]"
)
_MANY_SPACES = " " * 64
_SPACES = re.compile(" {64,}")


def escape_invisible(text: str) -> str:
    return BREAK.join(_spelled_line(line) for line in text.split("\n"))


def escape_lines(text: str) -> list[str]:
    r"""The text line by line, with tabs expanded. Only ``\n`` ends a line."""
    return [_spelled_line(line, pad_tabs=True) for line in text.split("\n")]


def spelled_start(text: str, limit: int) -> str:
    """The text on one line of at most ``limit`` characters, and the number of omitted ones."""
    whole = escape_invisible(text) if len(text) <= limit else ""
    if len(text) <= limit and len(whole) <= limit:
        return whole
    shown: list[str] = []
    room, taken = limit - 1, 0
    for character in text[:limit]:
        sign = BREAK if character == "\n" else _spelled_line(character)
        if len(sign) > room:
            break
        shown.append(sign)
        room -= len(sign)
        taken += 1
    return f"{''.join(shown)}… ({len(text) - taken} more characters)"


def has_invisible(text: str) -> bool:
    """True if it contains something a screen would not show, except line breaks and tabs."""
    return MARK.search(escape_invisible(text.replace("\r\n", "\n"))) is not None


def _spelled_line(line: str, *, pad_tabs: bool = False) -> str:
    if not (line.isascii() and line.isprintable()):
        seen = set(line)
        line = line.translate({ord(sign): mark for sign in seen if (mark := _mark(sign, pad_tabs))})
        line = _without_piles(line, seen)
        if pad_tabs:
            line = line.expandtabs(_TAB_STOP)
    return _SPACES.sub(lambda run: f"⟨{len(run[0])} spaces⟩", line) if _MANY_SPACES in line else line


def _mark(sign: str, pad_tabs: bool) -> str:
    """The mark of a character; empty if it is shown as itself."""
    if sign == "\t":
        return TAB + "\t" * pad_tabs
    if sign.isprintable() and not _UNSEEN.match(sign):
        return ""
    return f"⟨{_NAMES.get(ord(sign)) or f'U+{ord(sign):04X}'}⟩"


def _without_piles(line: str, seen: set[str]) -> str:
    """Combining marks stay on their letter, up to a few; others, which would change a neighbour, are escaped."""
    from unicodedata import category

    combining = {sign for sign in seen if sign > "\u02ff" and category(sign) in ("Mn", "Me")}
    if not combining:
        return line
    kept: list[str] = []
    pile = _MOST_COMBINING
    for character in line:
        if character not in combining:
            pile = 0 if character.isalnum() else _MOST_COMBINING
        elif (pile := pile + 1) > _MOST_COMBINING:
            character = f"⟨U+{ord(character):04X}⟩"
        kept.append(character)
    return "".join(kept)


def pluralize(number: int, one: str, many: str = "") -> str:
    """``many`` is for nouns that do not just take an s.

    >>> counted(1, "model call"), counted(1200, "line"), counted(0, "reply", "replies")
    ('1 model call', '1,200 lines', '0 replies')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
