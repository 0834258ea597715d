"""Commands whose children outlive their call: list, inspect and stop them; all end with the agent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from zot.system.processes import ProcessTree


class Job(msgspec.Struct, frozen=True):
    """``output`` is the file with its further output; None if no process can write to it."""

    number: int
    command: str
    tree: ProcessTree
    began: float
    output: Path | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class Jobs:
    """The jobs of one workspace, in order of start. Numbers are not reused."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._count = 0

    def add(self, command: str, tree: ProcessTree, began: float, output: Path | None) -> Job:
        # If the group still has members, skip the expensive scan of all processes.
        self._forget([job for job in self._jobs if job.tree.group_is_empty and job.tree.has_ended])
        self._count += 1
        job = Job(self._count, command, tree, began, output)
        self._jobs.append(job)
        return job

    def living(self) -> list[Job]:
        """Jobs with a running process; others are removed."""
        self._forget([job for job in self._jobs if job.tree.has_ended])
        return list(self._jobs)

    def _forget(self, ended: list[Job]) -> None:
        for job in ended:
            job.tree.forget()
        self._jobs = [job for job in self._jobs if job not in ended]

    @property
    def running(self) -> int:
        return sum(not job.tree.group_is_empty for job in self._jobs)

    async def stop(self, job: Job, grace: float | None = None) -> None:
        """Stop it and its children: SIGTERM, then SIGKILL."""
        await (job.tree.stop() if grace is None else job.tree.stop(grace))
        self._jobs = [other for other in self._jobs if other is not job]

    async def stop_all(self, grace: float | None = None) -> None:
        for job in list(self._jobs):
            await self.stop(job, grace)
