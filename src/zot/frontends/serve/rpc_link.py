"""A conversation at the other end of a stream of RPC lines: requests, responses and events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from zot.errors import ZotError
from zot.frontends.serve.frames import CAPABILITIES, Answer, Lost, encode
from zot.wire import rpc_frames as wire

LONGEST_LINE = 64 * 1024 * 1024
_START_S = 60.0

Receive = Callable[[Answer], None]


class RpcLink:
    """``on_event`` gets each line that is no response; ``on_over`` why it ended."""

    has_terminal = False  # a user sits at the other end

    def __init__(self, on_event: Callable[[bytes], None], on_over: Callable[[str], None]) -> None:
        self._on_event = on_event
        self._on_over = on_over
        self._waiting: dict[str, Receive] = {}
        self._count = 0
        self.hello: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    async def greet(self) -> None:
        """Announce what clients can do; ZotError if the conversation does not answer."""
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

    async def stop(self) -> None:
        raise NotImplementedError

    def _last_words(self) -> str:
        return ""

    # --- sending

    @property
    def is_backlogged(self) -> bool:
        """True while a command is not written yet."""
        raise NotImplementedError

    def _send(self, line: bytes) -> bool:
        """False if it has ended."""
        raise NotImplementedError

    def request(self, command: Any, answer: Receive) -> bool:
        """Send a command; ``answer`` gets its response, or one that failed if the conversation ends first."""
        self._count += 1
        id = str(self._count)
        line = encode(msgspec.structs.replace(command, id=id))
        self._waiting[id] = answer
        if not self._send(line + b"\n"):
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

    def _ended(self, reason: str) -> None:
        """Commands without a response fail."""
        waiting, self._waiting = self._waiting, {}
        for id, answer in waiting.items():
            answer(Answer(id=id, command="", success=False, error="the conversation ended"))
        self._on_over(reason)


_response = msgspec.json.Decoder(Answer).decode


def _decode_response(line: bytes) -> Answer:
    try:
        return _response(line)
    except msgspec.MsgspecError as error:
        return Answer(command="", success=False, error=f"unreadable response: {error}")
