"""The editor's environment; the defaults let it work alone."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.editor.extension_completion import CompletionSource
    from zot.frontends.terminal.editor.prompt_history import PromptHistory
    from zot.frontends.terminal.editor.slash_popup import PopupCommand
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.system.jail.jailed_files import JailedFiles


class EditorHost:
    """``changed`` requests a redraw, ``error`` shows a line, ``spawn`` runs background tasks."""

    @property
    def vi_mode(self) -> bool:
        return False

    @property
    def cwd(self) -> Path:
        return Path.cwd()

    def commands(self) -> Sequence[PopupCommand]:
        """Commands for the popup, in order."""
        return ()

    def resources(self) -> Sequence[tuple[str, str]]:
        """What ``@`` may name besides files: the word after it, and a description."""
        return ()

    def history(self) -> PromptHistory:
        """Called once, on first use."""
        from zot.frontends.terminal.editor.prompt_history import PromptHistory

        return PromptHistory()

    def environment(self) -> dict[str, str]:
        """Environment of programs started for the user."""
        return {}

    def jailed_files(self) -> JailedFiles | None:
        """Opens files in a jail."""
        return None

    def changed(self) -> None: ...

    def error(self, text: str) -> None: ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        work.close()
        return None

    def completion(self) -> CompletionSource | None:
        """What extensions complete; None without any."""
        return None

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        """Run a program in the terminal until it exits; returns its exit code. OSError if it cannot start."""
        raise OSError("there is no terminal")


class KeyReader(Protocol):
    """Reads keys for zot, unless a program has the terminal."""

    def attach(self) -> None: ...

    def detach(self) -> None: ...


class TerminalEditorHost(EditorHost):
    """The interactive mode's host. ``agent_arrived`` sets settings and the environment of programs."""

    def __init__(
        self,
        ui: ScreenServices,
        keys: KeyReader,
        commands: Callable[[], Sequence[PopupCommand]],
        directory: Path,
        *,
        keep_history: bool,
    ) -> None:
        self._ui = ui
        self._keys = keys
        self._commands = commands
        self._directory = directory
        self._keep_history = keep_history
        self._vi_mode: Callable[[], bool] = bool
        self._environment: Callable[[], dict[str, str]] = dict[str, str]
        self._beneath: Callable[[], JailedFiles | None] = lambda: None
        self._mentions: Callable[[], Sequence[tuple[str, str]]] = tuple
        self.completed_by_extensions: Callable[[], CompletionSource | None] = lambda: None

    def agent_arrived(self, conversation: Conversation) -> None:
        self._directory = conversation.workspace.cwd
        self._vi_mode = lambda: conversation.settings.values.vi_mode
        self._environment = conversation.workspace.free_environment
        self._beneath = lambda: conversation.workspace.jailed_files
        self._mentions = lambda: conversation.features.mentions(conversation)

    @property
    def vi_mode(self) -> bool:
        return self._vi_mode()

    @property
    def cwd(self) -> Path:
        return self._directory

    def commands(self) -> Sequence[PopupCommand]:
        return self._commands()

    def resources(self) -> Sequence[tuple[str, str]]:
        return self._mentions()

    def history(self) -> PromptHistory:
        from zot.frontends.terminal.editor.prompt_history import PromptHistory, history_file
        from zot.system.files import zot_home

        return PromptHistory(history_file(zot_home(), self._directory) if self._keep_history else None)

    def environment(self) -> dict[str, str]:
        return self._environment()

    def jailed_files(self) -> JailedFiles | None:
        return self._beneath()

    def changed(self) -> None:
        self._ui.redraw()

    def error(self, text: str) -> None:
        self._ui.status.error(text)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        return self._ui.spawn(work)

    def completion(self) -> CompletionSource | None:
        return self.completed_by_extensions()

    async def lend_to_extension(self, extension: str, argv: Sequence[str], run: Callable[[], Awaitable[int]]) -> int:
        """One line names the extension and the command; then ``run`` starts it."""
        from zot.system.visible_text import escape_invisible

        shown = escape_invisible(f"extension {extension} runs: {shlex.join(argv)}")
        return await self._lend(run, announcement=shown)

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        async def run() -> int:
            child = await asyncio.create_subprocess_exec(*argv, cwd=self._directory, env=self.environment() or None)
            return await child.wait()

        return await self._lend(run)

    async def _lend(self, run: Callable[[], Awaitable[int]], *, announcement: str = "") -> int:
        """The program has keyboard and screen; the agent continues and is shown afterwards."""
        if not self._ui.terminal.is_here:
            raise OSError("no program can run in an attached terminal")
        self._keys.detach()
        self._ui.release_terminal()
        try:
            if announcement:
                self._ui.terminal.write(f"{announcement}\r\n")
            return await run()
        finally:
            self._ui.reclaim_terminal()
            self._keys.attach()
