"""vi keys, for those who switched them on: insert mode types, normal mode moves and edits with single letters.

Motions ``h j k l w b e 0 ^ $ gg G``, operators ``d c y`` with them or doubled for lines, ``x X D C s S r p P u``,
ctrl+r, counts, and ``i a I A o O`` back to typing. Keys with modifiers, arrows and enter keep their usual meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zot.tui import text_motions as to
from zot.tui.keys import Key
from zot.tui.text_buffer import Position, TextBuffer
from zot.tui.text_motions import Motion

if TYPE_CHECKING:
    from zot.agent.modes.interactive.editor.editor import Editor

_MOST = 10_000


class ViMotion(NamedTuple):
    """``inclusive`` ones take the character they stand on, ``linewise`` ones whole lines."""

    go: Motion
    inclusive: bool = False
    linewise: bool = False


def _left(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, max(at.column - 1, 0))


def _right(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, min(at.column + 1, len(buffer.lines[at.line])))


def _down(buffer: TextBuffer, at: Position) -> Position:
    line = min(at.line + 1, len(buffer.lines) - 1)
    return Position(line, min(at.column, len(buffer.lines[line])))


def _up(buffer: TextBuffer, at: Position) -> Position:
    line = max(at.line - 1, 0)
    return Position(line, min(at.column, len(buffer.lines[line])))


_MOTIONS = {
    "h": ViMotion(_left),
    "l": ViMotion(_right),
    "space": ViMotion(_right),
    "w": ViMotion(to.next_word),
    "b": ViMotion(to.previous_word),
    "e": ViMotion(to.word_last, inclusive=True),
    "0": ViMotion(to.line_start),
    "^": ViMotion(to.first_letter),
    "$": ViMotion(to.line_end),
    "j": ViMotion(_down, linewise=True),
    "k": ViMotion(_up, linewise=True),
    "gg": ViMotion(to.text_start, linewise=True),
    "G": ViMotion(to.text_end, linewise=True),
}
# One letter that is an operator with its motion.
_SHORT = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}


class ViKeys:
    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._buffer = editor.buffer
        self.normal = False
        self._counts = ["", ""]  # before the operator, and after it
        self._operator = ""
        self._pending = ""  # g or r, waiting for its second letter

    def escape(self) -> bool:
        """Out of insert mode, or out of a half-typed command; whether there was one."""
        waiting = bool(self._operator or self._pending or any(self._counts))
        self._forget()
        if self.normal:
            return waiting
        self.normal = True
        self._buffer.move(_left(self._buffer, self._buffer.cursor))
        return True

    def key(self, key: Key) -> bool:
        """Whether it was a command; in insert mode nothing is."""
        if not self.normal:
            return False
        if key.name == "enter":
            self.normal = False
            return False
        if key.name in ("ctrl+r", "backspace"):
            self._run("redo" if key.name == "ctrl+r" else "h")
        elif key.printable:
            self._letter(key)
        else:
            self._forget()
            return False
        if self.normal:
            self._stay_on_a_character()
        return True

    def _letter(self, key: Key) -> None:
        if self._pending == "r":
            self._replace(key.text)
        elif self._pending == "g":
            self._pending = ""
            self._run("gg") if key.name == "g" else self._forget()
        elif key.name in ("g", "r"):
            self._pending = key.name
        elif key.name.isdigit() and (key.name != "0" or self._counts[bool(self._operator)]):
            self._counts[bool(self._operator)] += key.name
        else:
            self._run(key.name)

    @property
    def _count(self) -> int:
        product = 1
        for count in self._counts:
            product *= int(count[:6] or 1)
        return min(product, _MOST)

    def _forget(self) -> None:
        self._counts, self._operator, self._pending = ["", ""], "", ""

    def _run(self, name: str) -> None:
        """A complete word of the language."""
        if name in _SHORT and not self._operator:
            operator, motion = _SHORT[name]
            self._operator = operator
            self._run(motion)
        elif name in ("d", "c", "y"):
            if self._operator == name:
                self._lines(self._buffer.cursor.line, self._buffer.cursor.line + self._count - 1)
            elif not self._operator:
                self._operator = name
                return
        elif name in _MOTIONS:
            self._move(name)
        elif not self._operator:
            self._command(name)
        self._forget()

    # --- motions and operators

    def _move(self, name: str) -> None:
        motion, start = _MOTIONS[name], self._buffer.cursor
        if self._operator == "c" and name == "w":
            motion = _MOTIONS["e"]
        target = self._target(name, motion, start)
        if not self._operator:
            self._go(name, target)
        elif motion.linewise:
            self._lines(*sorted((start.line, target.line)))
        else:
            self._span(*sorted((start, self._end(name, motion, start, target))))

    def _target(self, name: str, motion: ViMotion, start: Position) -> Position:
        if name in ("gg", "G") and any(self._counts):
            return Position(min(self._count, len(self._buffer.lines)) - 1, 0)
        target = start
        for _ in range(self._count):
            if (onward := motion.go(self._buffer, target)) == target:
                break
            target = onward
        return target

    def _go(self, name: str, target: Position) -> None:
        if name in ("j", "k"):
            for _ in range(self._count):
                self._editor.vertical(up=name == "k")
        else:
            self._buffer.move(to.first_letter(self._buffer, target) if name in ("gg", "G") else target)

    def _end(self, name: str, motion: ViMotion, start: Position, target: Position) -> Position:
        """Where an operator stops: a word's motion does not reach into the next line's indentation."""
        if motion.inclusive:
            return _right(self._buffer, target)
        while name == "w" and target.line > start.line and not "".join(self._before(target)).strip():
            target = to.line_end(self._buffer, Position(target.line - 1, 0))
        return target

    def _before(self, at: Position) -> list[str]:
        return self._buffer.lines[at.line][: at.column]

    def _span(self, start: Position, end: Position) -> None:
        self._keep(self._buffer.units(start, end))
        if self._operator == "y":
            self._buffer.move(start)
        else:
            self._buffer.replace(start, end, ())
        self._ends_insertion()

    def _lines(self, first: int, last: int) -> None:
        buffer = self._buffer
        last = min(last, len(buffer.lines) - 1)
        start, end = Position(first, 0), to.line_end(buffer, Position(last, 0))
        self._keep([*buffer.units(start, end), "\n"])
        if self._operator == "c":
            buffer.replace(start, end, ())
        elif self._operator == "d":
            if last + 1 < len(buffer.lines):
                buffer.replace(start, Position(last + 1, 0), ())
            else:
                buffer.replace(to.left(buffer, start), end, ())
            buffer.move(to.first_letter(buffer, buffer.cursor))
        self._ends_insertion()

    def _ends_insertion(self) -> None:
        if self._operator == "c":
            self.normal = False

    def _keep(self, units: list[str]) -> None:
        self._editor.editing.kills.other_key()
        self._editor.editing.kills.cut(units)

    # --- single letters

    def _command(self, name: str) -> None:
        buffer, cursor = self._buffer, self._buffer.cursor
        match name:
            case "u" | "redo":
                for _ in range(self._count):
                    buffer.undo() if name == "u" else buffer.redo()
            case "p" | "P":
                self._put(before=name == "P")
            case "o" | "O":
                buffer.move(to.line_end(buffer, cursor) if name == "o" else to.line_start(buffer, cursor))
                buffer.insert(["\n"])
                if name == "O":
                    buffer.move(to.left(buffer, buffer.cursor))
            case "a":
                buffer.move(_right(buffer, cursor))
            case "A":
                buffer.move(to.line_end(buffer, cursor))
            case "I":
                buffer.move(to.first_letter(buffer, cursor))
            case _:
                pass
        if name in ("i", "a", "I", "A", "o", "O"):
            self.normal = False

    def _put(self, *, before: bool) -> None:
        buffer, units = self._buffer, self._editor.editing.kills.last * self._count
        if not units:
            return
        if units[-1] != "\n":
            buffer.move(buffer.cursor if before else _right(buffer, buffer.cursor))
            buffer.insert(units)
            buffer.move(to.left(buffer, buffer.cursor))
            return
        line = buffer.cursor.line + (not before)
        if line < len(buffer.lines):
            buffer.replace(Position(line, 0), Position(line, 0), units)
        else:
            buffer.replace(buffer.end, buffer.end, ["\n", *units[:-1]])
        buffer.move(to.first_letter(buffer, Position(line, 0)))

    def _replace(self, text: str) -> None:
        start, count = self._buffer.cursor, self._count
        end = Position(start.line, start.column + count)
        self._forget()
        if end.column <= len(self._buffer.line):
            self._buffer.replace(start, end, [text] * count)
            self._buffer.move(_left(self._buffer, self._buffer.cursor))

    def _stay_on_a_character(self) -> None:
        cursor = self._buffer.cursor
        if cursor.column and cursor.column == len(self._buffer.line):
            self._buffer.move(_left(self._buffer, cursor))
