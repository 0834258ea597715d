"""The one answer a command gets, now or later."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import msgspec

from zot.errors import ZotError, in_words
from zot.frontends.rpc.writer import Writer
from zot.wire.rpc_frames import Command, Response


class Reply:
    """Call it with the data, or ``fail`` with the reason; once."""

    __slots__ = ("_command", "_id", "_writer")

    def __init__(self, writer: Writer, command: Command) -> None:
        self._writer = writer
        self._id = command.id
        self._command = str(command.__struct_config__.tag)

    def __call__(self, data: Any = msgspec.UNSET) -> None:
        self._writer.respond(Response(id=self._id, command=self._command, success=True, data=data))

    def fail(self, error: str) -> None:
        self._writer.respond(Response(id=self._id, command=self._command, success=False, error=error))


async def answer(work: Awaitable[Any], reply: Reply) -> None:
    """With what the work comes to, later."""
    try:
        data = await work
    except (ZotError, OSError) as error:
        reply.fail(in_words(error))
    else:
        reply(msgspec.UNSET if data is None else data)
