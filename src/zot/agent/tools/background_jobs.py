"""Commands whose children live on after their call: listed, looked at and stopped by hand, ended with the agent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from zot.system.processes import ProcessTree


class Job(msgspec.Struct, frozen=True):
    """``output`` is the file that what it still prints goes to; None when nobody could write to it any more."""

    number: int
    command: str
    tree: ProcessTree
    began: float
    output: Path | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class Jobs:
    """Of one workspace, in the order they were left behind. Numbers are not given twice."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._count = 0

    def add(self, command: str, tree: ProcessTree, began: float, output: Path | None) -> Job:
        # One whose group still has members is not looked for on the whole machine: that is dear.
        self._forget([job for job in self._jobs if job.tree.group_is_empty and job.tree.has_ended])
        self._count += 1
        job = Job(self._count, command, tree, began, output)
        self._jobs.append(job)
        return job

    def living(self) -> list[Job]:
        """Those of which something still runs; the others are forgotten."""
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
        """End it with all it started: SIGTERM, then SIGKILL."""
        await (job.tree.stop() if grace is None else job.tree.stop(grace))
        self._jobs = [other for other in self._jobs if other is not job]

    async def stop_all(self, grace: float | None = None) -> None:
        for job in list(self._jobs):
            await self.stop(job, grace)
