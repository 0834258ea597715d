"""What runs in the background: enter shows its output, ctrl+x stops it; letters search."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from zot.agent.tools.background_jobs import Job
from zot.agent.tools.bash import duration
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList

_KEYS = "enter shows its output · ctrl+x stops it · type to filter · esc closes"
_MOST = 14


class Act(msgspec.Struct, frozen=True):
    number: int
    stop: bool = False


class JobsList(Dialog[Act]):
    title = "in the background"
    hint = _KEYS

    def __init__(self, jobs: Sequence[Job], selected: int = 0) -> None:
        super().__init__()
        names = [(str(job.number), one_line(job.command), duration(job.seconds)) for job in jobs]
        rows = [Choice(number, f"{number}  {command}", age) for number, command, age in names]
        self.list = SelectList(rows, filterable=True, selected=str(selected))

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        return self.list.lines(theme, width, max(min(height, _MOST), 1))

    def key(self, key: Key) -> bool:
        if key.name in ("enter", "ctrl+x"):
            if (chosen := self.list.chosen) is not None:
                self.finish(Act(int(chosen.value), key.name == "ctrl+x"))
            return True
        return self.list.key(key)
