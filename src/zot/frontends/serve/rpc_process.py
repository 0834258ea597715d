"""One ``zot rpc`` for one conversation. A conversation in a process of its own
cannot block another one, and ends whole when the server is killed: ``zot rpc`` ends with its client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from zot.errors import ZotError
from zot.features.child_process import JsonLineProcess, start_process
from zot.frontends.serve.rpc_link import LONGEST_LINE, RpcLink
from zot.system.background_tasks import BackgroundTasks

_GRACE_S = 5.0
_WORDS_KEPT = 2_000  # of stderr
_TOKEN_VARIABLE = "ZOTCORE_RPC_TOKEN"


class RpcProcess(RpcLink):
    """``start`` it; its last line on stderr is the reason if it ends."""

    def __init__(self, on_event: Callable[[bytes], None], on_over: Callable[[str], None]) -> None:
        super().__init__(on_event, on_over)
        self._process: JsonLineProcess | None = None
        self._words = b""
        self._stopping = False
        self._ending: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks()

    async def start(self, argv: Sequence[str], cwd: Path) -> None:
        """ZotError with the reason, if it does not start."""
        environment = {name: value for name, value in os.environ.items() if name != _TOKEN_VARIABLE}
        read_end, write_end = os.pipe()
        try:
            # sockets: a command of the model must not write approvals into its stdin
            self._process = start_process(
                argv, cwd=cwd, env=environment, stderr=write_end, receive=self._receive, private=True,
                longest=LONGEST_LINE,
            )  # fmt: skip
        except OSError as error:
            os.close(read_end)
            raise ZotError(f"cannot start a conversation: {error.strerror or error}") from error
        finally:
            os.close(write_end)
        self._listen(read_end)
        self._ending = self._tasks.add(asyncio.create_task(self._watch(self._process)))
        await self.greet()

    @property
    def is_backlogged(self) -> bool:
        return self._process is not None and self._process.is_backlogged

    def _send(self, line: bytes) -> bool:
        return self._process is not None and self._process.send(line)

    def _listen(self, fd: int) -> None:
        """Keep the end of what it writes to stderr: why it could not start, or ended."""
        loop = asyncio.get_running_loop()
        os.set_blocking(fd, False)

        def read() -> None:
            with suppress(BlockingIOError):
                piece = os.read(fd, 64 * 1024)
                self._words = (self._words + piece)[-_WORDS_KEPT:]
                if not piece:
                    loop.remove_reader(fd)
                    os.close(fd)

        loop.add_reader(fd, read)

    def _last_words(self) -> str:
        lines = self._words.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("zot: ")[:500] if lines else ""

    # --- the end

    async def _watch(self, process: JsonLineProcess) -> None:
        exited = self._tasks.add(asyncio.create_task(process.watch_exit()))
        try:
            fault = await process.over
            await process.tree.stop(_GRACE_S)
        finally:
            exited.cancel()
            process.disconnect("")
        self._ended("" if self._stopping else fault or self._last_words() or "its process ended")

    async def stop(self) -> None:
        """End the conversation at once: it stores what it has."""
        if self._process is None or self._ending is None:
            return
        self._stopping = True
        await self._process.tree.stop(_GRACE_S)
        self._process.disconnect("")
        await asyncio.wait({self._ending}, timeout=_GRACE_S)
