"""Decides when to paint: keys at once, everything else at most 30 frames a second."""

from __future__ import annotations

import asyncio
from typing import Protocol

from zot.tui.live_region import BEGIN, HIDE_CURSOR, Alternate, FramePosition, LiveRegion, SettledBlocks
from zot.tui.terminal import Size, Terminal

FRAME_S = 1 / 30
KEY_FRAME_S = 0.004  # seconds between frames for keys: imperceptible, but merges a paste
STEADY_S = 0.05  # seconds after a resize, since a window being dragged changes again
_STEADY_IN_TMUX_S = 0.3  # terminals report a second resize only 0.25 s after it happened
TICK_S = 0.12
_REST_S = 1.5  # seconds without a resize until rules may follow the width


class Scene(Protocol):
    """The current content of the screen."""

    @property
    def animated(self) -> bool:
        """True if something is animated, so that another frame follows."""
        ...

    @property
    def busy(self) -> bool:
        """True if rows change by themselves: a resize may then come between two frames."""
        ...

    def fullscreen(self, size: Size, room: int) -> tuple[list[str], tuple[int, int] | None] | None:
        """Rows and cursor of a full-screen view, if any. ``room``: rows of the live region that push nothing out."""
        ...

    def settle(self, columns: int) -> None:
        """Returns rows that can no longer change."""
        ...

    def compose(self, size: Size, *, resting: bool) -> tuple[list[str], FramePosition | None]:
        """Rows of the live region and the cursor, which is drawn unless idle."""
        ...

    def row(self, row: str, columns: int) -> str:
        """A row as written: cut to the width, on the theme's background."""
        ...


class Screen:
    """``scene`` is set once, before the first frame."""

    scene: Scene

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._region = LiveRegion(reflows=terminal.reflows)
        self._alternate = Alternate()
        self.settled = SettledBlocks()
        self.holding = True  # settled rows wait until the colours are known
        self._scheduled: asyncio.TimerHandle | None = None
        self._last = self._steady_at = self._rests_at = 0.0
        self._rest: asyncio.TimerHandle | None = None
        self._paused = False
        self._ticking = False
        self._size: Size | None = None  # noticed last
        self._started = False  # the region knows where it began

    # --- scheduling

    def invalidate(self) -> None:
        """Paint soon; many calls make one frame."""
        if self._scheduled is None:
            self._paint_after(FRAME_S)

    def key_typed(self) -> None:
        """Paint for a key: before the frame that was due."""
        self._paint_after(KEY_FRAME_S)

    def resized(self) -> None:
        """The terminal was resized: repaint once the size is stable."""
        self._region.redraw()
        self._size = self._terminal.size()
        pause = _STEADY_IN_TMUX_S if self._terminal.multiplexed else STEADY_S
        loop = asyncio.get_running_loop()
        self._steady_at, self._rests_at = loop.time() + pause, loop.time() + _REST_S
        if self._rest is not None:
            self._rest.cancel()
        self._rest = loop.call_at(self._rests_at, self.invalidate)
        self._paint_after(0)

    def _paint_after(self, pause: float) -> None:
        """Paint when the last frame is this old, replacing the frame that was due."""
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        if not self._paused:
            loop = asyncio.get_running_loop()
            delay = max(self._last + pause, self._steady_at) - loop.time()
            self._scheduled = loop.call_later(max(delay, 0), self._due)

    def _due(self) -> None:
        self._scheduled = None
        if self._terminal.congested:  # slow terminal: skip this frame; the next shows everything
            self._scheduled = asyncio.get_running_loop().call_later(FRAME_S, self._due)
            return
        if self._size not in (None, self._terminal.size()):  # the signal of the resize comes later
            self.resized()
            return
        self.paint()

    def _tick(self) -> None:
        self._ticking = False
        self.invalidate()

    # --- painting

    def paint(self) -> None:
        if self._paused or self._terminal.closed:
            return
        self._last = asyncio.get_running_loop().time()
        # While animated there is a next frame; otherwise the cursor blinks and zot sleeps.
        if self.scene.animated and not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_later(TICK_S, self._tick)
        size = self._size = self._terminal.size()
        if (full := self.scene.fullscreen(size, self._region.room(*size))) is not None:
            self._terminal.write(self._alternate.frame(*full))
            return
        if leaving := self._alternate.leave():  # in one update with the frame: the main screen has an older one
            self._region.redraw()
        self.scene.settle(size.columns)
        settled = [] if self.holding else self._take_settled(size.columns)
        self._follow_terminal()
        live, cursor = self.scene.compose(size, resting=self._last >= self._rests_at and not self.scene.busy)
        blank = self.scene.row("", size.columns)
        frame = self._region.frame(settled, live, cursor, size.columns, size.rows, blank=blank)
        self._terminal.write(f"{BEGIN}{leaving}{HIDE_CURSOR}{frame.removeprefix(BEGIN)}" if leaving else frame)

    def _follow_terminal(self) -> None:
        """The terminal may tell its kind, and where it began, after the first frames."""
        self._region.reflows, self._region.shifts_cursor = self._terminal.reflows, self._terminal.shifts_cursor
        if self._terminal.first_row and not self._started:
            self._started = True
            self._region.started_at(self._terminal.first_row, self._terminal.size().rows)

    def _take_settled(self, columns: int) -> list[str]:
        return [self.scene.row(row, columns) for row in self.settled.take()]

    def _erased(self) -> str:
        self._follow_terminal()
        return self._region.erase(self._terminal.size().columns)

    # --- other programs

    def pause(self) -> None:
        """Another program writes to the terminal (external editor, suspended zot): remove the region."""
        self._terminal.write(self._alternate.leave() + self._erased())
        self._paused = True

    def resume(self) -> None:
        self._region.forget()
        self._paused = False
        self.invalidate()

    def repaint(self) -> None:
        """Rewrite the whole live region (ctrl+l)."""
        self._terminal.write(self._erased())
        self.invalidate()

    def close(self) -> None:
        """Print the rest, remove the region, end on a new row below the transcript."""
        self._terminal.write(self._alternate.leave())
        if self._terminal.closed or self._paused:
            return
        self.holding = False
        size = self._terminal.size()
        self.scene.settle(size.columns)
        rows = self._take_settled(size.columns)
        self._terminal.write(self._region.frame(rows, [""], None, size.columns, size.rows))
        self._terminal.write(self._erased())
        self._paused = True  # a frame that is due would draw the region again, below what follows
