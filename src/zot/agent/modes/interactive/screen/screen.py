"""What is where: settled rows above, the live region below, at most 30 frames a second for what comes by itself.

The live region is composed of sections, top to bottom. When they are taller than the screen, the live area gives way
first, then the dialog's rows, never the editor. A key does not wait for those frames: it is painted at once, and only
keys that come faster than a person types share a frame.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.tui.alternate import Alternate
from zot.tui.live_region import LiveRegion, Place
from zot.tui.settled import Settled
from zot.tui.terminal import Size, Terminal
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.modes.interactive.dialogs.dialog import Dialog
    from zot.agent.modes.interactive.editor.editor import EditorView

FRAME_S = 1 / 30
KEY_FRAME_S = 0.004  # between frames for keys: too short to feel, long enough for a pasted burst to share them
STEADY_S = 0.05  # after a resize: a window being dragged would get frames made for a width it no longer has
_STEADY_IN_TMUX_S = 0.3  # which tells of a second resize only a quarter of a second after it happened
TICK_S = 0.12
_ROOMY = 6  # rows that hold a status bar beside the editor
_BOTH = 16  # rows that hold a dialog, the status bar and the editor; below, what asks comes before what waits


class Screen:
    def __init__(self, app: App, terminal: Terminal) -> None:
        self._app = app
        self._terminal = terminal
        self._region = LiveRegion(reflows=terminal.reflows)
        self._alternate = Alternate()
        self.settled = Settled()
        self.holding = True  # settled rows wait until the colours are known
        self._scheduled: asyncio.TimerHandle | None = None
        self._last = self._steady_at = 0.0
        self._paused = False
        self._ticking = False

    # --- when

    def invalidate(self) -> None:
        """Paint soon; many calls make one frame."""
        if self._scheduled is None:
            self._paint_after(FRAME_S)

    def key_typed(self) -> None:
        """A person waits for this one: it comes before the frame that was due."""
        self._paint_after(KEY_FRAME_S)

    def resized(self) -> None:
        """The terminal has another size: repaint once it stays that way."""
        pause = _STEADY_IN_TMUX_S if self._terminal.multiplexed else STEADY_S
        self._steady_at = asyncio.get_running_loop().time() + pause
        self._paint_after(0)

    def _paint_after(self, pause: float) -> None:
        """Paint when the last frame is this old: at once after a quiet moment, instead of the frame that was due."""
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        if not self._paused:
            loop = asyncio.get_running_loop()
            delay = max(self._last + pause, self._steady_at) - loop.time()
            self._scheduled = loop.call_later(max(delay, 0), self._due)

    def _due(self) -> None:
        self._scheduled = None
        if self._terminal.congested:  # it is slow: this frame is skipped, the next will show it all
            self._scheduled = asyncio.get_running_loop().call_later(FRAME_S, self._due)
            return
        self.paint()

    def _animate(self) -> None:
        """While something turns, there is a next frame; otherwise the cursor is left to blink and zot to sleep."""
        if self._app.animated and not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._ticking = False
        self.invalidate()

    # --- what

    def paint(self) -> None:
        if self._paused or self._terminal.closed:
            return
        self._last = asyncio.get_running_loop().time()
        self._animate()
        size = self._terminal.size()
        if (dialog := self._app.dialogs.top) is not None and dialog.fullscreen:
            rows = dialog.lines(self._app.theme, size.columns, size.rows)[: size.rows]
            self._terminal.write(self._alternate.frame([cut(row, size.columns) for row in rows], dialog.cursor))
            return
        self._terminal.write(self._alternate.leave())
        self._app.transcript.advance(size.columns)
        settled = [] if self.holding else [self._row(row, size.columns) for row in self.settled.take()]
        live, cursor = self.compose(size)
        self._terminal.write(self._region.frame(settled, live, cursor, size.columns, size.rows))

    def compose(self, size: Size) -> tuple[list[str], Place | None]:
        """The rows of the live region and the place of the cursor."""
        columns, height = size.columns, max(size.rows - 1, 1)
        dialog = self._app.dialogs.top
        view = self._app.editor.view(self._app.theme, columns, max(height // 3, 1))
        foot = [] if dialog is not None and height < _BOTH else self._foot(view, columns, height)
        spaced = bool(foot) and height >= _ROOMY  # a blank row stands above the foot
        sections = self._sections(columns, height - len(foot) - spaced, dialog)
        rows, place = sections.pop(), None
        for section in reversed(sections):
            rows += ["", *section] if rows or self.settled.begun else section
            if dialog is not None and place is None:
                place = self._dialog_cursor(len(rows) - len(section), len(section), dialog)
        if spaced and (rows or self.settled.begun):
            rows.append("")
        rows += foot
        cursor = Place(len(rows) - len(view.lines) + view.row, min(view.column, columns - 1))
        return [self._row(row, columns) for row in rows], place if dialog is not None else cursor

    def _foot(self, view: EditorView, columns: int, height: int) -> list[str]:
        """Status bar and editor; the editor alone where it is tight."""
        bar = [*self._app.status.bar(self._app.theme, columns), ""] if height >= _ROOMY else []
        return [*bar, *view.lines]

    def _sections(self, columns: int, room: int, dialog: Dialog[object] | None) -> list[list[str]]:
        """What stands above the foot, bottom to top, the live area last: each as tall as what is left allows."""
        app, theme = self._app, self._app.theme
        sections: list[list[str]] = []
        room -= self._fit(app.turns.queue_lines(theme, columns), room, sections)
        if dialog is not None:
            shown = dialog.lines(theme, columns, max(room - 1, 3))
        else:
            shown = app.editor.popup(theme, columns, max(room - 1, 1))
        room -= self._fit(shown, room, sections)
        return [*sections, app.live_lines(columns)[-room:] if room > 0 else []]

    def _row(self, row: str, columns: int) -> str:
        return self._app.theme.grounded(cut(row, columns), columns)

    @staticmethod
    def _fit(rows: list[str], room: int, sections: list[list[str]]) -> int:
        """Add a section if there is room for it and its blank row; how many rows it takes."""
        if not rows or room < 2:
            return 0
        kept = rows if len(rows) < room else [*rows[: max(room - 2, 0)], rows[-1]]
        sections.append(kept)
        return len(kept) + 1

    @staticmethod
    def _dialog_cursor(start: int, height: int, dialog: Dialog[object]) -> Place | None:
        """Where a dialog wants the cursor, if what it drew there is on the screen."""
        if dialog.cursor is None or dialog.body_at + dialog.cursor[0] >= height:
            return None
        return Place(start + dialog.body_at + dialog.cursor[0], dialog.cursor[1])

    # --- leaving it to others

    def pause(self) -> None:
        """Somebody else writes to the terminal (an external editor, a suspended zot): take the region away."""
        self._terminal.write(self._alternate.leave() + self._region.erase())
        self._paused = True

    def resume(self) -> None:
        self._region.forget()
        self._paused = False
        self.invalidate()

    def repaint(self) -> None:
        """Write the whole live region again (ctrl+l)."""
        self._terminal.write(self._region.erase())
        self.invalidate()

    def close(self) -> None:
        """Print what is left, take the region away, end on a fresh row under the transcript."""
        self._terminal.write(self._alternate.leave())
        if self._terminal.closed or self._paused:
            return
        self.holding = False
        size = self._terminal.size()
        self._app.transcript.advance(size.columns)
        rows = [self._row(row, size.columns) for row in self.settled.take()]
        self._terminal.write(self._region.frame(rows, [""], None, size.columns, size.rows))
        self._terminal.write(self._region.erase())
