"""A keymap of an extension: modes and actions as data, which zot runs. No key waits for the extension."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from zot.frontends.terminal.editor.edit_keys import kill_word_right, redo, undo
from zot.tui import text_motions as to
from zot.tui.text_buffer import Position
from zot.wire.lines import Line, to_line

if TYPE_CHECKING:
    from zot.frontends.terminal.editor.editor import Editor
    from zot.tui.keys import Key

_ESC_AGAIN_S = 0.5  # a second esc is zot's: it cancels the turn


class KeymapActions(NamedTuple):
    """``run_command`` runs a slash command, ``ask`` asks the extension by name."""

    run_command: Callable[[str], None]
    ask: Callable[[str], None]


class ModalKeys:
    """``value`` was checked by the host."""

    def __init__(self, editor: Editor, extension: str, value: dict[str, Any], actions: KeymapActions) -> None:
        self.extension = extension
        self._editor = editor
        self._modes: dict[str, dict[str, Any]] = value["modes"]
        self._actions = actions
        self._escaped = 0.0
        self.mode: str = value["start"]

    @property
    def label(self) -> Line:
        return to_line(self._modes[self.mode].get("label"))

    @property
    def inserts(self) -> bool:
        """True if letters are inserted in this mode."""
        return self._modes[self.mode]["printable"] == "insert"

    def key(self, key: Key) -> bool:
        """True if the key was used."""
        self._escaped = 0.0
        keys = self._modes[self.mode]["keys"]
        action = keys.get(key.name) or (keys.get(key.text) if key.printable else None)
        if action is None:
            return key.printable and not self.inserts
        return self._run(action, key.name)

    def escape(self) -> bool:
        """esc has an action here. Pressed twice it is zot's, so that a turn can always be cancelled."""
        action = self._modes[self.mode]["keys"].get("esc")
        again = time.monotonic() - self._escaped < _ESC_AGAIN_S
        if action is None or again or action == {"mode": self.mode}:
            return False
        self._escaped = time.monotonic()
        return self._run(action, "esc")

    def _run(self, action: Any, key: str) -> bool:
        """False for ``pass``."""
        editor = self._editor
        if isinstance(action, str):
            if action == "pass":
                return False
            self._do(action, key)
            return True
        (kind, value), *_ = cast("dict[str, Any]", action).items()
        match kind:
            case "mode":
                self.mode = value
            case "command":
                self._actions.run_command(value)
            case "ask":
                self._actions.ask(value)
            case _:
                for step in value:
                    self._run(step, key)
        editor.around.changed()
        return True

    def _do(self, action: str, key: str) -> None:
        editor = self._editor
        if action == "submit":
            if key == "enter" or not editor.foreign:  # a draft with text of an extension is sent with enter alone
                editor.enter()
        elif action in ("up", "down"):
            editor.vertical(up=action == "up")
        elif (motion := _MOTIONS.get(action)) is not None:
            editor.editing.other_key()
            editor.editing.go(motion)
        else:
            _EDITS[action](editor)


def _delete_line(editor: Editor) -> None:
    """The whole line with its end; yank puts it back."""
    buffer, line = editor.buffer, editor.buffer.cursor.line
    last = line + 1 >= len(buffer.lines)
    end = Position(line, len(buffer.line)) if last else Position(line + 1, 0)
    start = Position(line, 0) if not (last and line) else Position(line - 1, len(buffer.lines[line - 1]))
    editor.editing.kills.cut(buffer.units(start, end), before=False)
    buffer.replace(start, end, ())


_MOTIONS = {
    **{"left": to.left, "right": to.right, "word_left": to.word_left, "word_right": to.word_right},
    **{"line_start": to.line_start, "line_end": to.line_end, "text_start": to.text_start, "text_end": to.text_end},
}
_EDITS: dict[str, Callable[[Editor], None]] = {
    "delete": lambda editor: editor.editing.delete(to.right),
    "backspace": lambda editor: editor.editing.delete(to.left),
    "delete_word": lambda editor: kill_word_right(editor.editing),
    "delete_line": _delete_line,
    "undo": lambda editor: undo(editor.editing),
    "redo": lambda editor: redo(editor.editing),
    "newline": lambda editor: editor.newline(),
}
