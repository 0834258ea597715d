"""Shared screen services: size, theme, redraw, status line, background tasks.
They are independent of agent, commands and dialogs."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zot.errors import ZotError, describe_error
from zot.system.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from zot.frontends.terminal.screen.screen import Screen
    from zot.frontends.terminal.screen.status import StatusLine
    from zot.frontends.terminal.screen.surfaces import Surfaces
    from zot.frontends.terminal.screen.theme_manager import ThemeManager
    from zot.tui.live_region import SettledBlocks
    from zot.tui.markdown import Painter
    from zot.tui.terminal import Terminal
    from zot.tui.theme import Theme

_LARGEST_LOG = 1_000_000


class ScreenServices:
    """``redraw`` after any change, ``spawn`` for background tasks; ``settled`` are rows to be printed."""

    def __init__(
        self, terminal: Terminal, screen: Screen, looks: ThemeManager, status: StatusLine, tasks: Tasks
    ) -> None:
        self.terminal = terminal
        self.status = status
        self.settled: SettledBlocks = screen.settled
        self.redraw = screen.invalidate
        self.repaint = screen.repaint
        self.spawn = tasks.start
        self.surfaces: Surfaces | None = None  # of extensions, from the first one on
        self._screen = screen
        self._looks = looks

    @property
    def theme(self) -> Theme:
        return self._looks.theme

    @property
    def painter(self) -> Painter:
        return self._looks.painter

    def with_surfaces(self) -> Surfaces:
        """Created with the first one."""
        if self.surfaces is None:
            from zot.frontends.terminal.screen.surfaces import Surfaces  # few extensions draw

            self.surfaces = Surfaces(lambda: self.painter)
        return self.surfaces

    def draw_surface(self, kind: str, extension: str, name: str, value: Any, *, stale: bool) -> None:
        self.with_surfaces().put(kind, extension, name, value, stale=stale)
        self.redraw()

    def remove_surface(self, kind: str, extension: str, name: str) -> None:
        if self.surfaces is not None:
            self.surfaces.remove(kind, extension, name)
            self.redraw()

    @property
    def columns(self) -> int:
        return self.terminal.size().columns

    @property
    def height(self) -> int:
        return self.terminal.size().rows

    # --- other programs in the terminal

    def release_terminal(self) -> None:
        """Another program uses the terminal until ``take_back``."""
        self._screen.pause()
        self.terminal.leave()

    def reclaim_terminal(self) -> None:
        self.terminal.enter()
        self._screen.resume()

    def suspend(self) -> None:
        """Suspend zot; SIGCONT takes the terminal back."""
        if not self.terminal.is_here:
            self.status.error("this screen cannot be suspended: zot runs elsewhere")
            return
        self.release_terminal()
        os.kill(os.getpid(), signal.SIGSTOP)


class Tasks:
    """Background tasks. A ZotError or OSError goes to ``failed``, anything else to ``bug``."""

    def __init__(self, failed: Callable[[str], None], bug: Callable[[str], None]) -> None:
        self._failed = failed
        self._bug = bug
        self._running = BackgroundTasks()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run in the background; it ends with zot at the latest."""
        task = self._running.start(self._guarded(work))
        task.add_done_callback(lambda _: work.close())  # cancelled before its first step, it never began
        return task

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (ZotError, OSError) as error:
            self._failed(describe_error(error))
        except Exception as error:
            self.report_bug(error)

    def report_bug(self, error: BaseException | None, what: str = "") -> None:
        """One line on the screen, the traceback in a file: a bug does not end the conversation."""
        kind = type(error).__name__ if error is not None else what
        self._bug(f"a bug in zot: {kind}: {error or ''} (details: {_write_bug(error, what)})")

    async def end(self) -> None:
        await self._running.aclose()


def _write_bug(error: BaseException | None, what: str) -> Path:
    """Append the traceback to a private file in zot's home; returns its path."""
    import contextlib
    import time
    import traceback

    from zot.system.files import make_private_dir, zot_home
    from zot.system.safe_open import open_to_append

    path = zot_home() / "logs" / "bugs.log"
    lines = traceback.format_exception(error) if error is not None else [f"{what}\n"]
    with contextlib.suppress(OSError):  # not writable: only the line on the screen
        make_private_dir(path.parent)
        with os.fdopen(open_to_append(path), "w", encoding="utf-8", errors="replace") as log:
            if os.fstat(log.fileno()).st_size > _LARGEST_LOG:
                os.ftruncate(log.fileno(), 0)
            log.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')}\n{''.join(lines)}")
    return path
