"""The local engine: a worker is a child process of the supervisor and ends with it.

If the supervisor is killed, the worker's input ends, a watching shell kills its group, and the next supervisor kills
processes that are left (``kill_orphans``).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

from zot.agent.config import RunConfig
from zot.errors import EngineFault, describe_error
from zot.swarm.engines.engine import AttemptStatus, LaunchSpec, WorkerKey
from zot.swarm.worker_env import AGENT_VARIABLE, worker_argv, worker_environment
from zot.swarm.worker_records import WorkerRecord
from zot.system.process_table import is_running, started
from zot.system.processes import ProcessTree, reap_orphans, spawn
from zot.system.safe_open import open_buffered, open_to_append, read_whole
from zot.wire.line_splitter import LineSplitter
from zot.wire.rpc_frames import MAX_LINE

_CHUNK = 64 * 1024
_SAID = 64 * 1024  # bytes of its last output
_UNREAD = 32 * 1024 * 1024  # bytes of unread input
_LONGEST_LINE = 4 * MAX_LINE


async def spawn_worker(
    config: RunConfig, key: WorkerKey | None, directory: Path, environment: dict[str, str], log: int
) -> tuple[ProcessTree, asyncio.WriteTransport, asyncio.StreamReader]:
    """Starts a ``zot rpc`` in ``directory``: its process, input and output. ``log`` receives stderr and is closed."""
    child_in, stdin = os.pipe()
    stdout, child_out = os.pipe()
    try:
        with worker_argv((sys.executable, "-m", "zot"), config, key) as (argv, descriptors):
            tree = spawn(
                argv, cwd=directory, env=environment, stdin=child_in, stdout=child_out, stderr=log, pass_fds=descriptors
            )
    except BaseException:
        os.close(stdin)
        os.close(stdout)
        raise
    finally:
        for fd in (child_in, child_out, log):
            os.close(fd)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK)
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdout, "rb", 0))
        writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(stdin, "wb", 0))
    except BaseException:
        tree.kill()
        raise
    return tree, writer, reader


class LocalEngine:
    async def start(self, job: LaunchSpec) -> LocalAttempt:
        try:
            log = open_to_append(job.directory / "log.txt")
            environment = worker_environment(job.worker, job.environment)
            return LocalAttempt(job, *await spawn_worker(job.config, job.credential, job.directory, environment, log))
        except OSError as error:
            raise EngineFault(f"cannot start the worker: {describe_error(error)}") from error

    async def close(self) -> None:
        """Nothing to release."""


class LocalAttempt:
    """Its stderr goes to the worker's ``log.txt``."""

    def __init__(
        self, job: LaunchSpec, tree: ProcessTree, stdin: asyncio.WriteTransport, stdout: asyncio.StreamReader
    ) -> None:
        self._job = job
        self._tree = tree
        self._stdin = stdin
        self._stdout = stdout
        self._born = started(tree.pid)

    async def events(self) -> AsyncIterator[bytes]:
        lines = LineSplitter(_LONGEST_LINE)
        while chunk := await self._stdout.read(_CHUNK):
            for line in lines.feed(chunk):
                if line:
                    yield line
        await self._tree.wait()

    async def send(self, line: bytes) -> None:
        if self._stdin.is_closing() or self._tree.exit_code is not None:
            raise EngineFault("the worker's process has ended")
        if self._stdin.get_write_buffer_size() > _UNREAD:
            raise EngineFault("the worker does not read its input")
        self._stdin.write(line + b"\n")

    async def stop(self, grace: float) -> None:
        self._stdin.close()
        await self._tree.stop(grace)
        reap_orphans()

    def status(self) -> AttemptStatus:
        code = self._tree.exit_code
        return AttemptStatus(
            pid=self._tree.pid, born=self._born, code=code, reason="" if code is None else self._last_output(code)
        )

    async def collect(self) -> None:
        """Nothing to copy: it worked in place."""

    def _last_output(self, code: int) -> str:
        if code < 0:
            return f"its process was killed by signal {-code}"
        last_line = ""
        with suppress(OSError), open_buffered(self._job.directory / "log.txt") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _SAID))
            lines = file.read(_SAID).decode("utf-8", "replace").splitlines()
            last_line = next((line for line in reversed(lines) if line.strip()), "")
        return last_line.removeprefix("zot: ") or f"its process ended with code {code}"


_ROUNDS = 100
_PAUSE_S = 0.05
_POLITE = 20  # rounds before processes are killed: the watching shell does it first


async def kill_orphans(workers: Sequence[WorkerRecord]) -> None:
    """Returns when none of them is running."""
    if not workers:
        return
    for round in range(_ROUNDS):
        left = {worker.pid for worker in workers if worker.pid and worker.born and is_running(worker.pid, worker.born)}
        ids = {f"{AGENT_VARIABLE}={worker.id}".encode() for worker in workers}
        for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
            if name.isdigit() and int(name) != os.getpid():
                with suppress(OSError):
                    if ids.intersection(read_whole(f"/proc/{name}/environ").split(b"\0")):
                        left.add(int(name))
        if not left:
            return
        if round >= _POLITE:
            for pid in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(_PAUSE_S)
