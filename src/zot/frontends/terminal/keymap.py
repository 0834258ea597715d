"""The table of keys, for dispatch and for help.
Order: replies of the terminal, the top dialog, an open popup, the user's keys (``keymap`` in config.json), model slots,
this table, keys of extensions, the editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from zot.frontends.terminal.dialogs.dialog import Dialogs
from zot.frontends.terminal.editor.editor import Editor
from zot.frontends.terminal.screen.notice_area import NoticeArea
from zot.frontends.terminal.screen.transcript import Transcript
from zot.frontends.terminal.screen.ui_services import ScreenServices
from zot.frontends.terminal.turns import PromptTarget
from zot.tui.keys import ESCAPE_WAIT_S, Key, KeyDecoder
from zot.tui.terminal import Terminal

_MODIFIERS = ("ctrl", "alt", "shift", "super")  # in the order of key names
_OTHER_NAMES = {"control": "ctrl", "option": "alt", "opt": "alt", "meta": "alt", "cmd": "super", "command": "super"}
_OTHER_KEYS = {"return": "enter", "escape": "esc", "pgup": "pageup", "pgdn": "pagedown", "del": "delete"}
_NAMED = {
    *("enter", "tab", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
    *("up", "down", "left", "right", "space", "esc"),
    *(f"f{number}" for number in range(1, 13)),
}
_FIXED = frozenset({"ctrl+c", "ctrl+d", "esc"})


class Keyboard:
    """Decodes the terminal's bytes to keys; a lone escape counts only if nothing follows it."""

    def __init__(self, terminal: Terminal, press: Callable[[Key], None], typed: Callable[[], None]) -> None:
        self._terminal = terminal
        self._press = press
        self._typed = typed
        self._decoder = KeyDecoder()
        self._flush: asyncio.TimerHandle | None = None
        self._taken = b""
        self.reads = 0
        self.on_key: Callable[[], object] = lambda: None  # the user pressed a key
        self.listens = True  # otherwise only replies of the terminal count

    def attach(self) -> None:
        self._terminal.listen(self._read)

    def detach(self) -> None:
        self._terminal.stop_listening()

    def drain_pending_keys(self) -> list[str]:
        """For the loop watchdog: waiting keys by name; they are still dispatched later."""
        data = self._terminal.read()
        self._taken += data
        if data:
            asyncio.get_running_loop().call_soon_threadsafe(self._read)
        decoder = KeyDecoder()
        return [key.name for key in (*decoder.feed(data), *decoder.flush())]

    def _read(self) -> None:
        self.reads += 1
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        taken, self._taken = self._taken, b""
        typed = self._terminal.read()
        self._keys(self._decoder.feed(taken + typed))
        if taken and not typed and self._decoder.waiting == ESCAPE_WAIT_S:
            self._nothing_followed()  # the escape timeout passed
        elif wait := self._decoder.waiting:
            self._flush = asyncio.get_running_loop().call_later(wait, self._nothing_followed)

    def _nothing_followed(self) -> None:
        self._flush = None
        self._keys(self._decoder.flush())

    def _keys(self, keys: list[Key]) -> None:
        for key in keys:
            if key.name != "reply":
                if not self.listens:
                    continue
                self.on_key()
            self._press(key)
        if keys:
            self._typed()


class KeyActions(NamedTuple):
    """Actions of keys outside the editor. ``leave`` asks nothing, ``quit`` may ask.
    ``replied`` gets the terminal's replies."""

    run_command: Callable[[str], None]
    leave: Callable[[], None]
    quit: Callable[[], None]
    replied: Callable[[str], None]


class ExtensionKeys(Protocol):
    def press(self, key: str) -> bool:
        """True if an extension has this key."""
        ...

    def help(self) -> list[tuple[str, str]]: ...


