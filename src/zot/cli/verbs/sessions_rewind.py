"""``zot sessions rewind``: goes back to before a prompt: conversation, files or both.
Shows changes before it makes them, and skips files that others changed unless ``--overwrite``."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from zot.cli.arguments import ParsedArguments
from zot.cli.output import print_notice, print_result, read_answer, show_path
from zot.core.session.fork import fork_at, source_of
from zot.core.session.store import SessionStore
from zot.core.session.turn_history import turns_of
from zot.errors import SessionError, UsageError
from zot.features.checkpoints.change_log import ChangeStorePaths, Event, history
from zot.features.checkpoints.change_recorder import FileChangeRecorder
from zot.features.checkpoints.restore_plan import (
    RestorePlan,
    RestorePoint,
    apply_plan,
    changed,
    plan,
    plan_lines,
    points,
    report_line,
    shown_path,
)
from zot.system.files import zot_home

_TEXT = 60


class RewindOptions(msgspec.Struct, frozen=True):
    """Options of the command line."""

    number: int | None
    undo: bool
    files: bool
    conversation: bool
    overwrite: bool
    dry_run: bool
    sure: bool


def rewind(store: SessionStore, path: Path, arguments: ParsedArguments) -> int:
    wanted = _wanted(arguments)
    meta = source_of(path).meta
    place = ChangeStorePaths(zot_home())
    events = history(place, meta, path)
    try:
        found = points(turns_of(path), events, place.objects)
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    if wanted.number is None and not wanted.undo:
        for point in found:
            text = " ".join(point.text.split())
            text = text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
            label = f"{point.number:>4}" if point.number else "    "
            print_result(f"{label}  {text or 'rewound':<{_TEXT}}  {changed(point)}".rstrip())
        if not found:
            print_notice("no prompts in this session")
        return 0
    point = _point(found, wanted)
    cwd = meta.cwd or store.cwd
    files = plan(events, point.key, place.objects) if wanted.files else RestorePlan(())
    for line in plan_lines(files, cwd, overwrite=wanted.overwrite):
        print_result(line)
    if wanted.dry_run:
        return 0
    what = f"before prompt {point.number}" if point.number else "before the last rewind"
    if not wanted.sure and read_answer(f"go back to {what} (y/N)?").lower() not in ("y", "yes"):
        print_notice("nothing was changed")
        return 1
    status = _go_back(store, path, place, events, point, wanted, cwd) if wanted.files else 0
    if wanted.conversation and point.number:
        show_path(fork_at(store, path, point.row))
    return status


def _wanted(arguments: ParsedArguments) -> RewindOptions:
    to, undo = arguments.values.get("--to"), arguments.has("--undo")
    if to is not None and (not to.isdecimal() or to == "0"):
        raise UsageError(f'--to "{to}": expected the number of a prompt, from 1')
    if to is not None and undo:
        raise UsageError("use --to or --undo, not both")
    files, conversation = arguments.has("--files"), arguments.has("--conversation")
    return RewindOptions(
        number=None if to is None else int(to),
        undo=undo,
        files=files or not conversation,
        conversation=(conversation or not files) and not undo,
        overwrite=arguments.has("--overwrite"),
        dry_run=arguments.has("--dry-run"),
        sure=arguments.has("--yes"),
    )


def _point(found: list[RestorePoint], wanted: RewindOptions) -> RestorePoint:
    if wanted.undo:
        rewound = [point for point in found if not point.number]
        if not rewound:
            raise UsageError("nothing to undo: no rewind in this session")
        return rewound[-1]
    point = next((point for point in found if point.number == wanted.number), None)
    if point is None:
        raise UsageError(f"no prompt {wanted.number}; this session has {sum(bool(p.number) for p in found)}")
    return point


def _go_back(
    store: SessionStore,
    path: Path,
    place: ChangeStorePaths,
    events: list[Event],
    point: RestorePoint,
    wanted: RewindOptions,
    cwd: str,
) -> int:
    with _locked(store, path, place, cwd) as recorder:
        now = plan(events, point.key, place.objects)  # check again: files may have changed before the user answered
        conflicts = now.conflicts
        try:
            report = apply_plan(recorder, [*now.doable, *(conflicts if wanted.overwrite else [])])
        except OSError as error:
            raise SessionError(f"nothing was changed: {place.root}: {error.strerror or error}") from error
    left = [] if wanted.overwrite else conflicts
    print_notice(report_line(report, left, lambda name: shown_path(name, cwd)))
    return 1 if left or report.failed or now.of("lost") else 0


@contextmanager
def _locked(store: SessionStore, path: Path, place: ChangeStorePaths, cwd: str) -> Generator[FileChangeRecorder]:
    """Acquire the session's lock, since a zot using the session would not notice the changed files."""
    session = store.open(path)
    recorder = FileChangeRecorder(place, Path(cwd), lambda: session, lambda: "", print_notice, 1 << 40)
    try:
        yield recorder
    finally:
        recorder.close()
        session.close()
