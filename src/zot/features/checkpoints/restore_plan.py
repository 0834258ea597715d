"""Plans and executes a rewind.
The plan changes nothing; executing it stores and logs what it overwrites first, so that it can be undone, or repeated
after a kill."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from zot.core.session.turn_history import PromptTurn
from zot.features.checkpoints.change_log import Event, FileChange, UntrackedCommand
from zot.features.checkpoints.change_recorder import FileChangeRecorder
from zot.features.checkpoints.diff import Counted, counted, diff_summary, differences
from zot.features.checkpoints.file_state import (
    MISSING,
    PARENT_IS_LINK,
    FileState,
    Objects,
    capture_linkless,
    read_state,
    remove_directory,
    restore,
    unpacked,
)
from zot.provider.messages import utc_now

REWIND = "rewind"  # author of a change, in a log

Verdict = Literal["restore", "remove", "recreate", "same", "changed", "lost"]


class RestoreItem(msgspec.Struct, frozen=True):
    """One file. ``changed``: modified by others; ``lost``: its old content is unknown, with the reason in ``why``."""

    path: str
    verdict: Verdict
    target: FileState
    why: str = ""
    made: tuple[str, ...] = ()


class RestorePlan(msgspec.Struct, frozen=True):
    """``blind`` are reasons why changes may be missing."""

    items: tuple[RestoreItem, ...]
    blind: tuple[str, ...] = ()

    def of(self, *verdicts: Verdict) -> list[RestoreItem]:
        return [item for item in self.items if item.verdict in verdicts]

    @property
    def doable(self) -> list[RestoreItem]:
        return self.of("restore", "remove", "recreate")

    @property
    def conflicts(self) -> list[RestoreItem]:
        return self.of("changed")


class RestoreReport(msgspec.Struct, frozen=True):
    done: tuple[RestoreItem, ...]
    failed: tuple[tuple[str, str], ...] = ()


def since(events: Iterable[Event], prompt: str) -> list[Event]:
    return [event for event in events if event.prompt >= prompt]


def plan(events: Sequence[Event], prompt: str, objects: Objects) -> RestorePlan:
    """The plan to restore the state before the prompt of this time."""
    first: dict[str, FileChange] = {}
    last: dict[str, FileChange] = {}
    made: dict[str, tuple[str, ...]] = {}
    blind: dict[str, None] = {}
    for event in since(events, prompt):
        if isinstance(event, UntrackedCommand):
            blind[event.reason] = None
            continue
        first.setdefault(event.place, event)
        last[event.place] = event
        made[event.place] = made.get(event.place, ()) + event.made
    items = [_item(path, first[path].before, _left(last[path]), made[path], objects) for path in sorted(first)]
    return RestorePlan(tuple(items), tuple(blind))


def _left(last: FileChange) -> tuple[FileState, ...]:
    """States zot may have left: a rewind may have been killed before this file."""
    return (last.after, last.before) if last.by == REWIND else (last.after,)


def _item(
    path: str, target: FileState, left: tuple[FileState, ...], made: tuple[str, ...], objects: Objects
) -> RestoreItem:
    current = read_state(path)
    if current.same(target):
        return RestoreItem(path, "same", target)
    if target.kind == "other" or (target.kind == "file" and not target.digest):
        return RestoreItem(path, "lost", target, target.why or "it was not saved")
    if target.kind == "file" and not objects.has(target.digest, target.size):
        return RestoreItem(path, "lost", target, "its saved content is missing")
    if current.kind == "other":
        return RestoreItem(path, "lost", target, f"it is now {current.why}")
    if not any(current.holds(state) for state in (*left, target)):
        why = "it was deleted" if current.kind == "missing" else "it was changed"
        why = f"{why} by something else since"
        if current.kind == "file" and left[0].kind == "file" and not left[0].digest:
            why = f"unknown whether something else changed it: {left[0].why}"
        return RestoreItem(path, "changed", target, why, made)
    verdict: Verdict = "remove" if target.kind == "missing" else "recreate" if current.kind == "missing" else "restore"
    return RestoreItem(path, verdict, target, made=made)


def apply_plan(recorder: FileChangeRecorder, items: Sequence[RestoreItem]) -> RestoreReport:
    """Execute the plan. Content that cannot be saved is not overwritten; OSError if the log fails."""
    now = utc_now()
    ready: list[tuple[RestoreItem, FileChange]] = []
    failed: list[tuple[str, str]] = []
    for item in items:
        current = capture_linkless(item.path, recorder.place.objects)
        if current.kind == "other" or (current.kind == "file" and not current.digest):
            reason = current.why if current.why == PARENT_IS_LINK else f"cannot save its current content: {current.why}"
            failed.append((item.path, reason))
            continue
        ready.append((item, recorder.change(REWIND, item.path, current, item.target, prompt=now)))
    if ready:
        recorder.append([change for _, change in ready])
        recorder.sync()
    done: list[RestoreItem] = []
    for item, change in ready:
        try:
            restore(item.path, item.target, recorder.place.objects)
        except OSError as error:
            failed.append((item.path, error.strerror or str(error)))
            recorder.cancel_write(change)
            continue
        recorder.after_write(change)
        if item.target == MISSING:
            # directories that were created with the file are removed with it if they are empty
            for directory in sorted({unpacked(place) for place in item.made}, key=len, reverse=True):
                with suppress(OSError, ValueError):
                    if os.path.commonpath([directory, item.path]) == directory:
                        remove_directory(directory)
        done.append(item)
    return RestoreReport(tuple(done), tuple(failed))


# Restore points: each prompt with its changes, and each rewind, to undo it.


class RestorePoint(msgspec.Struct, frozen=True):
    """Before prompt ``number`` (from 1), whose messages begin at ``row``; a rewind has number 0."""

    number: int
    key: str
    text: str
    row: int = 0
    files: tuple[Counted, ...] = ()
    blind: bool = False


def points(turns: Sequence[PromptTurn], events: Sequence[Event], objects: Objects) -> list[RestorePoint]:
    by_prompt: dict[str, list[Event]] = {}
    rewound: dict[str, list[Event]] = {}
    for event in events:
        is_rewind = not isinstance(event, UntrackedCommand) and event.by == REWIND
        (rewound if is_rewind else by_prompt).setdefault(event.prompt, []).append(event)
    found = [_point(number, turn, by_prompt, objects) for number, turn in enumerate(turns, 1)]
    found += [RestorePoint(0, key, "", files=_files(those, objects)) for key, those in rewound.items()]
    return sorted(found, key=lambda point: point.key)


def _point(number: int, turn: PromptTurn, by_prompt: dict[str, list[Event]], objects: Objects) -> RestorePoint:
    events = by_prompt.get(turn.prompt.time, [])
    blind = any(isinstance(event, UntrackedCommand) for event in events)
    return RestorePoint(number, turn.prompt.time, turn.prompt.text(), turn.row, _files(events, objects), blind)


def _files(events: Sequence[Event], objects: Objects) -> tuple[Counted, ...]:
    return tuple(counted(one, objects) for one in differences(events))


# Texts of a plan and its report, for the terminal and for scripts.

Done = Literal["restored", "removed", "recreated", "overwritten"]

DONE: dict[str, Done] = {
    **{"restore": "restored", "remove": "removed"},
    **{"recreate": "recreated", "changed": "overwritten"},
}


def shown_path(path: str, cwd: str) -> str:
    """Relative inside the project."""
    return os.path.relpath(path, cwd) if path.startswith(f"{cwd.rstrip('/')}/") else path


def changed(point: RestorePoint) -> str:
    """The changes of a prompt: ``2 files changed +4 −1``, or that they are unknown."""
    if point.files:
        return diff_summary(point.files)
    return "unknown changes by commands" if point.blind else ""


def plan_lines(found: RestorePlan, cwd: str, *, overwrite: bool = False, troubles_first: bool = False) -> list[str]:
    """The effect of a rewind on each file; unchanged files are omitted."""

    def line(item: RestoreItem) -> str:
        name = shown_path(item.path, cwd)
        if item.verdict == "lost":
            return f"cannot restore  {name}: {item.why}"
        if item.verdict == "changed":
            return f"{'overwrite' if overwrite else 'skip':<14}  {name}: {item.why}"
        return f"{item.verdict:<14}  {name}"

    order = {"restore": 0, "recreate": 1, "remove": 2, "changed": 3, "lost": 4}
    items = sorted((item for item in found.items if item.verdict != "same"), key=lambda item: order[item.verdict])
    blind = [f"{'unknown':<14}  {reason}" for reason in found.blind]
    if troubles_first:
        items.sort(key=lambda item: order[item.verdict] < 3)
        return [*blind, *map(line, items)]
    return [*map(line, items), *blind]


def report_line(report: RestoreReport, left: Sequence[RestoreItem], shown: Callable[[str], str]) -> str:
    """``2 restored, 1 removed; a.py: …``; skipped files are named."""
    counts: dict[str, int] = {}
    for item in report.done:
        counts[DONE[item.verdict]] = counts.get(DONE[item.verdict], 0) + 1
    done = ", ".join(f"{number} {word}" for word, number in counts.items())
    parts = [f"{_file_count(len(report.done))}: {done}" if done else "no file changed"]
    parts += [f"{shown(item.path)} skipped: {item.why}" for item in left]
    parts += [f"{shown(path)} unchanged: {reason}" for path, reason in report.failed]
    return "; ".join(parts)


def _file_count(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"
