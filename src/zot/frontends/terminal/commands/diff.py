"""``/diff``: file changes of the last turn that made any, of another turn, or of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.errors import UsageError, ZotError
from zot.frontends.terminal.commands.command_context import CommandContext

if TYPE_CHECKING:
    from pathlib import Path

    from zot.core.session.turn_history import PromptTurn
    from zot.features.checkpoints.change_log import Event
    from zot.features.checkpoints.change_recorder import FileChangeRecorder
    from zot.features.checkpoints.diff import Counted, DiffLines
    from zot.tui.markdown import Painter
    from zot.tui.widgets import Choice

Shown = tuple["Counted", "list[DiffLines] | str"]


async def run(context: CommandContext, arguments: str) -> None:
    from zot.features.lookup import change_recorder
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    path, recorder = context.session_file(), change_recorder(context.conversation)
    if path is None or recorder is None:
        raise ZotError("/diff: file changes are not recorded in this session")
    title, files = await asyncio.to_thread(_collect, recorder, path, arguments.lower())
    if not files:
        raise ZotError(f"/diff: {title or 'no file changes in this session'}")
    cwd, ui = str(context.conversation.workspace.cwd), context.ui
    await context.dialogs.ask(TextView(title, lambda theme, width: _rows(files, cwd, ui.painter, width)))


def complete(context: CommandContext, typed: str) -> list[Choice]:
    """Arguments offered after ``/diff``."""
    from zot.tui.widgets import Choice

    return [Choice("turn", "turn", "changes of the last turn"), Choice("session", "session", "all changes")]


def _collect(recorder: FileChangeRecorder, path: Path, wanted: str) -> tuple[str, list[Shown]]:
    """A title and each file; without files the title is the reason, if known."""
    from zot.core.session.turn_history import turns_of
    from zot.features.checkpoints.diff import counted, diff_lines, diff_summary, differences

    events = recorder.history()
    title, chosen = _chosen(events, turns_of(path), wanted)
    objects = recorder.place.objects
    found = differences(chosen)
    counts = [counted(one, objects) for one in found]
    files = [(count, diff_lines(one, objects)) for count, one in zip(counts, found, strict=True)]
    return f"{title} · {diff_summary(counts)}" if files else title, files


def _chosen(events: Sequence[Event], turns: Sequence[PromptTurn], wanted: str) -> tuple[str, list[Event]]:
    from zot.features.checkpoints.rewind import events_of, last_changing

    if wanted in ("session", "all"):
        return "this session", events_of(events, turns, 0)
    if wanted in ("", "turn"):
        number = last_changing(events, turns)
        return (f"turn #{number}", events_of(events, turns, number)) if number else ("", [])
    named = wanted.lstrip("#")
    if not named.isdecimal() or not 1 <= int(named) <= len(turns):
        raise UsageError(f"/diff {wanted}: expected session, turn, or a number from 1 to {len(turns)}")
    those = events_of(events, turns, int(named))
    return (f"turn #{named}" if those else f"turn #{named} changed no file"), those


def _rows(files: Sequence[Shown], cwd: str, painter: Painter, width: int) -> list[str]:
    rows: list[str] = []
    for count, runs in files:
        rows += [*([""] if rows else []), *_file_rows(count, runs, cwd, painter, width)]
    return rows


def _file_rows(count: Counted, runs: list[DiffLines] | str, cwd: str, painter: Painter, width: int) -> list[str]:
    from zot.features.checkpoints.diff import signed
    from zot.features.checkpoints.restore_plan import shown_path
    from zot.system.visible_text import escape_invisible
    from zot.tui.width import wrap

    theme, one = painter.theme, count.difference
    verb = "" if one.verb == "changed" else f" · {one.verb}"
    figure = signed(count.added, count.removed)
    name = escape_invisible(shown_path(one.path, cwd))
    head = theme.paint("assistant", name, bold=True) + theme.paint("muted", f"{verb}{f' · {figure}' if figure else ''}")
    rows = wrap(head, width, "  ")
    if isinstance(runs, str):
        return [*rows, *(theme.paint("muted", row) for row in wrap(f"    {runs}", width, "    "))]
    return [*rows, *(f"  {row}" for row in _diff_rows(runs, one.path, painter, max(width - 2, 1)))]


def _diff_rows(runs: Sequence[DiffLines], path: str, painter: Painter, width: int) -> list[str]:
    from zot.tui import diff
    from zot.tui.highlight import language_of
    from zot.tui.sanitize import sanitize
    from zot.tui.width import visible

    rows: list[str] = []
    for run in runs:
        rows += [*(["..."] if rows else []), *(visible(sanitize(row)).replace("\n", " ") for row in run.rows)]
    lines = diff.numbered(rows, [(run.old_start, run.new_start) for run in runs])
    return diff.render(lines, painter.theme, painter.code, language_of(path), width)
