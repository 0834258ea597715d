"""Which key does what: one table for what acts, one for what help shows, and they are the same.

Order of a key: replies of the terminal; the dialog on top; an open popup of the editor; keys of
the user's own; this table; the editor.

Keys of the user's own (``keymap`` in config.json) run a slash command in the main input, nowhere else. A chord has a
modifier and one key. What leaves or cancels cannot be bound, nor can a bare key; an entry that is not used is
reported with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from zot.tui.keys import Key

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App

TWICE_S = 2.0
_MODIFIERS = ("ctrl", "alt", "shift", "super")  # in the order of key names
_OTHER_NAMES = {"control": "ctrl", "option": "alt", "opt": "alt", "meta": "alt", "cmd": "super", "command": "super"}
_OTHER_KEYS = {"return": "enter", "escape": "esc", "pgup": "pageup", "pgdn": "pagedown", "del": "delete"}
_NAMED = {
    *("enter", "tab", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
    *("up", "down", "left", "right", "space", "esc"),
    *(f"f{number}" for number in range(1, 13)),
}
_FIXED = frozenset({"ctrl+c", "ctrl+d", "esc"})


class Binding(msgspec.Struct, frozen=True):
    """``run`` returns False to let the editor have the key."""

    keys: tuple[str, ...]
    help: str
    run: Callable[[App], bool]


class ExitArm:
    """A second ctrl+c within two seconds leaves; any other key disarms."""

    def __init__(self) -> None:
        self._armed = 0.0
        self.hint = ""

    @property
    def armed(self) -> bool:
        return bool(self._armed) and time.monotonic() - self._armed <= TWICE_S

    def arm(self, hint: str) -> None:
        self._armed, self.hint = time.monotonic(), hint

    def disarm(self) -> None:
        self._armed, self.hint = 0.0, ""


def dispatch(app: App, key: Key) -> None:
    """Give a key to whoever it belongs to."""
    if key.name == "reply":
        app.replied(key.text)
        return
    if key.name != "ctrl+c":
        app.exit_arm.disarm()
    app.redraw()
    if app.dialogs.key(key) or app.editor.popup_key(key):
        return
    if command := app.custom_keys.command(key.name):
        app.run_command(command)
        return
    if app.attendants.slot(key.name):
        return
    binding = _BY_KEY.get(key.name)
    if binding is None or not binding.run(app):
        app.editor.key(key)


def _escape(app: App) -> bool:
    if app.editor.escape():
        return True
    if app.help_shown or app.notes:
        app.help_shown = False
        app.notes.clear()
    elif app.turns.busy:
        app.turns.cancel()
    else:
        app.editor.set_aside()
        app.status.clear()
    return True


def _interrupt(app: App) -> bool:
    if app.exit_arm.armed or app.runtime is None:
        app.leave()
    elif app.turns.busy:
        app.exit_arm.arm("ctrl+c again leaves zot; esc cancels the turn")
    else:
        app.turns.give_back()
        app.editor.set_aside()  # in the history, in case it was a habit
        app.editor.clear()
        app.exit_arm.arm("ctrl+c again leaves zot")
    return True


def _end_of_input(app: App) -> bool:
    if not app.editor.empty:
        app.editor.key(Key("delete"))
    elif not app.turns.busy:
        app.leave()
    return True


def _redraw(app: App) -> bool:
    app.screen.repaint()
    return True


def _suspend(app: App) -> bool:
    app.suspend()
    return True


def _steer(app: App) -> bool:
    if app.turns.busy:
        app.editor.steer()
    return True


def _expand(app: App) -> bool:
    app.toggle_expanded()
    return True


def _take_back(app: App) -> bool:
    runtime = app.runtime
    prompt = runtime.agent.inputs.take_back() if runtime is not None else None
    if prompt is not None:
        app.editor.give_back([(prompt.text, prompt.images)])
    return True


BINDINGS: tuple[Binding, ...] = (
    Binding(("esc",), "close a popup, help or notes; cancel the turn; clear the editor", _escape),
    Binding(("ctrl+c",), "clear the editor; twice: leave", _interrupt),
    Binding(("ctrl+d",), "leave when idle and the editor is empty", _end_of_input),
    Binding(("ctrl+s",), "steer: join the running turn with what is typed", _steer),
    Binding(("alt+up",), "take the newest queued prompt back into the editor", _take_back),
    Binding(("ctrl+o",), "show long results in full, and fold them again", _expand),
    Binding(("ctrl+l",), "draw the bottom of the screen again", _redraw),
    Binding(("ctrl+z",), "suspend zot", _suspend),
)

_BY_KEY = {name: binding for binding in BINDINGS for name in binding.keys}


def key_help(app: App) -> list[tuple[str, str]]:
    """Rows for help: the editor's own keys, then these."""
    own = [(", ".join(binding.keys), binding.help) for binding in BINDINGS]
    return [*app.editor.key_help(), *own, *app.custom_keys.help()]


class CustomKeys:
    """``problems`` has a line for each entry that is passed over."""

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        self.problems: list[str] = []
        self._commands: dict[str, str] = {}
        for chord, command in (keymap or {}).items():
            if reason := self._add(chord, command):
                self.problems.append(f"keymap: {chord!r} is not used: {reason}")

    def _add(self, chord: str, command: str) -> str:
        name = normal_name(chord)
        if not name:
            return "a key is ctrl, alt, shift or cmd with one character or a named key"
        if name in _FIXED:
            return "its meaning is fixed"
        if not command.startswith("/") or len(command) < 2:
            return "its value must be a slash command"
        if name in self._commands:
            return "it is there twice"
        self._commands[name] = command
        return ""

    def command(self, key: str) -> str:
        """The command of a key; terminals that cannot tell shift send the key without it."""
        if key in self._commands or not key.startswith("ctrl+"):
            return self._commands.get(key, "")
        return self._commands.get(f"ctrl+shift+{key.removeprefix('ctrl+')}", "")

    def help(self) -> list[tuple[str, str]]:
        return [(name, f"run {command}") for name, command in self._commands.items()]


def normal_name(chord: str) -> str:
    """As ``zot.tui.keys`` names it; empty when it is no chord."""
    words = chord.strip().lower().replace(" ", "").split("+")
    if words[-2:] == ["", ""]:  # the plus key itself
        words[-2:] = ["+"]
    *modifiers, key = words
    found = {_OTHER_NAMES.get(word, word) for word in modifiers}
    key = _OTHER_KEYS.get(key, key)
    if not found <= set(_MODIFIERS) or not (len(key) == 1 or key in _NAMED):
        return ""
    if not found:
        return key if key in _FIXED else ""
    return "+".join([*(word for word in _MODIFIERS if word in found), key])
