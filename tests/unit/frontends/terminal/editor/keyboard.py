"""An editor, and fingers: keys by name, text by character, pastes, all through the real key decoder's names."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from zot.frontends.terminal.editor.editor import Editor, Submitted
from zot.frontends.terminal.editor.editor_host import EditorHost
from zot.frontends.terminal.editor.prompt_history import PromptHistory
from zot.frontends.terminal.editor.slash_popup import PopupCommand
from zot.tui.keys import Key
from zot.tui.theme import built_in
from zot.tui.width import visible

THEME = built_in(depth="none")


class Desk(EditorHost):
    """An editor environment for tests: a directory, commands, a history; it records submissions."""

    def __init__(self, cwd: Path = Path("/nonexistent")) -> None:
        self.directory = cwd
        self.slash: Sequence[PopupCommand] = ()
        self.kept = PromptHistory()
        self.errors: list[str] = []
        self.vi = False
        self.tasks: list[asyncio.Task[None]] = []
        self.programs: list[Sequence[str]] = []

    @property
    def vi_mode(self) -> bool:
        return self.vi

    @property
    def cwd(self) -> Path:
        return self.directory

    def commands(self) -> Sequence[PopupCommand]:
        return self.slash

    def history(self) -> PromptHistory:
        return self.kept

    def error(self, text: str) -> None:
        self.errors.append(text)

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a plain test: nothing runs beside it
            return super().spawn(work)
        task = loop.create_task(work)
        self.tasks.append(task)
        return task

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        self.programs.append(argv)
        child = await asyncio.create_subprocess_exec(*argv)
        return await child.wait()

    async def settle(self) -> None:
        """Until nothing waits any more."""
        while pending := [task for task in self.tasks if not task.done()]:
            await asyncio.gather(*pending)


class Keyboard:
    """``screen`` is the shown text with ``|`` at the cursor; ``sent`` the submitted texts."""

    def __init__(self, ui: Desk | None = None, width: int = 40, height: int = 10) -> None:
        self.ui = ui or Desk()
        self.editor = Editor(self.ui)
        self.sent: list[Submitted] = []
        self.editor.on_submit = self.sent.append
        self.width, self.height = width, height

    def type(self, text: str) -> Keyboard:
        for character in text:
            self.key(Key("space" if character == " " else character, character))
        return self

    def press(self, *names: str) -> Keyboard:
        for name in names:
            self.key(Key(name))
        return self

    def paste(self, text: str) -> Keyboard:
        self.key(Key("paste", text))
        return self

    def key(self, key: Key) -> None:
        """As the keymap does it, after a frame was drawn."""
        self.editor.view(THEME, self.width, self.height)
        if self.editor.popup_key(key):
            return
        if key.name == "esc":
            self.editor.escape()
        else:
            self.editor.key(key)

    @property
    def text(self) -> str:
        return self.editor.text

    @property
    def screen(self) -> list[str]:
        view = self.editor.view(THEME, self.width, self.height)
        return [row[2:] for row in view.lines]

    @property
    def cursor(self) -> tuple[int, int]:
        view = self.editor.view(THEME, self.width, self.height)
        return view.row, view.column

    @property
    def popup(self) -> list[str]:
        return [visible(row).rstrip() for row in self.popup_rows]

    @property
    def popup_rows(self) -> list[str]:
        """As they are written to the terminal."""
        return self.editor.popup(THEME, self.width, 20)

    def send(self) -> str:
        """Presses enter and returns the submitted text."""
        self.press("enter")
        return self.sent[-1].text
