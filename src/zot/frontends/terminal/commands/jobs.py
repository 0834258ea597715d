"""``/jobs`` with a dialog: shows and stops background commands, started by ``!npm run dev &`` or by the agent. Other
front ends show the list of ``features/jobs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from zot.agent.tools.background_jobs import Job
from zot.errors import UsageError, ZotError
from zot.features.jobs.listing import state_of
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList

if TYPE_CHECKING:
    from pathlib import Path

_LOOKED_AT = 200_000  # bytes at the end of the output
_REFRESH_S = 0.5
_NONE = "no background commands; start one with !command &"


async def run(context: CommandContext, arguments: str) -> None:
    """``stop N`` and ``stop all`` open no list, ``N`` the output of one job."""
    if (named := arguments.strip()).isdecimal():
        known = context.conversation.workspace.jobs.known()
        job = next((job for job in known if str(job.number) == named), None)
        if job is None:
            raise ZotError(f"no job {named}; see /jobs" if known else _NONE)
        await _show(context, job)
        return
    if arguments:
        verb, _, which = arguments.partition(" ")
        if verb.lower() not in ("stop", "kill") or not (which.strip() == "all" or which.strip().isdecimal()):
            raise UsageError("/jobs: expected nothing, N, stop N or stop all")
        living = context.conversation.workspace.jobs.living()
        chosen = [job for job in living if which.strip() in ("all", str(job.number))]
        if not chosen:
            raise ZotError(f"no job {which.strip()}; see /jobs" if living else _NONE)
        await _stop(context, chosen)
        return

    number = 0
    jobs = context.conversation.workspace.jobs
    while known := jobs.known():
        act = await context.dialogs.ask(JobsList(known, selected=number))
        if act is None:
            return
        number = act.number
        job = next((job for job in known if job.number == number), None)
        if job is not None and not act.stop:
            await _show(context, job)
        elif job is not None and job in jobs.living():
            await _stop(context, [job])
    if not context.status.text:
        context.status.ok(_NONE)


def complete(context: CommandContext, typed: str) -> list[Choice]:
    from zot.tui.widgets import Choice

    living = context.conversation.workspace.jobs.living()
    rows = [Choice(f"stop {job.number}", f"stop {job.number}", one_line(job.command)) for job in living]
    return [*rows, Choice("stop all", "stop all", "stop all background commands")] if rows else []


async def _stop(context: CommandContext, chosen: list[Job]) -> None:
    for job in chosen:
        await context.conversation.workspace.jobs.stop(job)
    what = one_line(chosen[0].command) if len(chosen) == 1 else f"{len(chosen)} jobs"
    context.status.ok(f"stopped: {what}")


async def _show(context: CommandContext, job: Job) -> None:
    """The end of its output, as it grows."""
    import asyncio

    from zot.frontends.terminal.dialogs.text_dialogs import TextView
    from zot.tui.width import wrap

    text = _output_of(job)

    def rows(theme: object, width: int) -> list[str]:
        return [row for line in text.split("\n") for row in wrap(f"  {line}", width, "  ")]

    async def follow() -> None:
        nonlocal text
        while job in context.conversation.workspace.jobs.living():
            await asyncio.sleep(_REFRESH_S)
            try:
                new = _output_of(job)
            except ZotError as error:  # the view shows it: an error here would end the dialog
                new = str(error)
            if new != text:
                text = new
                view.refresh()
                context.ui.redraw()

    view = TextView(f"job {job.number}: {one_line(job.command)}", rows)
    view.at_end()
    async with asyncio.TaskGroup() as group:
        following = group.create_task(follow())
        await context.dialogs.ask(view)
        following.cancel()


def _output_of(job: Job) -> str:
    from zot.tui.sanitize import sanitize

    if job.output is None and job.text is None:
        raise ZotError(f"job {job.number} has no readable output")
    end = job.text.tail(_LOOKED_AT) if job.text is not None else end_of(job.output) if job.output is not None else ""
    return sanitize(end).expandtabs(4).rstrip("\n") or "(nothing yet)"


def end_of(path: Path) -> str:
    """The end of a growing file."""
    import os

    from zot.system.safe_open import open_buffered

    try:
        with open_buffered(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - _LOOKED_AT, 0))
            return file.read(_LOOKED_AT).decode("utf-8", "replace")
    except OSError as error:
        raise ZotError(f"cannot read {path}: {error.strerror or error}") from error


# The list of background jobs: enter shows output, ctrl+x stops, letters search.

_KEYS = "enter shows its output · ctrl+x stops it · type to filter · esc closes"
_MOST = 14


class JobAction(msgspec.Struct, frozen=True):
    number: int
    stop: bool = False


class JobsList(Dialog[JobAction]):
    title = "in the background"
    hint = _KEYS

    def __init__(self, jobs: Sequence[Job], selected: int = 0) -> None:
        super().__init__()
        names = [(str(job.number), one_line(job.command), state_of(job)) for job in jobs]
        rows = [Choice(number, f"{number}  {command}", age) for number, command, age in names]
        self.list = SelectList(rows, filterable=True, selected=str(selected))

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        return self.list.lines(theme, width, max(min(height, _MOST), 1))

    def key(self, key: Key) -> bool:
        if key.name in ("enter", "ctrl+x"):
            if (chosen := self.list.chosen) is not None:
                self.finish(JobAction(int(chosen.value), key.name == "ctrl+x"))
            return True
        return self.list.key(key)
