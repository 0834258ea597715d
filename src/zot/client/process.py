"""``zot rpc`` as a child process: lines in, lines out, the end of its stderr, and a guaranteed exit.
The child has its own session, so Ctrl-C reaches only the caller. It exits when its stdin closes, so it does not
outlive a killed caller."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress

from zot.errors import ProcessExited
from zot.wire.line_splitter import LineSplitter

_CHUNK = 64 * 1024
_STDERR_KEPT = 64 * 1024
_TERM_GRACE = 1.0
_FAREWELL = 1.0


class RpcProcess:
    """``stderr`` is the end of its stderr; ``heard_stderr`` is called with each line."""

    def __init__(self, process: Process, heard_stderr: Callable[[str], None] | None) -> None:
        self._process = process
        self._heard_stderr = heard_stderr
        self._stderr = b""
        self.received = 0  # bytes of stdout so far

    @classmethod
    async def spawn(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        heard_stderr: Callable[[str], None] | None = None,
    ) -> RpcProcess:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, cwd=cwd, start_new_session=True
            )
        except OSError as error:
            raise ProcessExited(f"cannot start {argv[0]}: {error.strerror or error}") from error
        return cls(process, heard_stderr)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    async def write(self, line: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(line)
            await stdin.drain()
        except (ConnectionError, RuntimeError):  # RuntimeError: the transport is closed
            raise await self.farewell() from None

    def post(self, line: bytes) -> None:
        """Write without waiting; data for a closed pipe is dropped."""
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(line)

    async def lines(self) -> AsyncIterator[bytes]:
        """Every line of stdout until it ends; lines may be of any length."""
        stdout = self._process.stdout
        assert stdout is not None
        lines = LineSplitter()
        while chunk := await stdout.read(_CHUNK):
            self.received += len(chunk)
            for line in lines.feed(chunk):
                if line is not None:
                    yield line
        if last := lines.rest():
            yield last

    async def read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        lines = LineSplitter()
        while chunk := await stderr.read(_CHUNK):
            self._stderr = (self._stderr + chunk)[-_STDERR_KEPT:]
            for line in lines.feed(chunk):
                if line is not None and self._heard_stderr is not None:
                    self._heard_stderr(line.decode("utf-8", "replace"))

    async def last_stderr(self, seconds: float) -> None:
        """stdout has ended: wait briefly for the exit code and stderr."""
        if not await self._ended_within(seconds):
            self.kill()
            await self._process.wait()
        await asyncio.sleep(0)

    async def farewell(self) -> ProcessExited:
        """As ``gone``, after a short wait if it is just ending: an exit code says more than a closed pipe."""
        await self._ended_within(_FAREWELL)
        return self.gone()

    def gone(self) -> ProcessExited:
        """Why zot cannot be reached, with the end of its stderr."""
        code = self._process.returncode
        how = "closed its stdout" if code is None else f"exited with code {code}"
        words = self.stderr.strip()
        return ProcessExited(f"zot {how}" + (f": {words.splitlines()[-1]}" if words else ""), words)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def end(self, grace: float) -> None:
        """Close its stdin and wait this many seconds; then terminate, then kill."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        for patience, insist in ((grace, self._terminate), (_TERM_GRACE, self.kill)):
            if await self._ended_within(patience):
                return
            insist()
        await self._process.wait()

    async def _ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    def _terminate(self) -> None:
        with suppress(ProcessLookupError):
            self._process.terminate()
