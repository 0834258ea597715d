"""The list of workers: one row each in start order, details of the selected one below, one key per action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.frontends.terminal.dialogs.picker import Picker
from zot.frontends.terminal.swarm import worker_summary
from zot.frontends.terminal.swarm.workers import AT_WORK, LIVE
from zot.system.visible_text import pluralize
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, window
from zot.tui.width import cells, cut, pad

if TYPE_CHECKING:
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.screen.status import StatusLine
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.frontends.terminal.swarm.workers import WorkerList
    from zot.wire.swarm_frames import WorkerInfo

Verb = Literal["read", "new", "prompt", "resume", "stop", "remove", "merge", "diff"]
_KEYS: dict[str, Verb] = {
    "enter": "read",
    "n": "new",
    "p": "prompt",
    "R": "resume",
    "k": "stop",
    "r": "remove",
    "m": "merge",
    "d": "diff",
}
_HINT = "enter reads · n new · p prompt · d diff · m merge · k kill · R resume · r remove · esc closes"
_SHORT = "⏎ read · n new · p prompt · d diff · m merge · k kill · R resume · r remove"
_LONGEST_NAME, _SHORTEST_NAME = 28, 12
_WIDE = 100  # minimum columns for the tokens
_MOST = 20


class WorkerAction(msgspec.Struct, frozen=True):
    verb: Verb
    worker: str = ""


class _Cells(NamedTuple):
    """A row's texts before painting."""

    info: WorkerInfo
    name: str
    elapsed: str
    cost: str
    tokens: str
    changed: str
    doing: str


class SwarmDashboard(Dialog[WorkerAction]):
    """Ends with the action. Each frame shows the current ``workers``.
    ``status`` is the last result, shown instead of the keys until the next key."""

    def __init__(self, workers: WorkerList, status: StatusLine, selected: str = "") -> None:
        super().__init__()
        self._workers = workers
        self._status = status
        self._selected = selected or self._first()

    def _first(self) -> str:
        """A worker that waits for an answer, else a running one, else the newest."""
        listed = self._workers.listed()
        for statuses in (("waiting",), AT_WORK):
            for info in listed:
                if info.status in statuses:
                    return info.id
        return listed[-1].id if listed else ""

    @property
    def animated(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # time passes while one runs
        return any(info.status in AT_WORK for info in self._workers.listed())

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        listed = self._workers.listed()
        others = len(self._workers.known) - len(listed)
        everyone = self._workers.everyone
        at_work = sum(info.status in ("queued", "running") for info in listed)
        waiting = sum(info.status == "waiting" for info in listed)
        spent = sum(info.usage.cost_usd for info in listed)
        living = sum(info.status in LIVE for info in listed)
        parts = [f"{at_work} of {len(listed)} running" if living else f"{len(listed)} ended"] if listed else []
        parts += [f"{waiting} wait{'s' * (waiting == 1)} for you"] if waiting else []
        parts += [worker_summary.money(spent)] if spent else []
        parts += (
            [f"a: {others} of other conversations"] if others else ["a: only this conversation"] if everyone else []
        )
        self.title = " · ".join(["swarm, all workers" if everyone else "swarm", *parts])
        self.hint = _HINT if cells(_HINT) <= width - 4 else _SHORT
        lines = super().lines(theme, width, height)
        if self._status.text and self.body_at > 1:
            role = "error" if self._status.failed else "tool"
            lines[1] = theme.paint(role, cut(f"  {self._status.text}", width))
        return lines

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        listed = self._workers.listed()
        if not listed:
            return [theme.paint("muted", cut("  no workers yet; start one with n, or /swarm TASK", width))]
        place = self._place(listed)
        info = listed[place]
        facts = worker_summary.facts(info, self._workers.stats.get(info.id), self._workers.rested.get(info.id, 0.0))
        task = cut(f"  › {one_line(info.task[:1000])}", width)
        notes = [cut(f"    note: {one_line('; '.join(info.notes))}", width)] if info.notes else []
        about = ["", theme.paint("fg", task), theme.paint("muted", cut(f"    {facts}", width))]
        about = [*about, *(theme.paint("warning", note) for note in notes)]
        about = about if height > len(about) + 2 else []
        room = max(min(height - len(about), _MOST), 1)
        first, last = window(len(listed), place, room)
        shown = [self._cells(info) for info in listed[first:last]]
        rows = _painted(shown, theme, width, place - first)
        if first > 0 and room > 2:
            rows[0] = theme.paint("muted", cut(f"  ↑ {first + 1} more", width))
        if last < len(listed) and room > 2:
            rows[-1] = theme.paint("muted", cut(f"  ↓ {len(listed) - last + 1} more", width))
        return [*rows, *about]

    def _place(self, listed: Sequence[WorkerInfo]) -> int:
        return next((i for i, info in enumerate(listed) if info.id == self._selected), len(listed) - 1)

    def _cells(self, info: WorkerInfo) -> _Cells:
        workers = self._workers
        return _Cells(
            info,
            one_line(info.name),
            worker_summary.elapsed(info, workers.rested.get(info.id, 0.0)),
            worker_summary.cost(info),
            worker_summary.used(info),
            worker_summary.changed(workers.stats.get(info.id)),
            worker_summary.current_activity(info),
        )

    # --- keys

    def key(self, key: Key) -> bool:
        self._status.clear()
        listed = self._workers.listed()
        steps = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -len(listed), "end": len(listed)}
        if key.name in steps and listed:
            place = min(max(self._place(listed) + steps[key.name], 0), len(listed) - 1)
            self._selected = listed[place].id
        elif key.name == "a":
            self._workers.everyone = not self._workers.everyone
        elif key.name == "q":
            self.finish(None)
        elif (verb := _KEYS.get(key.name)) is not None:
            chosen = listed[self._place(listed)].id if listed else ""
            if chosen or verb == "new":
                self.finish(WorkerAction(verb, chosen))
        else:
            return False
        return True


