"""The current theme. The built-in palette paints the first frame.
The chosen theme follows when settings are read, the terminal reports its background or the file changes. Settled rows
wait briefly, since they are not repainted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zot.tui.colour import BACKGROUND_WAIT_S, Background, Depth, background_in, background_of, depth_of
from zot.tui.image import protocol
from zot.tui.markdown import Painter
from zot.tui.theme import Theme, built_in

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.screen.notice_area import Notes
    from zot.frontends.themes import ThemeChoice, Themes
    from zot.tui.terminal import Terminal

_WATCH_S = 0.5


class ThemeManager:
    """``choose`` applies a stored value, also for previews. ``asked_for`` is the value of ``--theme``."""

    def __init__(self, terminal: Terminal, redraw: Callable[[], None], notes: Notes, asked_for: str = "") -> None:
        self._terminal = terminal
        self._redraw = redraw
        self._notes = notes
        self._asked_for = asked_for
        self._images: bool | None = None  # config.json's value; None leaves it to the terminal
        self._project: Path | None = None
        self._shelf: Themes | None = None
        self._file: Path | None = None
        self._answered = asyncio.Event()
        self.on_change: Callable[[str, str], None] = lambda name, base: None
        self.background: Background = background_of(terminal.environ)
        self.depth: Depth = depth_of(terminal.environ)
        self.value = ""  # the current theme as stored in config.json
        self.theme: Theme = built_in(self.background, self.depth)
        self.painter = self._painter()

    def _painter(self) -> Painter:
        images = protocol(self._terminal.environ, allowed=self._images)
        return Painter.of(self.theme, links=self._terminal.hyperlinks, images=images, project=self._project)

    # --- choosing

    def use(self, theme: Theme) -> None:
        changed = (theme.name, theme.background) != (self.theme.name, self.theme.background)
        self.theme = theme
        self.painter = self._painter()
        self._redraw()
        if changed:
            self.on_change(theme.name, theme.background)

    def allow_images(self, allowed: bool | None) -> None:
        self._images = allowed
        self.use(self.theme)

    def choose(self, value: str) -> None:
        """Apply this theme; its problems are notes."""
        self.value = value
        self._apply()

    def _apply(self) -> None:
        if self._shelf is None:
            self.use(built_in(self.background, self.depth))
            return
        loaded = self._shelf.load(self.value, self.background, self.depth)
        self._file = loaded.path
        for problem in loaded.problems:
            self._notes.add("theme", "warn", problem)
        self.use(loaded.theme)

    def choices(self) -> Sequence[ThemeChoice]:
        """All themes; empty before the settings are read."""
        return self._shelf.choices() if self._shelf is not None else ()

    def settings_read(self, conversation: Conversation) -> None:
        """Home, settings and extensions define the available themes and the chosen one."""
        from zot.features.lookup import extension_host
        from zot.frontends.themes import Themes, wanted

        extensions, values = extension_host(conversation), conversation.settings.values
        if extensions is None:
            self._shelf = Themes(conversation.home)
        else:
            self._shelf = Themes(conversation.home, extensions.plan().entries, extensions.contributed_themes)
        self._images = values.inline_images_enabled
        self._project = conversation.workspace.cwd
        self.choose(wanted(self._asked_for, os.environ, values.theme))

    # --- the terminal's background

    def replied(self, body: str) -> None:
        """A reply of the terminal about its background or kind."""
        self._terminal.replied(body)
        found = background_in(body)
        if found is None:
            return
        self._answered.set()
        if found != self.background:
            self.background = found
            self._apply()

    async def answered(self) -> None:
        """Wait for the terminal's reply or its timeout."""
        try:
            async with asyncio.timeout(BACKGROUND_WAIT_S):
                await self._answered.wait()
        except TimeoutError:
            pass

    # --- the file being edited

    async def watch(self) -> None:
        """Apply the theme's file again if it changed."""
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
