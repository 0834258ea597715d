"""The stored conversations of this directory, newest first: resume, rename, delete, or look in all directories."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import msgspec

from zot.agent.modes.interactive.dialogs.dialog import Dialog
from zot.core.session.summary import Summary
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets.select_list import Choice, SelectList
from zot.tui.widgets.text_field import TextField
from zot.tui.width import cut

_HINT = "enter resumes · r renames · d deletes · type: filter · tab: {scope} · esc"


class Act(msgspec.Struct, frozen=True):
    """What to do with a session; ``title`` is its new title, or how it is called when it is to be deleted."""

    kind: Literal["open", "rename", "delete", "everywhere"]
    path: str
    title: str = ""


class SessionsList(Dialog[Act]):
    def __init__(self, summaries: Sequence[Summary], current: str, *, everywhere: bool, selected: str = "") -> None:
        super().__init__()
        self._by_path = {summary.path: summary for summary in summaries}
        self.everywhere = everywhere
        self.title = "sessions of all directories" if everywhere else "sessions of this directory"
        self.list = SelectList([_row(s, current, everywhere) for s in summaries], selected=selected)
        self._renaming: TextField | None = None

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        scope = "only here" if self.everywhere else "all places"
        self.hint = _HINT.format(scope=scope) if self._renaming is None else "enter stores the title · esc goes back"
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        if self._renaming is not None:
            line, column = self._renaming.line(theme, max(width - 12, 1))
            self.cursor = (0, column + 10)
            return [f"  {theme.paint('prompt', 'title ›')} {line}"]
        self.cursor = None
        if not self._by_path:
            return [theme.paint("muted", cut("  no sessions yet", width))]
        head = [theme.paint("accent", cut(f"  filter: {self.list.filter}", width))] if self.list.filter else []
        return [*head, *self.list.lines(theme, width, max(height - len(head), 1))]

    def key(self, key: Key) -> bool:
        if self._renaming is not None:
            return self._rename_key(key)
        chosen = self.list.chosen
        if key.name == "tab":
            self.finish(Act("everywhere", ""))
        elif chosen is not None and key.name == "enter":
            self.finish(Act("open", chosen.value))
        elif chosen is not None and not self.list.filter and key.name in ("r", "d"):
            summary = self._by_path[chosen.value]
            if key.name == "r":
                self._renaming = TextField(one_line(summary.title))
            else:
                self.finish(Act("delete", chosen.value, summary.label))
        else:
            return self.list.key(key)
        return True

    def _rename_key(self, key: Key) -> bool:
        assert self._renaming is not None
        if key.name in ("esc", "ctrl+c"):
            self._renaming = None
        elif key.name == "enter":
            chosen, title = self.list.chosen, self._renaming.text.strip()
            self._renaming = None
            if chosen is not None and title:
                self.finish(Act("rename", chosen.value, title))
        else:
            self._renaming.key(key)
        return True


def _row(summary: Summary, current: str, everywhere: bool) -> Choice:
    mark = "● " if summary.path == current else "  "
    label = f"{mark}{age(summary.modified):>10}  {one_line(summary.label)}"
    about, *shorter = _about(summary, everywhere)
    return Choice(summary.path, label, about, shorter=tuple(shorter))


def _about(summary: Summary, everywhere: bool) -> list[str]:
    """All there is to say, then ever less of it: cost goes first, the model or the place last."""
    model = one_line(summary.model)
    full = f"{one_line(summary.provider)}/{model}"
    count = f"{summary.messages} msg{'' if summary.messages == 1 else 's'}"
    cost = f"${summary.cost_usd:.4f}"
    place = one_line(summary.cwd)
    name = place.rstrip("/").rpartition("/")[2] or place
    if everywhere:
        told = [(count, cost, full, place), (count, model, place), (model, place), (model, name), (name,)]
    else:
        told = [(count, cost, full), (count, full), (count, model), (model,)]
    return [" · ".join(parts) for parts in told]


def age(modified: float, now: float | None = None) -> str:
    """``just now``, ``5 min ago``, ``3 h ago``, ``2 d ago``, else the date."""
    seconds = max((time.time() if now is None else now) - modified, 0)
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h ago"
    if seconds < 7 * 86_400:
        return f"{int(seconds // 86_400)} d ago"
    return time.strftime("%Y-%m-%d", time.localtime(modified))
