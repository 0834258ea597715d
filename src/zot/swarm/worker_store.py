"""Worker directories (``$ZOT_HOME/swarm/agents/ID``); finds a worker by id, id prefix or name.

An unreadable record is reported and skipped, never repaired or deleted.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from zot.errors import NotThere, UsageError, ZotError, closest, describe_error
from zot.swarm.worker_records import LIVE, WorkerRecord, decode_record
from zot.system.files import make_private_dir, write_atomic
from zot.system.safe_open import read_whole
from zot.system.temp_files import remove_tree
from zot.wire.swarm_frames import WorkerInfo

MAKING = "making"  # while a worktree is being created: its repository
_TRACES = ("meta.json", "session.json", "log.txt", "merged.json")
_SLUG = 24
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_SHOWN = 5
_LAST = 200  # characters of an answer in a row
_GONE = ".gone-"  # name prefix of a directory being deleted


class WorkerDir:
    """The directory of one worker."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.id = directory.name
        self.meta, self.inbox, self.events, self.session, self.log, self.tree = (
            directory / name for name in ("meta.json", "inbox.jsonl", "events.jsonl", "session.json", "log.txt", "tree")
        )

    @property
    def is_unfinished(self) -> bool:
        """True if there is no record yet."""
        there = {name for name in (*_TRACES, MAKING, "tree") if os.path.lexists(self.directory / name)}
        return not there.intersection(_TRACES) and (MAKING in there or "tree" not in there)

    def load(self) -> WorkerRecord:
        """ZotError for a missing or damaged record, with its file."""
        try:
            return decode_record(read_whole(self.meta))
        except OSError as error:
            raise ZotError(f"cannot read the record of worker {self.id}: {describe_error(error)}") from error
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ZotError(f"{self.meta} is damaged: {error}; its other files are unchanged") from error

    def save(self, worker: WorkerRecord) -> None:
        """OSError if it cannot be written; the old record stays."""
        write_atomic(self.meta, msgspec.json.format(msgspec.json.encode(worker), indent=2) + b"\n")


class WorkerStore:
    def __init__(self, home: Path) -> None:
        self.root = home / "swarm"
        self.agents = self.root / "agents"

    def of(self, id: str) -> WorkerDir:
        return WorkerDir(self.agents / id)

    def make(self, task: str) -> WorkerDir:
        """A new directory with a new id."""
        make_private_dir(self.agents)
        beginning = slug(task)
        while True:
            place = self.of(f"{beginning}-{secrets.randbelow(1_000_000)}")
            try:
                place.directory.mkdir(mode=0o700)
            except FileExistsError:
                continue
            return place

    def ids(self) -> list[str]:
        try:
            with os.scandir(self.agents) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if not entry.name.startswith(_GONE) and entry.is_dir(follow_symlinks=False)
                )
        except OSError:
            return []

    def remove(self, id: str) -> tuple[str, ...]:
        """Deletes the directory, renamed first in case of a kill; returns what could not be deleted."""
        place = self.of(id).directory
        try:
            os.replace(place, self.agents / f"{_GONE}{id}-{secrets.token_hex(4)}")
        except FileNotFoundError:
            return ()
        except OSError as error:
            return (f"cannot remove {place}: {describe_error(error)}",)
        for left in self.agents.glob(f"{_GONE}*"):
            remove_tree(left)
        return tuple(f"cannot remove {left}" for left in self.agents.glob(f"{_GONE}{id}-*"))

    def unfinished(self) -> list[WorkerDir]:
        """Directories of workers being created, also by a killed process."""
        return [place for place in map(self.of, self.ids()) if place.is_unfinished]

    def all(self, problems: list[str] | None = None) -> list[WorkerRecord]:
        """All workers with a record, oldest first; unreadable records go into ``problems``."""
        found: list[WorkerRecord] = []
        for id in self.ids():
            try:
                found.append(self.of(id).load())
            except ZotError as error:
                if problems is not None and not self.of(id).is_unfinished:
                    problems.append(str(error))
        return sorted(found, key=lambda worker: (worker.created, worker.id))


def slug(task: str) -> str:
    """A short name in a-z, 0-9 and dashes; ``agent`` if empty."""
    text = re.sub(r"[^a-z0-9]+", "-", task[:200].lower()).strip("-")
    if len(text) > _SLUG:
        text = text[:_SLUG].rpartition("-")[0] or text[:_SLUG]
    return text.strip("-") or "agent"


def unique_name(task: str, taken: Collection[str]) -> str:
    """A name from the task that no active worker has."""
    base, number = slug(task), 2
    name = base
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def check_name(name: str, taken: Collection[str]) -> None:
    """UsageError for an invalid name, or one of an active worker."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'"{name}" is not a valid name: expected up to 40 of a-z, 0-9, ".", "_" and "-", not starting with a sign'
        )
    if name in taken:
        raise UsageError(f'a worker named "{name}" is already running; stop it, or choose another name')


def find_worker(typed: str, workers: Iterable[WorkerRecord]) -> WorkerRecord:
    """The named worker; NotThere if there is none, or several."""
    known = list(workers)
    for worker in known:
        if worker.id == typed:
            return worker
    named = [worker for worker in known if worker.name == typed]
    living = [worker for worker in named if worker.status in LIVE]
    found = living or named or ([worker for worker in known if worker.id.startswith(typed)] if typed else [])
    if len(found) == 1:
        return found[0]
    if found and found is named and all(worker.status not in LIVE for worker in found):
        return max(found, key=lambda worker: worker.created)
    if found:
        which = ", ".join(worker.id for worker in found[:_SHOWN]) + ("…" if len(found) > _SHOWN else "")
        raise NotThere(f'"{typed}" could be {len(found)} workers: {which}; give more of the id')
    near = closest(typed, [name for worker in known for name in (worker.id, worker.name)], count=1)
    hint = f"did you mean {near[0]}?" if near else "list all with `zot swarm list --all`"
    raise NotThere(f'no worker "{typed}"; {hint}')


# --- on the wire


def worker_info(worker: WorkerRecord) -> WorkerInfo:
    """The row of a worker on the wire."""
    order = worker.spec
    line = " ".join(worker.answer[: 4 * _LAST].split())
    return WorkerInfo(
        id=worker.id,
        name=worker.name,
        status=worker.status,
        task=order.task,
        mode=order.mode,
        cwd=order.cwd,
        created=worker.created,
        started=worker.started,
        ended=worker.ended,
        provider=order.config.provider,
        model=order.config.model,
        engine=order.engine,
        swarm=order.swarm,
        key=order.key,
        session=order.session,
        branch=worker.tree.branch if worker.tree is not None else "",
        pid=worker.pid,
        attempt=worker.attempt,
        steps=worker.steps,
        usage=worker.usage,
        activity=worker.activity,
        last=line if len(line) <= _LAST else f"{line[: _LAST - 1]}…",
        reason=worker.reason,
        merged=worker.merged,
        notes=worker.notes,
    )
