"""One hook's process: JSON on stdin, output up to a limit, killed with its children after its timeout. Background
children live until zot ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from zot.errors import describe_error
from zot.features.stderr_pipe import ChildPipe
from zot.system.processes import ProcessTree, SandboxLauncher, spawn

MOST_BYTES = 1 << 20
_LINGER_S = 0.2  # for output written just before the exit
_STOP_S = 0.5


class HookResult(msgspec.Struct, frozen=True):
    """``failure`` is why there is no exit code; ``cut``: the output exceeded the limit."""

    code: int = 0
    out: str = ""
    err: str = ""
    failure: str = ""
    cut: bool = False


async def run_hook(
    argv: Sequence[str],
    given: bytes,
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    jail: SandboxLauncher | None,
) -> HookResult:
    """Run the process to its end; cancelling kills it."""
    pipes = (_Pipe(), _Pipe())
    stdin = -1
    try:
        if hasattr(os, "memfd_create"):
            stdin = os.memfd_create("hook")
        else:
            import tempfile

            with tempfile.TemporaryFile() as file:
                stdin = os.dup(file.fileno())
        left = memoryview(given)
        while left:
            left = left[os.write(stdin, left) :]
        os.lseek(stdin, 0, os.SEEK_SET)
        out, err = pipes[0].for_child, pipes[1].for_child
        tree = spawn(argv, cwd=cwd, env=env, stdin=stdin, stdout=out, stderr=err, jail=jail)
    except (OSError, RuntimeError, ValueError) as error:
        reason = describe_error(error) if isinstance(error, OSError) else str(error)
        return HookResult(failure=f"cannot start: {reason}")
    finally:
        if stdin >= 0:
            os.close(stdin)
        for pipe in pipes:
            os.close(pipe.for_child)
    try:
        return await _finished(tree, pipes[0], pipes[1], timeout_s)
    finally:
        for pipe in pipes:
            pipe.close()


async def _finished(tree: ProcessTree, out: _Pipe, err: _Pipe, timeout_s: float) -> HookResult:
    try:
        async with asyncio.timeout(timeout_s):
            code = await tree.wait()
    except TimeoutError:
        await tree.stop(_STOP_S)
        return HookResult(failure=f"timed out after {timeout_s:g} s")
    except BaseException:
        await tree.stop(_STOP_S)
        raise
    await out.wait(_LINGER_S)
    await err.wait(_LINGER_S)
    tree.detach(suspicious=not (out.ended and err.ended))
    if tree.jail_failed:
        return HookResult(failure=f"cannot create its jail: {err.text().strip()[:200]}")
    failure = f"killed by signal {-code}" if code < 0 else ""
    return HookResult(code, out.text(), err.text(), failure, out.cut)


class _Pipe(ChildPipe):
    """Stores the first ``MOST_BYTES`` of the output and drops the rest."""

    def __init__(self) -> None:
        super().__init__()
        self._data = bytearray()
        self.cut = self.ended = False
        self._end: asyncio.Future[None] = self._loop.create_future()

    async def wait(self, seconds: float) -> None:
        if not self.ended:
            await asyncio.wait([self._end], timeout=seconds)

    def text(self) -> str:
        return self._data.decode("utf-8", "replace")

    def close(self) -> None:
        super().close()
        self._end.cancel()

    def _at_end(self) -> None:
        self.ended = True
        if not self._end.done():
            self._end.set_result(None)
        super()._at_end()

    def _take(self, data: bytes) -> None:
        room = MOST_BYTES - len(self._data)
        self.cut = self.cut or len(data) > room
        self._data += data[: max(room, 0)]
