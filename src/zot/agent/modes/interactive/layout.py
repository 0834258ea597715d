"""What is where: the conversation on top, then asides, a dialog or popup, what is queued, the status bar, the editor.

When it is all taller than the screen, the live area gives way first, then the dialog's rows, never the editor.
"""

from __future__ import annotations

from zot.agent.modes.interactive.dialogs.dialog import Dialog, Dialogs
from zot.agent.modes.interactive.editor.editor import Editor, EditorView
from zot.agent.modes.interactive.screen.asides import Asides
from zot.agent.modes.interactive.screen.desk import Desk
from zot.agent.modes.interactive.screen.status import Bar
from zot.agent.modes.interactive.screen.transcript import Transcript
from zot.agent.modes.interactive.turns import Speaking
from zot.tui.live_region import Place
from zot.tui.terminal import Size
from zot.tui.width import cut

_ROOMY = 6  # rows that hold a status bar beside the editor
_BOTH = 16  # rows that hold a dialog, the status bar and the editor; below, what asks comes before what waits


class Layout:
    """Implements ``screen.Scene``. ``turns`` and ``bar`` are exchanged when the agent arrives."""

    def __init__(
        self,
        desk: Desk,
        dialogs: Dialogs,
        editor: Editor,
        transcript: Transcript,
        asides: Asides,
        *,
        turns: Speaking,
        bar: Bar,
    ) -> None:
        self._desk = desk
        self._dialogs = dialogs
        self._editor = editor
        self._transcript = transcript
        self._asides = asides
        self.turns = turns
        self.bar = bar

    @property
    def animated(self) -> bool:
        dialog = self._dialogs.top
        return self.turns.busy or self._asides.animated or (dialog is not None and (dialog.animated or dialog.waits))

    def fullscreen(self, size: Size) -> tuple[list[str], tuple[int, int] | None] | None:
        dialog = self._dialogs.top
        if dialog is None or not dialog.fullscreen:
            return None
        rows = dialog.lines(self._desk.theme, size.columns, size.rows)[: size.rows]
        return [cut(row, size.columns) for row in rows], dialog.cursor

    def settle(self, columns: int) -> None:
        self._transcript.advance(columns)

    def row(self, row: str, columns: int) -> str:
        return self._desk.theme.grounded(cut(row, columns), columns)

    # --- the live region

    def compose(self, size: Size) -> tuple[list[str], Place | None]:
        columns, height = size.columns, max(size.rows - 1, 1)
        dialog, begun = self._dialogs.top, self._desk.settled.begun
        view = self._editor.view(self._desk.theme, columns, max(height // 3, 1))
        typing = dialog is None or dialog.waits  # a question that waits leaves the cursor where somebody types
        foot = [] if not typing and height < _BOTH else self._foot(view, columns, height)
        spaced = bool(foot) and height >= _ROOMY  # a blank row stands above the foot
        sections = self._sections(columns, height - len(foot) - spaced, dialog)
        rows, place = sections.pop(), None
        for section in reversed(sections):
            rows += ["", *section] if rows or begun else section
            if dialog is not None and place is None:
                place = _dialog_cursor(len(rows) - len(section), len(section), dialog)
        if spaced and (rows or begun):
            rows.append("")
        rows += foot
        cursor = Place(len(rows) - len(view.lines) + view.row, min(view.column, columns - 1))
        return [self.row(row, columns) for row in rows], cursor if typing else place

    def _foot(self, view: EditorView, columns: int, height: int) -> list[str]:
        """Status row, bar and editor; the editor alone where it is tight."""
        theme = self._desk.theme
        status = self.bar.status(theme, columns) if height >= _ROOMY else []
        bar = [*self.bar.lines(theme, columns), ""] if height >= _ROOMY else []
        return [*status, *bar, *view.lines]

    def _sections(self, columns: int, room: int, dialog: Dialog[object] | None) -> list[list[str]]:
        """What stands above the foot, bottom to top, the live area last: each as tall as what is left allows."""
        theme = self._desk.theme
        sections: list[list[str]] = []
        room -= _fit(self.turns.queue_lines(theme, columns), room, sections)
        if dialog is not None:
            shown = dialog.lines(theme, columns, max(room - 1, 3))
        else:
            shown = self._editor.popup(theme, columns, max(room - 1, 1))
        room -= _fit(shown, room, sections)
        return [*sections, self._live_area(columns)[-room:] if room > 0 else []]

    def _live_area(self, columns: int) -> list[str]:
        """What still changes of the transcript, and the asides; the caller cuts from the top."""
        rows = self._transcript.live_rows(columns)
        quiet = not self._transcript.anything and not self.turns.busy
        for section in self._asides.sections(self._desk.theme, columns, quiet=quiet):
            if section:
                rows += ["", *section] if rows or self._desk.settled.begun else section
        return rows


def _fit(rows: list[str], room: int, sections: list[list[str]]) -> int:
    """Add a section if there is room for it and its blank row; how many rows it takes."""
    if not rows or room < 2:
        return 0
    kept = rows if len(rows) < room else [*rows[: max(room - 2, 0)], rows[-1]]
    sections.append(kept)
    return len(kept) + 1


def _dialog_cursor(start: int, height: int, dialog: Dialog[object]) -> Place | None:
    """Where a dialog wants the cursor, if what it drew there is on the screen."""
    if dialog.cursor is None or dialog.body_at + dialog.cursor[0] >= height:
        return None
    return Place(start + dialog.body_at + dialog.cursor[0], dialog.cursor[1])
