"""The theme in use and everything that depends on it; changing it repaints the live region, never settled rows.

The built-in palette is there for the first frame; the chosen theme follows once the settings are read, and again when
the terminal tells its background or the theme's file changes. Settled rows wait briefly for all that, because they keep
their colours.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from zot.tui import background
from zot.tui.colour import Depth, depth_of
from zot.tui.image import protocol
from zot.tui.markdown import Painter
from zot.tui.palette import Background
from zot.tui.theme import Theme, built_in

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.themes import Themes

_WATCH_S = 0.5


class Looks:
    """``choose`` applies a stored value (a picker previews with it); ``themes`` is the shelf, once there is one."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.background: Background = background.from_environment()
        self.depth: Depth = depth_of()
        self.value = ""  # the theme in use, as config.json would store it
        self.themes: Themes | None = None
        self.theme: Theme = built_in(self.background, self.depth)
        self.painter = self._painter()
        self._file: Path | None = None
        self._answered = asyncio.Event()

    def _painter(self) -> Painter:
        runtime = self._app.runtime
        allowed = runtime.settings.values.inline_images_enabled if runtime is not None else None
        return Painter.of(self.theme, links=self._app.terminal.hyperlinks, images=protocol(allowed=allowed))

    # --- choosing

    def use(self, theme: Theme) -> None:
        self.theme = theme
        self.painter = self._painter()
        self._app.redraw()

    def choose(self, value: str) -> None:
        """From now on this theme; what is wrong with it is a note."""
        self.value = value
        self._apply()

    def _apply(self) -> None:
        if self.themes is None:
            self.use(built_in(self.background, self.depth))
            return
        loaded = self.themes.load(self.value, self.background, self.depth)
        self._file = loaded.path
        for problem in loaded.problems:
            self._app.notes.add("theme", "warn", problem)
        self.use(loaded.theme)

    def settings_read(self) -> None:
        """The agent is built: its home, settings and extensions say which themes there are."""
        from zot.agent.themes import Themes, wanted

        runtime = self._app.runtime
        if runtime is None:
            return
        host = runtime.extensions
        self.themes = Themes(runtime.home, host.plan().entries if host is not None else ())
        self.choose(wanted(self._app.flags.theme, os.environ, runtime.settings.values.theme))

    # --- the terminal's background

    def replied(self, body: str) -> None:
        """The terminal's answer about its background, early or late."""
        found = background.from_reply(body)
        if found is None:
            return
        self._answered.set()
        if found != self.background:
            self.background = found
            self._apply()

    async def answered(self) -> None:
        """Until the terminal answered, or had time to."""
        try:
            async with asyncio.timeout(background.WAIT_S):
                await self._answered.wait()
        except TimeoutError:
            pass

    # --- the file being edited

    async def watch(self) -> None:
        """Apply the theme's file again when it changed."""
        seen = self._stamp()
        while True:
            await asyncio.sleep(_WATCH_S)
            stamp = self._stamp()
            if stamp != seen and seen[0] == stamp[0]:
                self._apply()
            seen = stamp

    def _stamp(self) -> tuple[Path | None, int, int]:
        try:
            stat = os.stat(self._file) if self._file is not None else None
        except OSError:
            stat = None
        return self._file, stat.st_mtime_ns if stat else 0, stat.st_size if stat else 0
