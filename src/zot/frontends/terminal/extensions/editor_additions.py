"""What extensions add to the editor: keys, a keymap, decorations, completion. Created with the first of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from zot.features.extensions.completion import CompletionQuery, OnItems, complete, find_triggers
from zot.frontends.terminal.editor.decorations import DecorationActions, Decorations
from zot.frontends.terminal.editor.extension_completion import CompletionSource
from zot.frontends.terminal.editor.modal_keys import KeymapActions, ModalKeys

if TYPE_CHECKING:
    from zot.agent.slash_commands import CommandAnswer
    from zot.features.extensions.host import ExtensionHost
    from zot.frontends.terminal.editor.editor import Editor
    from zot.frontends.terminal.screen.ui_services import ScreenServices

KINDS = frozenset({"key", "keymap", "decoration", "completion"})


class EditorActions(NamedTuple):
    """``host`` finds the host once it runs. ``run_command`` runs a slash command, ``act`` what a key handler answered.
    ``owner_of_key`` says who has a key, empty for a free one."""

    host: Callable[[], ExtensionHost | None]
    run_command: Callable[[str], None]
    act: Callable[[CommandAnswer], None]
    owner_of_key: Callable[[str], str]


class _BoundKey(NamedTuple):
    extension: str
    name: str
    command: str
    description: str


class EditorAdditions:
    def __init__(self, ui: ScreenServices, editor: Editor, actions: EditorActions) -> None:
        self._ui = ui
        self._editor = editor
        self._actions = actions
        self._keys: dict[str, _BoundKey] = {}
        self._keymaps: dict[tuple[str, str], ModalKeys] = {}  # the last one is used
        self.completion = CompletionSource(self._triggers, self._complete)

    # --- contributions

    def put(self, kind: str, extension: str, name: str, value: Any, *, stale: bool) -> str:
        """Returns why it conflicts, or nothing."""
        match kind:
            case "key":
                return self._bind(extension, name, value)
            case "keymap":
                self._keymaps.pop((extension, name), None)
                actions = KeymapActions(self._actions.run_command, partial(self._ask, extension))
                self._keymaps[extension, name] = ModalKeys(self._editor, extension, value, actions)
                self._use_last_keymap()
                self._ui.with_surfaces()  # draws the name of the mode
            case "decoration":
                self._decorations().put(extension, name, value, stale=stale)
            case _:
                pass  # completion: the host knows the triggers
        self._ui.redraw()
        return ""

    def remove(self, kind: str, extension: str, name: str) -> None:
        match kind:
            case "key":
                self._release(extension, name)
            case "keymap":
                self._keymaps.pop((extension, name), None)
                self._use_last_keymap()
            case "decoration":
                self._decorations().remove(extension, name)
            case _:
                pass
        self._ui.redraw()

    def _use_last_keymap(self) -> None:
        self._editor.keymap = next(reversed(self._keymaps.values()), None)

    def _decorations(self) -> Decorations:
        found = self._editor.decorations
        if found is None:
            actions = DecorationActions(lambda: self._ui.painter, self._ui.redraw, self._switched_off)
            found = self._editor.decorations = Decorations(actions)
        return found

    def _switched_off(self, extension: str, name: str) -> None:
        host = self._actions.host()
        child = host.children.find(extension) if host is not None else None
        if child is not None:
            child.fault("slow pattern", f"decoration {name}: its pattern takes too long; it was switched off")

    # --- keys

    def _bind(self, extension: str, name: str, value: Mapping[str, Any]) -> str:
        """All of its keys that are free; a conflict if none is."""
        taken = {key: self._owner_of(key, extension) for key in value["keys"]}
        free = [key for key, owner in taken.items() if not owner]
        if not free:
            return "; ".join(f"{key} belongs to {owner}" for key, owner in taken.items())
        self._release(extension, name)
        bound = _BoundKey(extension, name, value.get("command", ""), value["description"])
        self._keys |= dict.fromkeys(free, bound)
        return ""

    def _release(self, extension: str, name: str) -> None:
        for key in [key for key, bound in self._keys.items() if (bound.extension, bound.name) == (extension, name)]:
            del self._keys[key]

    def _owner_of(self, key: str, extension: str) -> str:
        bound = self._keys.get(key)
        if bound is not None and bound.extension != extension:
            return f"the extension {bound.extension}"
        return self._actions.owner_of_key(key)

    def press(self, key: str) -> bool:
        """True if an extension has this key."""
        bound = self._keys.get(key)
        if bound is None:
            return False
        if bound.command:
            self._actions.run_command(bound.command)
        else:
            self._ask(bound.extension, bound.name)
        return True

    def help(self) -> list[tuple[str, str]]:
        from zot.tui.sanitize import one_line  # only for /help

        return [(key, f"{one_line(bound.description)} [{bound.extension}]") for key, bound in self._keys.items()]

    def _ask(self, extension: str, name: str) -> None:
        """Ask the extension what its key does."""
        if (host := self._actions.host()) is not None:
            self._ui.spawn(self._asked(host, extension, name))

    async def _asked(self, host: ExtensionHost, extension: str, name: str) -> None:
        self._actions.act(await host.press_key(extension, name, self._editor.text))

    # --- completion

    def _triggers(self) -> Mapping[str, int]:
        host = self._actions.host()
        return {} if host is None else find_triggers(host)

    async def _complete(self, query: CompletionQuery, on_items: OnItems) -> None:
        if (host := self._actions.host()) is not None:
            await complete(host, query, on_items)
