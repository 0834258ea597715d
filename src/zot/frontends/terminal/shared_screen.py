"""A further screen of a running conversation: the whole interactive mode, drawn for a terminal elsewhere.
Loaded by name (``frontends/shared_screens.py``), since the front end that holds the conversation is another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from zot.agent.shared_ui import SharedUI
from zot.frontends.terminal.app import App
from zot.frontends.terminal.options import TerminalOptions
from zot.frontends.terminal.turns import Spawn
from zot.tui.remote_terminal import RemoteTerminal
from zot.tui.terminal import Size
from zot.wire.screen_frames import VARIABLES

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.core.events import AgentEvent


class SharedScreen:
    """``send`` gets output, ``typed`` is called for each key of the user. With ``watch`` keys do nothing. ``spawn``
    runs turns, which go on when the screen is closed; ``partial`` are events of a running turn."""

    def __init__(
        self,
        conversation: Conversation,
        surfaces: SharedUI,
        environ: Mapping[str, str],
        size: tuple[int, int],
        send: Callable[[bytes], None],
        typed: Callable[[], None],
        *,
        watch: bool,
        partial: Sequence[AgentEvent],
        spawn: Spawn,
    ) -> None:
        self._partial = partial
        known = {name: value for name, value in environ.items() if name in VARIABLES}
        self._conversation = conversation
        self._terminal = RemoteTerminal(known, Size(*size), send)
        cwd = str(conversation.workspace.cwd)
        keeps = bool(conversation.snapshot.session_file)
        self._app = App(
            TerminalOptions(create_config=_no_config, cwd=cwd, keep_session=keeps), self._terminal, is_guest=True
        )
        self._app.keyboard.on_key = typed
        self._app.keyboard.listens = not watch
        self._app.spawn_turn = spawn
        self._surfaces = surfaces

    async def run(self) -> None:
        """Show the conversation until the user leaves this screen, or the caller cancels."""
        app, leave = self._app, lambda: None
        app.keyboard.attach()
        self._terminal.ask()
        app.screen.paint()
        try:
            await app.looks.answered()
            app.attach_conversation(self._conversation, self._partial)
            leave = self._surfaces.join(app.surface)
            await app.leaving.wait()
        finally:
            leave()
            await app.close()
            self._terminal.leave()
            self._terminal.closed = True

    def type(self, data: bytes) -> None:
        self._terminal.type(data)

    def resize(self, columns: int, rows: int) -> None:
        self._terminal.resize(columns, rows)
        self._app.resized()

    def show_sharing(self, text: str) -> None:
        self._app.show_sharing(text)


def open_screen(
    conversation: Conversation,
    surfaces: SharedUI,
    environ: Mapping[str, str],
    size: tuple[int, int],
    send: Callable[[bytes], None],
    typed: Callable[[], None],
    *,
    watch: bool,
    partial: Sequence[AgentEvent],
    spawn: Spawn,
) -> SharedScreen:
    return SharedScreen(conversation, surfaces, environ, size, send, typed, watch=watch, partial=partial, spawn=spawn)


def _no_config() -> RunConfig:
    raise AssertionError("a guest builds no conversation")
