"""The table of editing keys (motions and cuts), for dispatch and for help."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from zot.tui import text_motions as to
from zot.tui.text_buffer import KillRing, TextBuffer
from zot.tui.text_layout import above, below, place_of
from zot.tui.text_motions import Motion


class EditKeys:
    """A text, its cut text, and the target column of up and down."""

    def __init__(self) -> None:
        self.buffer = TextBuffer()
        self.kills = KillRing()
        self.width = 77  # of the displayed rows, for up and down
        self._aim: int | None = None
        self._yanked = 0

    def key(self, name: str) -> bool:
        """True if the key was handled."""
        binding = BY_KEY.get(name)
        if binding is None:
            return False
        if binding.run not in _CUTS:
            self.kills.other_key()
        if binding.run is not yank_older:
            self._yanked = 0
        self._aim = None
        binding.run(self)
        return True

    def other_key(self) -> None:
        self.kills.other_key()
        self._yanked, self._aim = 0, None

    def go(self, motion: Motion) -> None:
        self.buffer.move(motion(self.buffer, self.buffer.cursor))

    def delete(self, motion: Motion) -> None:
        """Delete from the cursor to the target of the motion."""
        start, end = sorted((self.buffer.cursor, motion(self.buffer, self.buffer.cursor)))
        self.buffer.replace(start, end, ())

    def cut(self, motion: Motion) -> None:
        """The same, but stored for a yank."""
        cursor, target = self.buffer.cursor, motion(self.buffer, self.buffer.cursor)
        start, end = sorted((cursor, target))
        self.kills.cut(self.buffer.units(start, end), before=target < cursor)
        self.buffer.replace(start, end, ())

    def yank(self, units: list[str]) -> None:
        self.buffer.insert(units)
        self._yanked = len(units)

    def yank_older(self) -> None:
        """Right after a yank: replace it by the previous cut."""
        if not self._yanked:
            return
        self.buffer.undo()
        self.yank(self.kills.rotate())

    def vertical(self, *, up: bool) -> bool:
        """One visual row up or down; False at the edge of the text."""
        buffer = self.buffer
        aim = self._aim if self._aim is not None else place_of(buffer, buffer.cursor, self.width)[1]
        target = (above if up else below)(buffer, buffer.cursor, self.width, aim)
        if target is not None:
            buffer.move(target)
        self._aim = aim
        return target is not None


class EditBinding(msgspec.Struct, frozen=True):
    keys: tuple[str, ...]
    help: str
    run: Callable[[EditKeys], None]


def kill_line_end(editing: EditKeys) -> None:
    at_end = editing.buffer.cursor.column == len(editing.buffer.line)
    editing.cut(to.right if at_end else to.line_end)


def kill_line_start(editing: EditKeys) -> None:
    editing.cut(to.left if not editing.buffer.cursor.column else to.line_start)


def kill_word_left(editing: EditKeys) -> None:
    editing.cut(to.deletes_word_left)


def kill_word_right(editing: EditKeys) -> None:
    editing.cut(to.word_right)


_CUTS = (kill_line_end, kill_line_start, kill_word_left, kill_word_right)


def yank_older(editing: EditKeys) -> None:
    editing.yank_older()


def undo(editing: EditKeys) -> None:
    editing.buffer.undo()


def redo(editing: EditKeys) -> None:
    editing.buffer.redo()


def _go(motion: Motion) -> Callable[[EditKeys], None]:
    return lambda editing: editing.go(motion)


BINDINGS = (
    EditBinding(("left", "ctrl+b"), "one character back", _go(to.left)),
    EditBinding(("right", "ctrl+f"), "one character forward", _go(to.right)),
    EditBinding(("alt+left", "alt+b", "ctrl+left"), "one word back", _go(to.word_left)),
    EditBinding(("alt+right", "alt+f", "ctrl+right"), "one word forward", _go(to.word_right)),
    EditBinding(("home", "ctrl+a"), "start of the line", _go(to.line_start)),
    EditBinding(("end", "ctrl+e"), "end of the line", _go(to.line_end)),
    EditBinding(("ctrl+home", "alt+<"), "start of the text", _go(to.text_start)),
    EditBinding(("ctrl+end", "alt+>"), "end of the text", _go(to.text_end)),
    EditBinding(("backspace", "shift+backspace"), "delete backwards", lambda editing: editing.delete(to.left)),
    EditBinding(("delete",), "delete forwards", lambda editing: editing.delete(to.right)),
    EditBinding(("ctrl+w", "alt+backspace", "ctrl+backspace"), "cut the word before", kill_word_left),
    EditBinding(("alt+d", "ctrl+delete"), "cut the word after", kill_word_right),
    EditBinding(("ctrl+u",), "cut to the start of the line", kill_line_start),
    EditBinding(("ctrl+k",), "cut to the end of the line", kill_line_end),
    EditBinding(("ctrl+y",), "insert the last cut text", lambda editing: editing.yank(editing.kills.last)),
    EditBinding(("alt+y",), "after ctrl+y: the cut before it", yank_older),
    EditBinding(("ctrl+_", "ctrl+/"), "undo", undo),
    EditBinding(("alt+/", "ctrl+shift+z"), "redo", redo),
)

BY_KEY = {name: binding for binding in BINDINGS for name in binding.keys}