class Keymap:
    """``turns`` is replaced when the agent is built, which also sets ``custom``, ``slots``, ``show_in_full`` and
    ``switch_mode``."""

    def __init__(
        self,
        ui: ScreenServices,
        dialogs: Dialogs,
        editor: Editor,
        asides: NoticeArea,
        transcript: Transcript,
        turns: PromptTarget,
        actions: KeyActions,
    ) -> None:
        self._ui = ui
        self._dialogs = dialogs
        self._editor = editor
        self._asides = asides
        self._transcript = transcript
        self._actions = actions
        self.turns = turns
        self.custom = CustomKeys()
        self.slots: Callable[[], Mapping[str, str]] = dict[str, str]
        self.show_in_full: Callable[[], object] = lambda: None
        self.switch_mode: Callable[[], object] = lambda: None
        self.extensions: ExtensionKeys | None = None  # from their first key on

    def press(self, key: Key) -> None:
        """Dispatch a key."""
        if key.name == "reply":
            self._actions.replied(key.text)
            return
        if key.name != "ctrl+c":
            self._asides.exit_arm.disarm()
        if key.name != "esc":
            self._asides.rewind_arm.disarm()
        self._ui.redraw()
        if self._dialogs.key(key):
            return
        if self._editor.popup_key(key):
            self._dialogs.typed(key)
            return
        if command := self.custom.command(key.name):
            self._actions.run_command(command)
        elif not self._slot(key.name):
            binding = _BY_KEY.get(key.name)
            if binding is not None:
                binding.run(self)
            elif self.extensions is None or not self.extensions.press(key.name):
                self.forward_to_editor(key)

    def forward_to_editor(self, key: Key) -> None:
        """A key for the editor; questions that open by themselves wait."""
        self._editor.key(key)
        self._dialogs.typed(key)

    def help(self) -> list[tuple[str, str]]:
        """Rows for ``/help``: the editor's keys, then these."""
        return [*self._editor.key_help(), *self._own_help()]

    def _own_help(self) -> list[tuple[str, str]]:
        own = [(", ".join(binding.keys), binding.help) for binding in BINDINGS]
        return [*own, *self.custom.help(), *(self.extensions.help() if self.extensions is not None else ())]

    def owner_of(self, key: str) -> str:
        """Who has a key that an extension wants; empty if it is free."""
        if self.custom.command(key):
            return "your keymap"
        digit = key.removeprefix("ctrl+")
        slot = digit != key and digit in "123456789"
        return "zot" if slot or key in _BY_KEY or self._editor.has_key(key) else ""

    def _slot(self, key: str) -> bool:
        """ctrl+1 to ctrl+9 select the model in that slot, never during a turn; true for a filled slot."""
        digit = key.removeprefix("ctrl+")
        if digit == key or digit not in "123456789":
            return False
        model = self.slots().get(digit, "")
        if model and not self.turns.busy:
            self._actions.run_command(f"/model {model}")
        return bool(model)

    # --- the bindings

    def escape(self) -> None:
        if self._editor.escape():
            return
        helping = self._asides.help is not None
        if self._asides.dismiss() and (helping or not self.turns.busy):  # an open note must not prevent cancelling
            return
        if self.turns.busy:
            self.turns.cancel()
        elif self._asides.rewind_arm.armed:
            self._asides.rewind_arm.disarm()
            self._actions.run_command("/rewind")
        else:
            if self._editor.empty and self.turns.ready and self._transcript.anything:
                self._asides.rewind_arm.arm("esc again: go back to an earlier prompt")
            self._editor.set_aside()
            self._ui.status.clear()

    def interrupt(self) -> None:
        exit_arm = self._asides.exit_arm
        if exit_arm.armed or not self.turns.ready:
            self._actions.leave()
        elif self.turns.busy:
            self.turns.cancel()
            exit_arm.arm("ctrl+c again quits zot")
        else:
            self.turns.return_to_editor()
            self._editor.set_aside()  # in the history, in case it was unintended
            self._editor.clear()
            exit_arm.arm("ctrl+c again quits zot")

    def end_of_input(self) -> None:
        if not self._editor.empty:
            self._editor.key(Key("delete"))
        elif not self.turns.busy or not self._ui.terminal.is_here:  # leaving an attached screen stops nothing
            self._actions.quit()

    def steer(self) -> None:
        if self.turns.busy:
            self._editor.steer()

    def take_back(self) -> None:
        self.turns.edit_last_queued()

    def expand(self) -> None:
        """Live calls unfold in place; settled ones are shown in full on the alternate screen."""
        if self._transcript.tools_live:
            self._transcript.fold()
        else:
            self.show_in_full()

    def switch(self) -> None:
        self.switch_mode()

    def repaint(self) -> None:
        self._ui.repaint()

    def suspend(self) -> None:
        self._ui.suspend()

    def show_keys(self) -> None:
        if self._editor.empty and self._editor.modal is None:
            self._ui.spawn(self._show_keys())
        else:
            self.forward_to_editor(Key("?", "?"))

    async def _show_keys(self) -> None:
        from zot.frontends.terminal.dialogs.text_dialogs import KeyList

        await self._dialogs.ask(KeyList([*self._own_help(), *self._editor.key_help()], self.forward_to_editor))


class KeyBinding(msgspec.Struct, frozen=True):
    keys: tuple[str, ...]
    help: str
    run: Callable[[Keymap], None]


BINDINGS: tuple[KeyBinding, ...] = (
    KeyBinding(("esc",), "close, cancel or clear; twice: rewind", Keymap.escape),
    KeyBinding(("ctrl+c",), "cancel or clear; twice: quit", Keymap.interrupt),
    KeyBinding(("ctrl+d",), "quit when idle with an empty editor", Keymap.end_of_input),
    KeyBinding(("ctrl+s",), "steer: send what is typed into the turn", Keymap.steer),
    KeyBinding(("alt+up",), "edit the newest queued prompt", Keymap.take_back),
    KeyBinding(("ctrl+o",), "show long results in full, or fold them", Keymap.expand),
    KeyBinding(("shift+tab",), "switch what runs without approval", Keymap.switch),
    KeyBinding(("ctrl+l",), "redraw the bottom of the screen", Keymap.repaint),
    KeyBinding(("ctrl+z",), "suspend zot", Keymap.suspend),
    KeyBinding(("?",), "show these keys; ? again types it", Keymap.show_keys),
)

_BY_KEY = {name: binding for binding in BINDINGS for name in binding.keys}


# --- the user's keys


class CustomKeys:
    """``problems`` has a line for each skipped entry."""

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        self.problems: list[str] = []
        self._commands: dict[str, str] = {}
        for chord, command in (keymap or {}).items():
            if reason := self._add(chord, command):
                self.problems.append(f"keymap: skipped {chord!r}: {reason}")

    def _add(self, chord: str, command: str) -> str:
        name = normal_name(chord)
        if not name:
            return "expected ctrl, alt, shift or cmd with one character or a named key"
        if name in _FIXED:
            return "this key cannot be changed"
        if not command.startswith("/") or len(command) < 2:
            return "expected a slash command"
        if name in self._commands:
            return "duplicate key"
        self._commands[name] = command
        return ""

    def command(self, key: str) -> str:
        """The command of a key; terminals without shift reporting send the key without it."""
        if key in self._commands or not key.startswith("ctrl+"):
            return self._commands.get(key, "")
        return self._commands.get(f"ctrl+shift+{key.removeprefix('ctrl+')}", "")

    def help(self) -> list[tuple[str, str]]:
        return [(name, f"run {command}") for name, command in self._commands.items()]


def normal_name(chord: str) -> str:
    """The name in ``zot.tui.keys``; empty if it is not a chord."""
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
