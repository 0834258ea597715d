"""Cursor motions as pure functions. A word is letters, digits, ``_`` and everything outside ASCII, or a token."""

from __future__ import annotations

from collections.abc import Callable

from zot.tui.text_buffer import Position, TextBuffer, Token

Motion = Callable[[TextBuffer, Position], Position]


def left(buffer: TextBuffer, at: Position) -> Position:
    if at.column:
        return Position(at.line, at.column - 1)
    return Position(at.line - 1, len(buffer.lines[at.line - 1])) if at.line else at


def right(buffer: TextBuffer, at: Position) -> Position:
    if at.column < len(buffer.lines[at.line]):
        return Position(at.line, at.column + 1)
    return Position(at.line + 1, 0) if at.line + 1 < len(buffer.lines) else at


def line_start(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, 0)


def line_end(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, len(buffer.lines[at.line]))


def text_start(buffer: TextBuffer, at: Position) -> Position:
    return Position(0, 0)


def text_end(buffer: TextBuffer, at: Position) -> Position:
    return buffer.end


def first_letter(buffer: TextBuffer, at: Position) -> Position:
    """The first position of the line that is not a space."""
    line = buffer.lines[at.line]
    return Position(at.line, next((i for i, unit in enumerate(line) if not unit.isspace()), 0))


def is_word(unit: str) -> bool:
    return unit.isalnum() or unit == "_" or not unit.isascii() or isinstance(unit, Token)


def word_left(buffer: TextBuffer, at: Position) -> Position:
    """The start of the previous word."""
    return _skip(buffer, at, left, lambda at: buffer.lines[at.line][at.column - 1] if at.column else "\n")


def word_right(buffer: TextBuffer, at: Position) -> Position:
    """The end of the next word."""

    def ahead(at: Position) -> str:
        line = buffer.lines[at.line]
        return line[at.column] if at.column < len(line) else "\n"

    return _skip(buffer, at, right, ahead)


def _skip(buffer: TextBuffer, at: Position, step: Motion, facing: Callable[[Position], str]) -> Position:
    while not is_word(facing(at)):
        if (onward := step(buffer, at)) == at:
            return at
        at = onward
    token = isinstance(facing(at), Token)
    while is_word(facing(at)):
        if isinstance(facing(at), Token) is not token or (onward := step(buffer, at)) == at:
            return at
        at = onward
        if token:
            return at
    return at


def deletes_word_left(buffer: TextBuffer, at: Position) -> Position:
    """The start of a ctrl+w deletion: the previous word of this line; at its beginning, the line before."""
    if not at.column:
        return left(buffer, at)
    start = word_left(buffer, at)
    return start if start.line == at.line else Position(at.line, 0)


# --- vi words: letters, punctuation and spaces are three kinds; for WORDS there are only two

Kinds = Callable[[str], int]


def kind_of(unit: str) -> int:
    if unit.isspace():
        return 0
    return 2 if is_word(unit) else 1


def big_kind_of(unit: str) -> int:
    return 0 if unit.isspace() else 2


def next_word(buffer: TextBuffer, at: Position, kinds: Kinds = kind_of) -> Position:
    """vi's ``w``: the start of the next word or run of punctuation."""
    line = buffer.lines[at.line]
    column = at.column
    if column < len(line):
        here = kinds(line[column])
        while column < len(line) and kinds(line[column]) == here:
            column += 1
    else:
        column = len(line)
    return _first_of_word(buffer, Position(at.line, column))


def _first_of_word(buffer: TextBuffer, at: Position) -> Position:
    """The first position from here that is not a space; an empty line counts as a word."""
    number, column = at
    while True:
        line = buffer.lines[number]
        while column < len(line) and line[column].isspace():
            column += 1
        if column < len(line) or (number > at.line and not line):
            return Position(number, column)
        if number + 1 == len(buffer.lines):
            return Position(number, len(line))
        number, column = number + 1, 0


def previous_word(buffer: TextBuffer, at: Position, kinds: Kinds = kind_of) -> Position:
    """vi's ``b``: the start of the previous word or punctuation."""
    number, column = at
    while True:
        line = buffer.lines[number]
        while column and line[column - 1].isspace():
            column -= 1
        if column:
            break
        if not number or (not line and number < at.line):
            return Position(number, 0)
        number, column = number - 1, len(buffer.lines[number - 1])
    line, here = buffer.lines[number], kinds(buffer.lines[number][column - 1])
    while column and kinds(line[column - 1]) == here:
        column -= 1
    return Position(number, column)


def word_last(buffer: TextBuffer, at: Position, kinds: Kinds = kind_of) -> Position:
    """vi's ``e``: the last character of this word, or of the next if already there."""
    start = right(buffer, at)
    if start == at:
        return at
    number, column = _first_of_word(buffer, start)
    line = buffer.lines[number]
    while column + 1 < len(line) and kinds(line[column + 1]) == kinds(line[column]):
        column += 1
    return Position(number, column)
