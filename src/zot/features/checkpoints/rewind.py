"""Rewinds a conversation and lists changes per prompt, for terminal, RPC and SDK.
Files changed by others are skipped unless requested; the conversation branches."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.agent.session_change import SessionChange
from zot.core.session.turn_history import PromptTurn, turns_of
from zot.errors import UsageError, ZotError
from zot.features.checkpoints.change_log import Event, FileChange, UntrackedCommand
from zot.features.checkpoints.diff import Counted, DiffLines, counted, diff_lines, differences
from zot.features.checkpoints.file_state import Objects
from zot.features.checkpoints.restore_plan import (
    DONE,
    RestoreItem,
    RestorePlan,
    RestorePoint,
    RestoreReport,
    apply_plan,
    plan,
    points,
    shown_path,
)
from zot.features.lookup import change_recorder
from zot.provider.messages import Message, TextBlock, utc_now
from zot.wire import rpc_frames as wire

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.conversation import Conversation
    from zot.features.checkpoints.change_recorder import FileChangeRecorder

_MOST_NAMED = 50
WAYS = ("both", "files", "conversation")


# --- restore points


def session_file(conversation: Conversation) -> Path:
    """The session, complete on disk; ZotError without one."""
    session = conversation.session
    if session is None:
        raise ZotError("cannot rewind: this conversation has no session (--no-session)")
    session.flush()
    if not session.path.exists():
        raise ZotError("this conversation has no prompts yet")
    return session.path


def list_restore_points(conversation: Conversation, path: Path) -> tuple[list[PromptTurn], list[RestorePoint]]:
    recorder, turns = change_recorder(conversation), turns_of(path)
    if recorder is None:
        return turns, points(turns, [], Objects(path))
    return turns, points(turns, recorder.history(), recorder.place.objects)


def events_of(events: Sequence[Event], turns: Sequence[PromptTurn], number: int) -> list[Event]:
    """Changes during prompt ``number``, from 1; 0 is the whole session."""
    if not number:
        first = turns[0].prompt.time if turns else ""
        return [event for event in events if event.prompt >= first]
    return [event for event in events if event.prompt == turns[number - 1].prompt.time]


def last_changing(events: Sequence[Event], turns: Sequence[PromptTurn]) -> int:
    """The number of the last prompt that changed a file; 0 for none."""
    changing = {event.prompt for event in events if isinstance(event, FileChange)}
    return next((number for number in range(len(turns), 0, -1) if turns[number - 1].prompt.time in changing), 0)


# --- restoring


def plan_to(conversation: Conversation, point: RestorePoint) -> RestorePlan:
    recorder = change_recorder(conversation)
    return RestorePlan(()) if recorder is None else plan(recorder.history(), point.key, recorder.place.objects)


def restore_files(
    conversation: Conversation, point: RestorePoint, *, overwrite: bool
) -> tuple[RestoreReport, list[RestoreItem]]:
    """Plans and restores now; returns the report and the skipped files."""
    recorder, now = change_recorder(conversation), plan_to(conversation, point)
    if recorder is None:
        raise ZotError("cannot restore files: checkpoints are disabled")
    try:
        report = apply_plan(recorder, [*now.doable, *(now.conflicts if overwrite else [])])
    except OSError as error:
        raise ZotError(
            f"cannot restore files: {recorder.place.root}: {error.strerror or error}; nothing was changed"
        ) from error
    return report, [*([] if overwrite else now.conflicts), *now.of("lost")]


def notify_model(conversation: Conversation, report: RestoreReport) -> None:
    """Otherwise the model would assume its own last version."""
    cwd = str(conversation.workspace.cwd)
    paths = [shown_path(item.path, cwd) for item in report.done]
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    names = ", ".join(paths[:_MOST_NAMED]) + more
    text = f"The user has put these files back to an earlier state; read them again before you change them: {names}"
    if paths:
        conversation.add_message(Message("user", (TextBlock(text),), utc_now(), {"synthetic": "true"}))


# --- for programs


async def rewind(
    conversation: Conversation, number: int, what: str = "both", *, overwrite: bool = False, dry_run: bool = False
) -> wire.Rewound:
    """Rewind to before prompt ``number``; 0 undoes the last rewind of files. A dry run only reports."""
    if what not in WAYS:
        raise UsageError(f'unknown rewind target "{what}": expected one of {", ".join(WAYS)}')
    turns, found = await asyncio.to_thread(list_restore_points, conversation, session_file(conversation))
    matching = [point for point in found if point.number == number]
    if not matching:
        last = max((point.number for point in found), default=0)
        raise UsageError(f"no prompt {number}; this session has {last}" if number else "no rewind to undo")
    point = matching[-1]
    what = what if number else "files"
    text = turns[number - 1].prompt.text() if number else ""
    if dry_run:
        now = await asyncio.to_thread(plan_to, conversation, point) if what != "conversation" else RestorePlan(())
        files = tuple(_file(item, overwrite) for item in now.items if item.verdict != "same")
        return wire.Rewound(files=files, unknown=now.blind, text=text)
    change = SessionChange("rewind", row=point.row, files=what != "conversation")
    if what != "files":
        await conversation.allow(change)
    files, blind = (), ()
    if what != "conversation":
        blind = (await asyncio.to_thread(plan_to, conversation, point)).blind
        report, left = await asyncio.to_thread(restore_files, conversation, point, overwrite=overwrite)
        failed = (wire.RewoundFile(path=_shown(path), outcome="failed", reason=why) for path, why in report.failed)
        files = (*(_file(item, overwrite) for item in (*report.done, *left)), *failed)
        if what == "files":
            notify_model(conversation, report)
    if what != "files":
        await conversation.fork(point.row, change)
    return wire.Rewound(files=files, unknown=blind, text=text)


def _file(item: RestoreItem, overwrite: bool) -> wire.RewoundFile:
    left = item.verdict == "lost" or (item.verdict == "changed" and not overwrite)
    outcome = ("lost" if item.verdict == "lost" else "conflict") if left else DONE[item.verdict]
    return wire.RewoundFile(path=_shown(item.path), outcome=outcome, reason=item.why)


def changes_in(conversation: Conversation, path: Path, number: int) -> wire.Changes:
    """File changes of prompt ``number``, or with 0 of the whole session, from stored contents."""
    recorder = change_recorder(conversation)
    turns, found = list_restore_points(conversation, path)
    if not 0 <= number <= len(turns):
        raise UsageError(f"no prompt {number}; this session has {len(turns)}")
    chosen = events_of(recorder.history(), turns, number) if recorder is not None else []
    return wire.Changes(
        prompts=tuple(
            wire.PromptChanges(
                prompt=point.number,
                text=point.text,
                files=len(point.files),
                added=sum(one.added for one in point.files),
                removed=sum(one.removed for one in point.files),
            )
            for point in found
            if point.number
        ),
        files=_changed(recorder, chosen) if recorder is not None else (),
        unknown=tuple(dict.fromkeys(event.reason for event in chosen if isinstance(event, UntrackedCommand))),
    )


def _changed(recorder: FileChangeRecorder, events: Sequence[Event]) -> tuple[wire.ChangedFile, ...]:
    objects = recorder.place.objects
    return tuple(_changed_file(counted(one, objects), diff_lines(one, objects)) for one in differences(events))


def _changed_file(count: Counted, runs: list[DiffLines] | str) -> wire.ChangedFile:
    return wire.ChangedFile(
        path=_shown(count.difference.path),
        change=count.difference.verb,
        added=count.added,
        removed=count.removed,
        diff="" if isinstance(runs, str) else "".join(map(_hunk, runs)),
        note=runs if isinstance(runs, str) else "",
    )


def _hunk(run: DiffLines) -> str:
    """As ``diff -u`` writes it; a missing side begins at line 0."""
    old, new = (sum(row[0] in signs for row in run.rows) for signs in (" -", " +"))
    starts = [start if length else start - 1 for start, length in ((run.old_start, old), (run.new_start, new))]
    return f"@@ -{starts[0]},{old} +{starts[1]},{new} @@\n" + "".join(f"{row}\n" for row in run.rows)


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
