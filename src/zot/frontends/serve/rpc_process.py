"""One ``zot rpc`` for one conversation: its lines, its requests and responses. A conversation in a process of its own
cannot block another one, and ends whole when the server is killed: ``zot rpc`` ends with its client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import ZotError
from zot.features.child_process import JsonLineProcess, start_process
from zot.frontends.serve.frames import CAPABILITIES, Answer, Lost, encode
from zot.system.background_tasks import BackgroundTasks
from zot.wire import rpc_frames as wire

LONGEST_LINE = 64 * 1024 * 1024
_START_S = 60.0
_GRACE_S = 5.0
_WORDS_KEPT = 2_000  # of stderr
_TOKEN_VARIABLE = "ZOTCORE_RPC_TOKEN"


Receive = Callable[[Answer], None]


class RpcProcess:
    """``on_event`` gets each line that is no response; ``on_over`` why it ended."""

    def __init__(self, on_event: Callable[[bytes], None], on_over: Callable[[str], None]) -> None:
        self._on_event = on_event
        self._on_over = on_over
        self._process: JsonLineProcess | None = None
        self._waiting: dict[str, Receive] = {}
        self._count = 0
        self._words = b""
        self._stopping = False
        self._ending: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks()
        self.hello: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

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
        try:
            async with asyncio.timeout(_START_S):
                answer = await self.ask(wire.Hello(capabilities=CAPABILITIES))
        except TimeoutError:
            await self.stop()
            raise ZotError(f"the conversation did not start within {_START_S:g} s") from None
        if answer is None:
            await self.stop()
            raise ZotError(self._last_words() or "the conversation ended at its start")
        self.hello = answer.data

    # --- sending

    @property
    def is_backlogged(self) -> bool:
        """True while a command is not written yet."""
        return self._process is not None and self._process.is_backlogged

    def request(self, command: Any, answer: Receive) -> bool:
        """Send a command; ``answer`` gets its response, or one that failed if the conversation ends first."""
        self._count += 1
        id = str(self._count)
        line = encode(msgspec.structs.replace(command, id=id))
        self._waiting[id] = answer
        if self._process is None or not self._process.send(line + b"\n"):
            self._waiting.pop(id, None)
            return False
        return True

    async def ask(self, command: Any) -> Answer | None:
        """The response; None if the conversation ended."""
        future: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        sent = self.request(command, lambda answer: None if future.done() else future.set_result(answer))
        answer = await future if sent else None
        return answer if answer is not None and answer.command else None

    # --- receiving

    def _receive(self, line: bytes | None) -> None:
        if line is None:
            self._on_event(encode(Lost(reason=f"a line of more than {LONGEST_LINE >> 20} MiB was left out")))
        elif line.startswith(b'{"type":"response"'):
            response = _decode_response(line)
            if (answer := self._waiting.pop(str(response.id), None)) is not None:
                answer(response)
        elif line.startswith(b"{"):
            self._on_event(line)

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
        waiting, self._waiting = self._waiting, {}
        for id, answer in waiting.items():
            answer(Answer(id=id, command="", success=False, error="the conversation ended"))
        self._on_over("" if self._stopping else fault or self._last_words() or "its process ended")

    async def stop(self) -> None:
        """End the conversation at once: it stores what it has."""
        if self._process is None or self._ending is None:
            return
        self._stopping = True
        await self._process.tree.stop(_GRACE_S)
        self._process.disconnect("")
        await asyncio.wait({self._ending}, timeout=_GRACE_S)


_response = msgspec.json.Decoder(Answer).decode


def _decode_response(line: bytes) -> Answer:
    try:
        return _response(line)
    except msgspec.MsgspecError as error:
        return Answer(command="", success=False, error=f"unreadable response: {error}")
