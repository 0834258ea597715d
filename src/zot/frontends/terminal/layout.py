"""Places the rows of a frame: conversation, notices, dialog, queue, activity, editor, status bar.
If there is no room, the live area shrinks first, then the dialog, never the editor. Rows that a narrower window would
push out of the screen cannot be repainted, so the region leaves room for them to wrap."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zot.frontends.terminal.dialogs.dialog import NORMAL, Dialog, Dialogs
from zot.frontends.terminal.editor.editor import Editor, EditorView
from zot.frontends.terminal.screen.notice_area import NoticeArea
from zot.frontends.terminal.screen.status import Bar
from zot.frontends.terminal.screen.tool_view import LIVE_OUTPUT_ROWS
from zot.frontends.terminal.screen.transcript import Transcript
from zot.frontends.terminal.screen.ui_services import ScreenServices
from zot.frontends.terminal.turns import PromptTarget
from zot.tui.live_region import FramePosition, broken, narrower
from zot.tui.terminal import Size
from zot.tui.width import cut, with_cursor

if TYPE_CHECKING:
    from zot.core.events import Todo
    from zot.frontends.terminal.extensions.panels import Panels
    from zot.frontends.terminal.screen.todo_rows import TodoRows

# The empty editor's placeholder; a hint disappears once the user has followed it.

_ASK = "ask anything"
_MENTIONED = r"(?<!\S)@[\w.\"/~]"
_IDLE = {"/": "/ for commands", "@": "@ for files", "!": "! for the shell"}
_BUSY = {"queue": "enter queues", "steer": "ctrl+s steers"}


class Placeholder:
    def __init__(self) -> None:
        self._used: set[str] = set()

    def text(self, *, busy: bool) -> str:
        """The current placeholder; may be empty."""
        hints = [hint for name, hint in (_BUSY if busy else _IDLE).items() if name not in self._used]
        return " · ".join(hints if busy else [_ASK, *hints])

    def submitted(self, text: str, *, files: bool, busy: bool) -> None:
        """A prompt was sent; ``files``: a file was picked for it."""
        self._on_submit(text)
        if files:
            self._used.add("@")
        if busy:
            self._used.add("queue")

    def steered(self) -> None:
        self._used.add("steer")

    def remember(self, earlier: Iterable[str], roots: Sequence[str]) -> None:
        """Earlier prompts; a path below one of these directories counts as a picked file."""
        for text in earlier:
            self._on_submit(text)
            if re.search(_MENTIONED, text) or any(f"{root}/" in text for root in roots):
                self._used.add("@")

    def _on_submit(self, text: str) -> None:
        if text[:1] in ("/", "!"):
            self._used.add(text[0])


_ROOMY = 6  # minimum rows for a status bar beside the editor
_RULED = 10  # minimum rows for the rules
_BOTH = 16  # minimum rows for dialog, status bar and editor; below, a question has priority
_PUSHED = 6  # rows of the transcript that a popup or dialog may push out of the screen
_GROW_S = 0.5  # seconds after the last change of its width in which rules do not follow a wider window


class Layout:
    """Implements ``screen.Scene``. ``turns`` and ``bar`` are replaced when the agent is built."""

    def __init__(
        self,
        ui: ScreenServices,
        dialogs: Dialogs,
        editor: Editor,
        transcript: Transcript,
        asides: NoticeArea,
        hints: Placeholder,
        *,
        turns: PromptTarget,
        bar: Bar,
    ) -> None:
        self._ui = ui
        self._dialogs = dialogs
        self._editor = editor
        self._transcript = transcript
        self._asides = asides
        self._hints = hints
        self.turns = turns
        self.bar = bar
        self._ruled, self._resized_at, self._columns = 0, 0.0, 0
        self._was_busy = False
        self._blocks: dict[str, list[str]] = {}
        self._bar_rows = self._typing_rows = 0  # of the status bar in the last frame; of the editor, popup and it
        self._asked: list[str] | None = None  # the section of the dialog
        self._is_raised = False  # a dialog or popup is drawn over the transcript
        self.panels: Panels | None = None  # of extensions, from the first one on
        self.todos: TodoRows | None = None  # the model's list of steps, from the first one on
        asides.on_begin = self._settle_header
        asides.hides_welcome = lambda: ui.surfaces is not None and ui.surfaces.replaces_welcome

    def show_todos(self, items: Sequence[Todo]) -> None:
        if self.todos is None:
            from zot.frontends.terminal.screen.todo_rows import TodoRows  # many conversations have no list

            self.todos = TodoRows()
        self.todos.items = items

    @property
    def animated(self) -> bool:
        dialog = self._dialogs.top
        return self.turns.busy or self._asides.animated or (dialog is not None and (dialog.animated or dialog.waits))

    @property
    def busy(self) -> bool:
        return self.turns.busy

    def fullscreen(self, size: Size, room: int) -> tuple[list[str], tuple[int, int] | None] | None:
        dialog = self._dialogs.top
        if dialog is None or not dialog.fullscreen:
            return self._overlaid(size) or self._raised(size, room, dialog)
        rows = dialog.lines(self._ui.theme, size.columns, size.rows)[: size.rows]
        return [cut(row, size.columns) for row in rows], dialog.cursor

    def _overlaid(self, size: Size) -> tuple[list[str], tuple[int, int] | None] | None:
        """The screen with panels of extensions over it. Never over the status bar, which names the permission mode, and
        only the one that has the focus over the editor."""
        if self.panels is None or not self.panels.cover or size.rows < _RULED:
            return None
        base, _ = self._whole_screen(size)
        return self.panels.over(base, size.columns, self._typing_rows, max(self._bar_rows, 1))

    def _raised(
        self, size: Size, room: int, dialog: Dialog[object] | None
    ) -> tuple[list[str], tuple[int, int] | None] | None:
        """The screen with a popup, or a dialog that the user opened, if it would push the transcript out of the screen:
        so the transcript is back when it closes."""
        by_user = not (dialog.unasked or dialog.rank != NORMAL) if dialog is not None else self._editor.has_popup
        if not by_user:
            self._is_raised = False
            return None
        rows, height = self._whole_screen(size)
        self._is_raised = self._is_raised or height > room + _PUSHED
        return (rows, None) if self._is_raised else None

    def _whole_screen(self, size: Size) -> tuple[list[str], int]:
        """The rows of the screen with the newest of the transcript, and how many of them are the live region."""
        self.settle(size.columns)
        live, _ = self.compose(size, resting=False)
        above = [self.row(row, size.columns) for row in self._ui.settled.last(max(size.rows - len(live), 0))]
        return [""] * (size.rows - len(above) - len(live)) + above + live[-size.rows :], len(live)

    def _is_over(self, dialog: Dialog[object]) -> bool:
        """True for an overlay, which on a low screen is drawn as any panel."""
        return dialog.overlaid and self._ui.height >= _RULED

    def settle(self, columns: int) -> None:
        self._transcript.advance(columns)

    def row(self, row: str, columns: int) -> str:
        return self._ui.theme.grounded(cut(row, columns), columns)

    # --- the live region

    def compose(self, size: Size, *, resting: bool) -> tuple[list[str], FramePosition | None]:
        columns, height = size.columns, max(size.rows - 1, 1)
        dialog, begun = self._dialogs.top, self._ui.settled.begun
        typing = dialog is None or dialog.waits  # a waiting question leaves the cursor in the editor
        hint = self._hints.text(busy=self.turns.busy) if typing else ""
        view = self._editor.view(self._ui.theme, columns, max(height // 3, 1), placeholder=hint)
        hidden = not typing and height < _BOTH
        self._blocks = self._surface_blocks(columns, size.rows)
        foot, editor_at = ([], 0) if hidden else self._foot(view, columns, height, ruled=typing)
        spaced = bool(foot) and height >= _ROOMY  # a blank row above the foot
        sections, room = self._sections(columns, height - len(foot) - spaced, dialog)
        rows, place = self._live_area(size, room, [foot, *sections]), None
        for section in reversed(sections):
            rows += ["", *section] if rows or begun else section
            if dialog is not None and dialog.cursor is not None and section is self._asked:
                at = dialog.body_at + dialog.cursor[0]
                if at < len(section):
                    place = FramePosition(len(rows) - len(section) + at, dialog.cursor[1])
        if spaced and (rows or begun):
            rows.append("")
        if typing:
            place = FramePosition(len(rows) + editor_at + view.row, min(view.column, columns - 1))
        rows += foot
        self._typing_rows += len(foot)
        cursor = place
        if cursor is not None and not resting:
            rows[cursor.row] = with_cursor(rows[cursor.row], cursor.column)
            cursor = None
        return [self.row(row, size.columns) for row in rows], cursor

    def _foot(self, view: EditorView, columns: int, height: int, *, ruled: bool) -> tuple[list[str], int]:
        """Activity, editor between its rules, status bar, and the editor's position; only the editor if tight."""
        theme, extra = self._ui.theme, self._ui.surfaces
        if height < _ROOMY:
            return view.lines, 0
        cells_of_rule = self._rule_cells(columns)
        above, below = self.bar.status(theme, columns), self.bar.lines(theme, cells_of_rule)
        blocks = self._blocks
        if extra is not None:
            below = extra.bar(below, self.bar.essentials(theme), blocks.get("footer", []), cells_of_rule)
        self._bar_rows = len(below)
        todos = self.todos.rows(theme, columns, height) if self.todos is not None else []
        above, below = [*above, *todos, *blocks.get("above", [])], [*blocks.get("below", []), *below]
        if ruled and height >= _RULED:  # a question has its own rules
            plain = theme.paint("border", "─" * cells_of_rule)
            mode = self._editor.mode_label
            top, bottom = extra.rules(cells_of_rule, mode) if extra is not None else (plain, plain)
            above, below = [*above, top], [bottom, *below]
        return [*above, *view.lines, *below], len(above)

    def _surface_blocks(self, columns: int, height: int) -> dict[str, list[str]]:
        """Rows of extensions around the editor; none if there is little room."""
        extra = self._ui.surfaces
        if extra is None or height < _RULED:
            return {}
        return extra.blocks(columns, height, quiet=not self._transcript.anything and not self.turns.busy)

    def _settle_header(self) -> None:
        """A conversation begins: the header of an extension stays above it."""
        extra = self._ui.surfaces
        if extra is not None and not self._transcript.anything and (rows := extra.header(self._ui.columns)):
            self._ui.settled.add(rows)

    # --- narrower windows

    def _rule_cells(self, columns: int) -> int:
        """The length of rules: the window's width, at most its width shortly before."""
        began = self.turns.busy and not self._was_busy
        self._was_busy = self.turns.busy
        now = time.monotonic()
        if columns != self._columns:
            self._columns, self._resized_at = columns, now
            if not began:
                asyncio.get_running_loop().call_later(_GROW_S + 0.05, self._ui.redraw)
        settled = began or now - self._resized_at > _GROW_S or not self._ui.terminal.reflows
        self._ruled = columns if settled or not self._ruled else min(self._ruled, columns)
        return self._ruled

    def _live_area(self, size: Size, room: int, others: list[list[str]]) -> list[str]:
        """What of the live area stays visible when a narrower window wraps all these rows: calls show less output, then
        it loses its beginning."""
        if room <= 0:
            return []
        if not self._ui.terminal.reflows:
            return self._live_rows(size.columns)[-room:]
        narrow = narrower(size.columns)
        left = size.rows - 2 - sum(broken(row, narrow) for section in others for row in section)
        output = LIVE_OUTPUT_ROWS
        while True:
            live = self._live_rows(size.columns, output)[-room:]
            taken = sum(broken(row, narrow) for row in live)
            if taken <= left or output == 1 or not self._transcript.has_calls:
                break
            output -= 1
        while live and taken > left:
            taken -= broken(live.pop(0), narrow)
        return live

    def _sections(self, columns: int, room: int, dialog: Dialog[object] | None) -> tuple[list[list[str]], int]:
        """Sections between live area and foot, bottom to top, each as tall as fits, and the rows that are left."""
        theme = self._ui.theme
        sections: list[list[str]] = []
        room -= _fit(self.turns.queue_lines(theme, columns), room, sections)
        if dialog is None or self._is_over(dialog):
            shown = self._editor.popup(theme, columns, max(room - 1, 1))
        else:
            shown = dialog.lines(theme, columns, max(room - 1, 3))
        taken = _fit(shown, room, sections)
        self._typing_rows = taken
        self._asked = sections[-1] if taken and dialog is not None and not self._is_over(dialog) else None
        room -= taken
        for block in self.panels.beside(theme, columns, self._ui.height) if self.panels is not None else ():
            room -= _fit(block, room, sections)
        return sections, room

    def _live_rows(self, columns: int, output: int = LIVE_OUTPUT_ROWS) -> list[str]:
        """The live part of the transcript, with so many rows of a call's output, and the notices."""
        rows = self._transcript.live_rows(columns, output)
        quiet = not self._transcript.anything and not self.turns.busy
        header = self._blocks.get("header", [])
        for section in (header, *self._asides.sections(self._ui.theme, columns, quiet=quiet)):
            if section:
                rows += ["", *section] if rows or self._ui.settled.begun else section
        return rows


def _fit(rows: list[str], room: int, sections: list[list[str]]) -> int:
    """Add a section if it fits with its blank row; returns its height."""
    if not rows or room < 2:
        return 0
    kept = rows if len(rows) < room else [*rows[: max(room - 2, 0)], rows[-1]]
    sections.append(kept)
    return len(kept) + 1
