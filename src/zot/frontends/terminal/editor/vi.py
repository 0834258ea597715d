"""vi keys: motions, operators ``d c y``, text objects, counts, ``v V``, and ``i a I A o O`` to insert.
Motions: ``h j k l w b e W B E 0 ^ $ gg G f F t T ; ,``; text objects: ``iw``, ``a"``; also ``x X D C s S r ~ J p P u
.``, ctrl+r."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from typing import TYPE_CHECKING

from zot.frontends.terminal.editor.vi_motions import MOTIONS, Find, ViMotion, changed_word, left, right, text_object
from zot.tui import text_motions as to
from zot.tui.keys import Key
from zot.tui.text_buffer import Position

if TYPE_CHECKING:
    from zot.frontends.terminal.editor.editor import Editor

# Repeat with `.`: the keys of the last change and the text typed until its end.

_MOST_KEYS = 10_000  # keys of one change, and of one replay
INSERTS = ("i", "a", "I", "A", "o", "O")
_TYPES = frozenset({"paste", "backspace", "delete", "alt+enter", "shift+enter", "ctrl+enter", "ctrl+j", "tab"})


class Repeat:
    def __init__(self) -> None:
        self._last: list[Key] = []
        self._now: list[Key] = []
        self._inserting = False
        self._replaying = False

    def command(self, key: Key) -> None:
        """A key of an unfinished command."""
        if not self._replaying:
            self._now.append(key)

    def over(self, *, changed: bool, inserting: bool) -> None:
        """The command was accepted; following keys may belong to it."""
        if self._replaying:
            return
        self._inserting = inserting
        if not changed or self._now[-1:] == [Key(".", ".")]:
            self._now = []
        elif not inserting:
            self._last, self._now = self._now, []

    def typed(self, key: Key) -> None:
        """A key in insert mode: keys that do not type end the repeatable change."""
        if self._replaying or not self._inserting:
            return
        if (key.printable or key.name in _TYPES) and len(self._now) < _MOST_KEYS:
            self._now.append(key)
        else:
            self.ends()

    def ends(self) -> None:
        """End of typing, or of an abandoned command."""
        if self._replaying:
            return
        if self._inserting and self._now:
            self._last = [*self._now, Key("esc")]
        self.forget()

    def forget(self) -> None:
        self._now, self._inserting = [], False

    @contextmanager
    def replaying(self, count: str) -> Generator[Sequence[Key]]:
        """The keys to replay; nothing is recorded meanwhile. A ``count`` replaces the original."""
        if self._replaying:
            yield ()
            return
        self._replaying = True
        try:
            yield self._last if not count else self._counted(count[:4])
        finally:
            self._replaying = False

    def _counted(self, count: str) -> list[Key]:
        keys = list(dropwhile(lambda key: key.name.isdigit(), self._last))
        if not keys or keys[0].name in ("v", "V"):
            return keys
        if keys[0].name in INSERTS:
            return keys * max(min(int(count), _MOST_KEYS // len(keys)), 1)
        rest = dropwhile(lambda key: key.name in "123456789", keys[1:]) if keys[0].name in ("d", "c") else keys[1:]
        return [*(Key(digit, digit) for digit in count), keys[0], *rest]


# Letters for an operator with its motion.
_SHORT = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}
_SHORT_SELECTED = {"x": "d", "s": "c", "X": "D", "S": "C", "R": "C"}
_TWO_LETTERS = ("g", "r", "f", "F", "t", "T")


class ViKeys:
    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._buffer = editor.buffer
        self.normal = False
        self.selecting = ""  # v or V
        self._anchor = Position(0, 0)  # start of the selection
        self._counts = ["", ""]  # before the operator, and after it
        self._operator = ""
        self._pending = ""  # g, r, f F t T, or i a before an object: waits for the next key
        self._find: Find | None = None
        self._repeat = Repeat()

    @property
    def selection(self) -> tuple[Position, Position] | None:
        """The selection from its first position to after its last."""
        if not self.selecting:
            return None
        first, last = sorted((self._anchor, self._buffer.cursor))
        if self.selecting == "V":
            return to.line_start(self._buffer, first), to.line_end(self._buffer, last)
        return first, right(self._buffer, last)

    def escape(self) -> bool:
        """End insert mode, a selection or an unfinished command; true if there was one."""
        waiting = bool(self._operator or self._pending or self.selecting or any(self._counts))
        self._forget()
        self.selecting = ""
        self._repeat.ends()
        if self.normal:
            return waiting
        self.normal = True
        self._buffer.move(left(self._buffer, self._buffer.cursor))
        return True

    def key(self, key: Key) -> bool:
        """True if it was a command; never in insert mode."""
        if not self.normal:
            self._repeat.typed(key)
            return False
        if key.name == "enter":
            self.normal, self.selecting = False, ""
            self._forget()
            self._repeat.forget()
            return False
        if not key.printable and key.name not in ("ctrl+r", "backspace"):
            self._forget()
            return False
        self._command_key(key)
        if self.normal:
            cursor = self._buffer.cursor
            if cursor.column and cursor.column == len(self._buffer.line):
                self._buffer.move(left(self._buffer, cursor))
        return True

    def _command_key(self, key: Key) -> None:
        before = self._buffer.revision
        self._repeat.command(key)
        if key.printable:
            if self._pending:
                first, self._pending = self._pending, ""
                if first == "r":
                    self._replace(key.text)
                elif first in ("i", "a"):
                    span = text_object(self._buffer, self._buffer.cursor, first + key.text, self._count)
                    if span is not None and self.selecting:
                        self.selecting, self._anchor = "v", span[0]
                        self._buffer.move(to.left(self._buffer, span[1]) if span[0] < span[1] else span[1])
                    elif span is not None:
                        self._span(*span)
                    self._forget()
                elif first == "g":
                    self._run("gg") if key.name == "g" else self._forget()
                else:
                    self._find = Find(first, key.text)
                    self._go_find(self._find)
            elif key.name in _TWO_LETTERS or (key.name in ("i", "a") and (self._operator or self.selecting)):
                self._pending = key.name
            elif key.name.isdigit() and (key.name != "0" or self._counts[bool(self._operator)]):
                self._counts[bool(self._operator)] += key.name
            else:
                self._run(key.name)
        else:
            self._run("redo" if key.name == "ctrl+r" else "h")
        if not (self._operator or self._pending or self.selecting or any(self._counts)):
            changed = self._buffer.revision != before and key.name not in ("u", "ctrl+r")
            self._repeat.over(changed=changed or not self.normal, inserting=not self.normal)

    @property
    def _count(self) -> int:
        product = 1
        for count in self._counts:
            product *= int(count[:6] or 1)
        return min(product, _MOST_KEYS)

    def _forget(self) -> None:
        self._counts, self._operator, self._pending = ["", ""], "", ""

    def _run(self, name: str) -> None:
        """Execute a complete command."""
        if self.selecting and self._run_selected(_SHORT_SELECTED.get(name, name)):
            pass
        elif name in _SHORT and not self._operator:
            operator, motion = _SHORT[name]
            self._operator = operator
            self._run(motion)
        elif name in ("d", "c", "y"):
            if self._operator == name:
                self._lines(self._buffer.cursor.line, self._buffer.cursor.line + self._count - 1)
            elif not self._operator:
                self._operator = name
                return
        elif name in MOTIONS:
            self._move(name)
        elif name in (";", ","):
            if self._find is not None:
                self._go_find(self._find if name == ";" else self._find.reversed(), again=True)
        elif not self._operator:
            self._command(name)
        self._forget()

    # --- motions and operators

    def _move(self, name: str) -> None:
        motion, start = MOTIONS[name], self._buffer.cursor
        if self._operator == "c" and name in ("w", "W"):
            word_end = changed_word(self._buffer, start, self._count, big=name == "W")
            if word_end is not None:
                self._span(start, word_end)
                return
        target = self._target(name, motion, start)
        if not self._operator:
            if name in ("j", "k"):
                # Beyond the text is the history; a selection does not leave the text.
                step = self._editor.editing.vertical if self.selecting else self._editor.vertical
                for _ in range(self._count):
                    step(up=name == "k")
            else:
                self._buffer.move(to.first_letter(self._buffer, target) if name in ("gg", "G") else target)
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

    def _end(self, name: str, motion: ViMotion, start: Position, target: Position) -> Position:
        """The end of an operator's range: a word motion does not reach into the next line's indentation."""
        if motion.inclusive:
            return right(self._buffer, target)
        while (
            name in ("w", "W")
            and target.line > start.line
            and not "".join(self._buffer.lines[target.line][: target.column]).strip()
        ):
            target = to.line_end(self._buffer, Position(target.line - 1, 0))
        return target

    def _go_find(self, find: Find, *, again: bool = False) -> None:
        cursor = self._buffer.cursor
        target = find.target(self._buffer, cursor, self._count, again=again)
        if target is not None and self._operator:
            self._span(*sorted((cursor, right(self._buffer, target) if find.forward else target)))
        elif target is not None:
            self._buffer.move(target)
        self._forget()

    def _span(self, start: Position, end: Position) -> None:
        if start < end:
            self._keep(self._buffer.units(start, end))
        if self._operator == "y":
            self._buffer.move(start)
        else:
            self._buffer.move(start)
            self._buffer.replace(start, end, ())
        self._ends_insertion()

    def _lines(self, first: int, last: int) -> None:
        buffer = self._buffer
        last = min(last, len(buffer.lines) - 1)
        start, end = Position(first, 0), to.line_end(buffer, Position(last, 0))
        self._keep([*buffer.units(start, end), "\n"])
        if self._operator == "c":
            buffer.move(start)
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

    # --- with a selection

    def _run_selected(self, name: str) -> bool:
        """True if it was a command for the selection."""
        span = self.selection
        if span is None or name not in ("d", "c", "y", "D", "C", "Y", "v", "V", "o", "~", "J", "p", "P"):
            return False
        if name in ("v", "V"):
            self.selecting = "" if self.selecting == name else name
            return True
        if name == "o":
            self._anchor, cursor = self._buffer.cursor, self._anchor
            self._buffer.move(cursor)
            return True
        lines = self.selecting == "V" or name in ("D", "C", "Y")
        self.selecting = ""
        if name in ("d", "c", "y", "D", "C", "Y"):
            self._operator = name.lower()
            self._lines(span[0].line, span[1].line) if lines else self._span(*span)
        elif name == "J":
            self._buffer.move(span[0])
            self._join(span[1].line - span[0].line)
        elif name == "~":
            self._swap_case(*span)
        else:
            put = self._editor.editing.kills.last
            self._buffer.replace(*span, put[:-1] if put[-1:] == ["\n"] else put)
            self._buffer.move(left(self._buffer, self._buffer.cursor))
        return True

    # --- single letters

    def _command(self, name: str) -> None:
        buffer, cursor = self._buffer, self._buffer.cursor
        match name:
            case "v" | "V":
                self.selecting, self._anchor = name, cursor
            case ".":
                count = self._counts[0]
                self._forget()
                with self._repeat.replaying(count) as keys:
                    for key in keys:
                        if key.name == "esc":
                            self.escape()
                        else:
                            self._editor.key(key)
            case "~":
                self._swap_case(cursor, Position(cursor.line, min(cursor.column + self._count, len(buffer.line))))
            case "J":
                self._join(max(self._count - 1, 1))
            case "u" | "redo":
                for _ in range(self._count):
                    buffer.undo() if name == "u" else buffer.redo()
            case "p" | "P":
                self._put(before=name == "P")
            case _ if name in INSERTS:
                self._insert(name)
            case _:
                pass

    def _insert(self, name: str) -> None:
        """The position where inserting begins."""
        buffer, cursor = self._buffer, self._buffer.cursor
        match name:
            case "o" | "O":
                buffer.move(to.line_end(buffer, cursor) if name == "o" else to.line_start(buffer, cursor))
                buffer.insert(["\n"])
                if name == "O":
                    buffer.move(to.left(buffer, buffer.cursor))
            case "a":
                buffer.move(right(buffer, cursor))
            case "A":
                buffer.move(to.line_end(buffer, cursor))
            case "I":
                buffer.move(to.first_letter(buffer, cursor))
            case _:
                pass
        self.normal = False

    def _swap_case(self, start: Position, end: Position) -> None:
        units = self._buffer.units(start, end)
        swapped = [unit.swapcase() if len(unit) == len(unit.swapcase()) == 1 else unit for unit in units]
        self._buffer.replace(start, end, swapped)

    def _join(self, count: int) -> None:
        """Joins this line and the next, with a space."""
        buffer, line = self._buffer, self._buffer.cursor.line
        for _ in range(min(count, len(buffer.lines) - 1 - line)):
            end = to.line_end(buffer, Position(line, 0))
            begin = to.first_letter(buffer, Position(line + 1, 0))
            spaced = end.column and not buffer.lines[line][-1].isspace() and buffer.lines[line + 1]
            buffer.replace(end, begin, [" "] if spaced else [])
            buffer.move(end)

    def _put(self, *, before: bool) -> None:
        buffer, units = self._buffer, self._editor.editing.kills.last * self._count
        if not units:
            return
        if units[-1] != "\n":
            buffer.move(buffer.cursor if before else right(buffer, buffer.cursor))
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
        if (span := self.selection) is not None:
            self.selecting = ""
            start, end = span
            units = self._buffer.units(start, end)
            self._buffer.replace(start, end, [unit if unit == "\n" else text for unit in units])
            self._buffer.move(start)
        elif end.column <= len(self._buffer.line):
            self._buffer.replace(start, end, [text] * count)
            self._buffer.move(left(self._buffer, self._buffer.cursor))
        self._forget()
