"""Keys of the user's own (``keymap`` in config.json): a chord runs a slash command in the main input, nowhere else.

A chord has a modifier and one key. What leaves or cancels cannot be bound, nor can a bare key; every entry that is not
used is told, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

_MODIFIERS = ("ctrl", "alt", "shift", "super")  # in the order of key names
_OTHER_NAMES = {"control": "ctrl", "option": "alt", "opt": "alt", "meta": "alt", "cmd": "super", "command": "super"}
_OTHER_KEYS = {"return": "enter", "escape": "esc", "pgup": "pageup", "pgdn": "pagedown", "del": "delete"}
_NAMED = {
    *("enter", "tab", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
    *("up", "down", "left", "right", "space", "esc"),
    *(f"f{number}" for number in range(1, 13)),
}
_FIXED = frozenset({"ctrl+c", "ctrl+d", "esc"})


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
