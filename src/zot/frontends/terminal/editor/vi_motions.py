"""Where vi's motions lead: those with a letter of their own in a table, and the search for a character of the line."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from zot.tui import text_motions as to
from zot.tui.text_buffer import Position, TextBuffer
from zot.tui.text_motions import Motion


class ViMotion(NamedTuple):
    """``inclusive`` ones take the character they stand on, ``linewise`` ones whole lines."""

    go: Motion
    inclusive: bool = False
    linewise: bool = False


def left(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, max(at.column - 1, 0))


def right(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, min(at.column + 1, len(buffer.lines[at.line])))


def _down(buffer: TextBuffer, at: Position) -> Position:
    line = min(at.line + 1, len(buffer.lines) - 1)
    return Position(line, min(at.column, len(buffer.lines[line])))


def _up(buffer: TextBuffer, at: Position) -> Position:
    line = max(at.line - 1, 0)
    return Position(line, min(at.column, len(buffer.lines[line])))


MOTIONS = {
    "h": ViMotion(left),
    "l": ViMotion(right),
    "space": ViMotion(right),
    "w": ViMotion(to.next_word),
    "b": ViMotion(to.previous_word),
    "e": ViMotion(to.word_last, inclusive=True),
    "W": ViMotion(partial(to.next_word, kinds=to.big_kind_of)),
    "B": ViMotion(partial(to.previous_word, kinds=to.big_kind_of)),
    "E": ViMotion(partial(to.word_last, kinds=to.big_kind_of), inclusive=True),
    "0": ViMotion(to.line_start),
    "^": ViMotion(to.first_letter),
    "$": ViMotion(to.line_end),
    "j": ViMotion(_down, linewise=True),
    "k": ViMotion(_up, linewise=True),
    "gg": ViMotion(to.text_start, linewise=True),
    "G": ViMotion(to.text_end, linewise=True),
}


class Find(NamedTuple):
    """``f F t T`` and the character that is looked for."""

    name: str
    wanted: str

    @property
    def forward(self) -> bool:
        return self.name in "ft"

    def reversed(self) -> Find:
        return Find(self.name.swapcase(), self.wanted)

    def target(self, buffer: TextBuffer, at: Position, count: int, *, again: bool = False) -> Position | None:
        """The count-th one in the line; None when there are not as many. ``again``: ``t`` does not stay where it is."""
        line, step = buffer.lines[at.line], 1 if self.forward else -1
        short = step if self.name in "tT" else 0
        column = at.column + (short if again else 0)
        for _ in range(count):
            column += step
            while 0 <= column < len(line) and line[column] != self.wanted:
                column += step
            if not 0 <= column < len(line):
                return None
        return Position(at.line, column - short)


def changed_word(buffer: TextBuffer, at: Position, count: int, *, big: bool) -> Position | None:
    """Where ``cw`` stops: at the end of the word, without the space behind it; None where there is no word."""
    kinds = to.big_kind_of if big else to.kind_of
    line, column = buffer.lines[at.line], at.column
    if column >= len(line) or kinds(line[column]) == 0:
        return None
    while column + 1 < len(line) and kinds(line[column + 1]) == kinds(line[column]):
        column += 1
    target = Position(at.line, column)
    for _ in range(count - 1):
        target = to.word_last(buffer, target, kinds)
    return right(buffer, target)
