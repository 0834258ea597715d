"""The one answer a command gets, now or later."""

from __future__ import annotations

from typing import Any

import msgspec

from zot.agent.modes.rpc.writer import Writer
from zot.wire.rpc_frames import AnyCommand, Response


class Reply:
    """Call it with the data, or ``fail`` with the reason; once."""

    __slots__ = ("_command", "_id", "_writer")

    def __init__(self, writer: Writer, command: AnyCommand) -> None:
        self._writer = writer
        self._id = command.id
        self._command = str(command.__struct_config__.tag)

    def __call__(self, data: Any = msgspec.UNSET) -> None:
        self._writer.respond(Response(id=self._id, command=self._command, success=True, data=data))

    def fail(self, error: str) -> None:
        self._writer.respond(Response(id=self._id, command=self._command, success=False, error=error))
