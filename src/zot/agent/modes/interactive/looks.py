"""The theme in use and everything that depends on it; changing it repaints the live region, never settled rows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.tui import background
from zot.tui.colour import Depth, depth_of
from zot.tui.markdown import Painter
from zot.tui.palette import Background
from zot.tui.theme import Theme, built_in

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


class Looks:
    """``settle_in`` is called once at the start: colours of settled rows wait for the terminal's answer, briefly."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.background: Background = background.from_environment()
        self._depth: Depth = depth_of()
        self.theme: Theme = built_in(self.background, self._depth)
        self.painter = Painter.of(self.theme, links=app.terminal.hyperlinks)
        self._answered = asyncio.Event()

    def use(self, theme: Theme) -> None:
        self.theme = theme
        self.painter = Painter.of(theme, links=self._app.terminal.hyperlinks)
        self._app.redraw()

    def replied(self, body: str) -> None:
        """The terminal's answer about its background, early or late."""
        found = background.from_reply(body)
        if found is None:
            return
        self._answered.set()
        if found != self.background:
            self.background = found
            self.use(built_in(found, self._depth))

    async def settle_in(self) -> None:
        try:
            async with asyncio.timeout(background.WAIT_S):
                await self._answered.wait()
        except TimeoutError:
            pass
        self._app.screen.holding = False
        self._app.redraw()