def _painted(shown: Sequence[_Cells], theme: Theme, width: int, selected: int) -> list[str]:
    """Columns sized to their content; the last takes the rest, those without room are dropped."""
    figures = [[row.elapsed for row in shown], [row.cost for row in shown]]
    if width >= _WIDE:
        figures.append([row.tokens for row in shown])
    changes = [row.changed for row in shown]
    columns = [max(map(cells, column)) for column in figures]
    most = max(_SHORTEST_NAME, min(_LONGEST_NAME, width // 4))
    name = min(max(cells(row.name) for row in shown), most)
    diff = max(map(cells, changes))
    rows: list[str] = []
    for number, row in enumerate(shown):
        texts = [f"{column[number]:>{size}}" for column, size in zip(figures, columns, strict=True) if size]
        texts += [pad(row.changed, diff)] if diff else []
        middle = "  ".join(texts)
        used = 4 + name + 2 + cells(middle) + 2
        doing = cut(row.doing, max(width - used - 1, 0))
        rows.append(_row(theme, row, pad(row.name, name), middle, doing, width, chosen=number == selected))
    return rows


def _row(theme: Theme, row: _Cells, name: str, middle: str, doing: str, width: int, *, chosen: bool) -> str:
    glyph, role = worker_summary.GLYPHS[row.info.status]
    if chosen:
        return theme.selected(cut(f"  {glyph} {name}  {middle}  {doing}", width), width)
    color = {"waiting": "warning", "failed": "error", "lost": "warning"}.get(row.info.status)
    color = color or ("fg" if row.info.status == "running" else "muted")
    painted = f"  {theme.paint(role, glyph)} {theme.paint('fg', name)}  {theme.paint('muted', middle)}"
    return cut(f"{painted}  {theme.paint(color, doing)}", width)


_NAMED = 3


class QuitDialog(Picker):
    """ctrl+c quits at once and leaves workers running."""

    def key(self, key: Key) -> bool:
        if key.name == "ctrl+c":
            self.finish("leave")
            return True
        return super().key(key)


async def confirm_quit(workers: WorkerList, dialogs: Dialogs, ui: ScreenServices, leave: Callable[[], None]) -> None:
    at_work = workers.at_work()
    rows = [
        Choice("leave", "leave them running", "zot swarm list shows them"),
        Choice("stop", "stop all", "they can be resumed"),
    ]
    title = f"{pluralize(len(at_work), 'worker')} {'is' if len(at_work) == 1 else 'are'} running"
    hint = "enter picks · ctrl+c leaves at once · esc stays"
    chosen = await dialogs.ask(QuitDialog(title, rows, hint=hint, filterable=False, above=[_names(at_work)]))
    if chosen == "stop":
        ui.status.ok(f"stopping {pluralize(len(at_work), 'worker')} …")
        await workers.stop_own()
    if chosen is not None:
        leave()


def running_workers_notice(at_work: Sequence[WorkerInfo]) -> str:
    """The line printed after quitting; empty without running workers."""
    if not at_work:
        return ""
    go = "goes" if len(at_work) == 1 else "go"
    return f"{pluralize(len(at_work), 'worker')} {go} on: {_names(at_work)} (zot swarm list, zot swarm attach)"


def _names(at_work: Sequence[WorkerInfo]) -> str:
    names = [one_line(info.name) for info in at_work]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
