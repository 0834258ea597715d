"""Records file contents before tools change them, for `/rewind` and `/diff`.
If the store fails, the tool continues, the user is notified once and the log has a gap. Without a session nothing is
recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from zot.features.checkpoints.change_log import (
    CancelledChange,
    ChangeLog,
    ChangeStorePaths,
    Event,
    FileChange,
    UntrackedCommand,
    head_of,
    history,
)
from zot.features.checkpoints.file_state import FileState, capture, encode_path, of_content
from zot.provider.messages import utc_now

if TYPE_CHECKING:
    from zot.core.session.session import Session
    from zot.features.checkpoints.command_watcher import CommandWatch


class FileChangeRecorder:
    """``session`` and ``prompt`` are the current ones; ``tell`` notifies the user.
    ``happened``, if set, collects changes; by default they are only in the log, to limit memory."""

    def __init__(
        self,
        place: ChangeStorePaths,
        cwd: Path,
        session: Callable[[], Session | None],
        prompt: Callable[[], str],
        notify: Callable[[str], None],
        capacity: int,
    ) -> None:
        self.place = place
        self.cwd = cwd
        self.happened: list[Event] | None = None
        self._session = session
        self._prompt = prompt
        self._notify = notify
        self._capacity = capacity
        self._ledger: ChangeLog | None = None
        self._number = 0
        self._failing = False
        self._watch: CommandWatch | None = None
        self.ours: tuple[str, ...] = ()  # files that this run writes itself
        self.tidying: Thread | None = None

    # --- changes by tools

    def before_write(self, path: Path, data: bytes, by: str, before: bytes | None = None) -> FileChange | None:
        """Store the current content (``before`` if given) and log the change; None if that failed."""
        where = os.path.realpath(path)
        made = tuple(encode_path(directory) for directory in _missing_parents(where))
        try:
            was = (
                capture(where, self.place.objects)
                if before is None
                else of_content(before, os.stat(where).st_mode & 0o7777, self.place.objects)
            )
            will = of_content(data, was.mode if was.kind == "file" else 0o644, self.place.objects)
            change = self.change(by, where, was, will, made)
            self.append([change])
        except OSError as error:
            self._failed(error)
            return None
        return change

    def cancel_write(self, change: FileChange) -> None:
        try:
            self.append([CancelledChange(change.id)])
        except OSError as error:
            self._failed(error)

    def after_write(self, change: FileChange) -> None:
        """Marks the current state as known, so that it is not attributed to a command."""
        if self._watch is not None:
            self._watch.know(change.place, change.after)

    # --- changes by commands

    async def before_command(self) -> None:
        """Scan the project, for ``after_command`` to compare with."""
        try:
            await self._watched().before()
        except OSError as error:
            self._failed(error)

    async def after_command(self, by: str) -> None:
        try:
            found = await self._watched().after()
            rows: list[Event] = [self.change(by, path, was, will) for path, was, will in found.changes]
            rows += [UntrackedCommand(self.prompt(), utc_now(), reason) for reason in found.blind]
            if rows:
                self.append(rows)
        except OSError as error:
            self._failed(error)

    def _watched(self) -> CommandWatch:
        if self._watch is None:
            from zot.features.checkpoints.command_watcher import CommandWatch  # many runs have no commands

            self._watch = CommandWatch(str(self.cwd), self.place.objects, self.ours)
        return self._watch

    # --- the log

    def prompt(self) -> str:
        return self._prompt() or utc_now()

    def change(
        self, by: str, path: str, before: FileState, after: FileState, made: tuple[str, ...] = (), prompt: str = ""
    ) -> FileChange:
        self._number += 1
        name = f"{os.getpid()}-{self._number}-{os.urandom(4).hex()}"
        return FileChange(name, prompt or self.prompt(), utc_now(), by, encode_path(path), before, after, made)

    def append(self, rows: Sequence[Event | CancelledChange]) -> None:
        ledger = self._current()
        if ledger is None:
            return
        ledger.append(rows)
        self._failing = False
        if self.happened is not None:
            for row in rows:
                if isinstance(row, CancelledChange):
                    self.happened[:] = [event for event in self.happened if getattr(event, "id", "") != row.id]
                else:
                    self.happened.append(row)
        if self.tidying is not None and self.place.objects.added < self._capacity // 4:
            return
        self.place.objects.added = 0
        from zot.features.checkpoints.change_log import prune

        self.tidying = Thread(target=prune, args=(self.place, self._capacity), name="zot prunes", daemon=True)
        self.tidying.start()

    def sync(self) -> None:
        if self._ledger is not None:
            self._ledger.sync()

    def history(self) -> list[Event]:
        """All changes of this session, from its log and those of its parents."""
        session = self._session()
        return [] if session is None else history(self.place, session.meta, session.path)

    def _current(self) -> ChangeLog | None:
        session = self._session()
        if session is None:
            return None
        if self._ledger is None or self._ledger.session != session.id:
            self.close()
            self._ledger = ChangeLog(self.place.ledger(session.id), head_of(session.meta, session.path))
        return self._ledger

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    def _failed(self, error: OSError) -> None:
        if self.happened is not None:
            self.happened.append(
                UntrackedCommand(self.prompt(), utc_now(), f"cannot save it: {error.strerror or error}")
            )
        if not self._failing:
            self._failing = True
            reason = error.strerror or str(error)
            where = self.place.root
            self._notify(f"cannot save a checkpoint in {where}: {reason}; /rewind will not cover this change")


def _missing_parents(path: str) -> list[str]:
    """Missing parent directories, the nearest first."""
    missing: list[str] = []
    directory = os.path.dirname(path)
    while not os.path.lexists(directory) and directory != os.path.dirname(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    return missing
