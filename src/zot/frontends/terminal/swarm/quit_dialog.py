"""Leaving zot while workers are at work: they go on unless somebody says otherwise, and whoever leaves is told so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zot.frontends.terminal.dialogs.picker import Picker
from zot.system.plural import counted
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice

if TYPE_CHECKING:
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.frontends.terminal.swarm.workers import Workers
    from zot.wire.swarm_frames import WorkerInfo

_NAMED = 3


class Parting(Picker):
    """ctrl+c is for those in a hurry: it leaves at once, and leaves them at work."""

    def key(self, key: Key) -> bool:
        if key.name == "ctrl+c":
            self.finish("leave")
            return True
        return super().key(key)


async def part(workers: Workers, dialogs: Dialogs, desk: ScreenServices, leave: Callable[[], None]) -> None:
    at_work = workers.at_work()
    rows = [
        Choice("leave", "leave them at work", "zot swarm list shows them"),
        Choice("stop", "stop all of them", "they can be continued"),
    ]
    title = f"{counted(len(at_work), 'worker')} {'is' if len(at_work) == 1 else 'are'} at work"
    hint = "enter picks · ctrl+c leaves at once · esc stays"
    chosen = await dialogs.ask(Parting(title, rows, hint=hint, filterable=False, above=[_names(at_work)]))
    if chosen == "stop":
        desk.status.ok(f"stopping {counted(len(at_work), 'worker')} …")
        await workers.stop_own()
    if chosen is not None:
        leave()


def left_at_work(at_work: Sequence[WorkerInfo]) -> str:
    """The line for whoever has left; empty when nobody is at work."""
    if not at_work:
        return ""
    go = "goes" if len(at_work) == 1 else "go"
    return f"{counted(len(at_work), 'worker')} {go} on: {_names(at_work)} (zot swarm list, zot swarm attach)"


def _names(at_work: Sequence[WorkerInfo]) -> str:
    names = [one_line(info.name) for info in at_work]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
