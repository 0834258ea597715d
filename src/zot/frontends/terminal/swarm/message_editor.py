"""Several lines to type for somebody else than the conversation: a worker's task, or more for it to do.

It is the prompt's editor, with its keys, ``@`` for files, and vi mode where that is on; what is typed here is nobody's
slash command and not in the history of prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.frontends.terminal.editor.editor import Editor, Submitted
from zot.frontends.terminal.editor.editor_host import Surroundings
from zot.tui.keys import Key
from zot.tui.theme import Theme

if TYPE_CHECKING:
    from zot.system.jail.jailed_files import Beneath

_MOST = 12
HINT = "enter sends · alt+enter or \\ new line · @ picks a file · esc closes"


class Beside(Surroundings):
    """The surroundings of another editor than the prompt's."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    @property
    def vi_mode(self) -> bool:
        return self._around.vi_mode

    @property
    def cwd(self) -> Path:
        return self._around.cwd

    def environment(self) -> dict[str, str]:
        return self._around.environment()

    def beneath(self) -> Beneath | None:
        return self._around.beneath()

    def changed(self) -> None:
        self._around.changed()

    def error(self, text: str) -> None:
        self._around.error(text)

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        return self._around.spawn(work)

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        return await self._around.lend_terminal(argv)


def editor_beside(around: Surroundings, on_submit: Callable[[Submitted], None]) -> Editor:
    editor = Editor(Beside(around))
    editor.on_submit = on_submit
    return editor


class Composer(Dialog[Submitted]):
    """Ends with what was typed."""

    hint = HINT

    def __init__(self, title: str, around: Surroundings, placeholder: str, text: str = "") -> None:
        super().__init__()
        self.title = title
        self._placeholder = placeholder
        self._editor = editor_beside(around, self.finish)
        if text:
            self._editor.insert(text)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        popup = self._editor.popup(theme, width, max(height // 2, 1))
        room = max(min(height - len(popup), _MOST), 1)
        view = self._editor.view(theme, width, room, placeholder=self._placeholder)
        self.cursor = (len(popup) + view.row, min(view.column, width - 1))
        return [*popup, *view.lines]

    def key(self, key: Key) -> bool:
        if self._editor.popup_key(key):
            return True
        if key.name == "esc":
            return self._editor.escape()
        return key.name != "ctrl+c" and (self._editor.key(key) or True)
