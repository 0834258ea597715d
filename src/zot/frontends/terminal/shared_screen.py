"""A further screen of a running conversation: the whole interactive mode, drawn for a terminal elsewhere.
Loaded by name (``frontends/shared_screens.py``), since the front end that holds the conversation is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.shared_ui import SharedUI
from zot.frontends.terminal.app import App
from zot.frontends.terminal.options import TerminalOptions
from zot.tui.remote_terminal import RemoteTerminal
from zot.tui.terminal import Size
from zot.wire.screen_frames import VARIABLES

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.frontends.shared_screens import ScreenSetup


class SharedScreen:
    """One terminal elsewhere."""

    def __init__(self, conversation: Conversation, surfaces: SharedUI, setup: ScreenSetup) -> None:
        known = {name: value for name, value in setup.environ.items() if name in VARIABLES}
        self._conversation = conversation
        self._surfaces = surfaces
        self._partial = setup.partial
        self._terminal = RemoteTerminal(known, Size(*setup.size), setup.send)
        cwd, keeps = str(conversation.workspace.cwd), bool(conversation.snapshot.session_file)
        options = TerminalOptions(create_config=_no_config, cwd=cwd, keep_session=keeps)
        self._app = App(options, self._terminal, is_guest=True)
        self._app.keyboard.on_key = setup.typed
        self._app.keyboard.listens = not setup.watch
        self._app.spawn_turn = setup.spawn

    async def run(self) -> None:
        """Show the conversation until the user leaves this screen, or the caller cancels."""
        app, leave = self._app, lambda: None
        app.keyboard.attach()
        self._terminal.ask()
        app.screen.paint()
        try:
            await app.looks.answered()
            app.attach_conversation(self._conversation, self._partial())  # events may have come while it waited
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


def _no_config() -> RunConfig:
    raise AssertionError("a guest builds no conversation")
