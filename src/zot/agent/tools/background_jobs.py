"""Background commands: started with ``background``, or children that outlived their call. List, follow and stop them;
all end with the agent."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from zot.system.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from zot.agent.tools.bash_output import OutputPipe
    from zot.agent.tools.job_output import JobOutput
    from zot.system.processes import ProcessTree

_LAST_OUTPUT_S = 1.0
_MOST_ENDED = 20


class Job:
    """``output`` is the file with its output; None if no process can write to it. ``text`` is the latest output in
    memory, ``stdin`` the pipe to its input; both only if it was started with ``background``. ``exit_code`` is None
    while its first process runs."""

    def __init__(
        self,
        number: int,
        command: str,
        tree: ProcessTree,
        began: float,
        output: Path | None = None,
        *,
        text: JobOutput | None = None,
        stdin: int | None = None,
    ) -> None:
        self.number = number
        self.command = command
        self.tree = tree
        self.began = began
        self.output = output
        self.text = text
        self.stdin = stdin
        self.exit_code: int | None = None
        self.ended = 0.0
        self.over = asyncio.Event()
        self.is_end_known = False  # to the model
        self.is_stopped = False  # by the model or the user

    @property
    def seconds(self) -> float:
        """How long it runs, or ran."""
        return (self.ended or time.monotonic()) - self.began

    def close_input(self) -> None:
        if self.stdin is not None:
            with suppress(OSError):
                os.close(self.stdin)
            self.stdin = None


class Jobs:
    """The jobs of one workspace, in order of start. Numbers are not reused; ``started`` is the last. ``on_end`` are
    called when a followed job has ended; the last ones that ended stay in ``known``."""

    def __init__(self) -> None:
        self.on_end: list[Callable[[Job], None]] = []
        self._jobs: list[Job] = []
        self._ended: list[Job] = []
        self.started = 0
        self._following = BackgroundTasks()

    def add(self, command: str, tree: ProcessTree, began: float, output: Path | None) -> Job:
        """Children that a command left."""
        return self._add(Job(self._next(), command, tree, began, output))

    def follow(
        self,
        command: str,
        tree: ProcessTree,
        began: float,
        output: Path,
        text: JobOutput,
        stdin: int,
        pipe: OutputPipe,
    ) -> Job:
        """A command that was started in the background; its end is reported."""
        job = self._add(Job(self._next(), command, tree, began, output, text=text, stdin=stdin))
        self._following.start(self._until_end(job, pipe))
        return job

    def _add(self, job: Job) -> Job:
        # If the group still has members, skip the expensive scan of all processes.
        self._forget([other for other in self._jobs if other.tree.group_is_empty and _is_over(other)])
        self._jobs.append(job)
        return job

    def _next(self) -> int:
        self.started += 1
        return self.started

    async def _until_end(self, job: Job, pipe: OutputPipe) -> None:
        code = await job.tree.wait()
        await pipe.wait(_LAST_OUTPUT_S)
        left = job.tree.detach(suspicious=not pipe.ended)
        job.exit_code, job.ended = code, time.monotonic()
        job.close_input()
        if left:
            pipe.detach()
        else:
            pipe.close()
        if job not in self._ended:
            self._ended = [*self._ended, job][-_MOST_ENDED:]
        job.over.set()
        for listener in list(self.on_end):
            listener(job)

    async def until_end(self, job: Job) -> None:
        """Wait for the end of a followed job."""
        await job.over.wait()

    def living(self) -> list[Job]:
        """Jobs with a running process; others are removed."""
        self._forget([job for job in self._jobs if _is_over(job)])
        return list(self._jobs)

    def known(self) -> list[Job]:
        """The living, and those that were followed and have ended."""
        found = {job.number: job for job in (*self._ended, *self.living())}
        return [found[number] for number in sorted(found)]

    def _forget(self, ended: list[Job]) -> None:
        for job in ended:
            job.tree.forget()
        self._jobs = [job for job in self._jobs if job not in ended]

    @property
    def running(self) -> int:
        return sum(not job.tree.group_is_empty for job in self._jobs)

    async def stop(self, job: Job, grace: float | None = None) -> None:
        """Stop it and its children: SIGTERM, then SIGKILL."""
        job.is_stopped = True
        await (job.tree.stop() if grace is None else job.tree.stop(grace))
        job.close_input()
        self._jobs = [other for other in self._jobs if other is not job]

    async def stop_all(self, grace: float | None = None) -> None:
        self.on_end.clear()
        for job in list(self._jobs):
            await self.stop(job, grace)
        await self._following.aclose()


def _is_over(job: Job) -> bool:
    """No process is left, and the end of a followed one was reported."""
    return (job.text is None or job.ended > 0) and job.tree.has_ended
