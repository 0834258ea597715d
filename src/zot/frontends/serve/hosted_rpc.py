"""A conversation that a terminal shares: its process speaks RPC over a connection that it made to this server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from zot.frontends.serve.rpc_link import LONGEST_LINE, RpcLink
from zot.wire.line_splitter import LineSplitter

_READ = 256 * 1024
_UNREAD_MAX = 1024 * 1024  # bytes; then clients wait


class HostedRpc(RpcLink):
    """``run`` reads it until it ends."""

    has_terminal = True

    def __init__(
        self,
        on_event: Callable[[bytes], None],
        on_over: Callable[[str], None],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        super().__init__(on_event, on_over)
        self._reader = reader
        self._writer = writer
        self._lines = LineSplitter(LONGEST_LINE)

    async def run(self) -> None:
        try:
            while data := await self._reader.read(_READ):
                for line in self._lines.feed(data):
                    self._receive(line)
        except OSError:
            pass  # it is gone
        finally:
            self._ended("its terminal ended, or no longer shares it")

    @property
    def is_backlogged(self) -> bool:
        return self._writer.transport.get_write_buffer_size() > _UNREAD_MAX

    def _send(self, line: bytes) -> bool:
        if self._writer.transport.is_closing():
            return False
        self._writer.write(line)
        return True

    async def stop(self) -> None:
        """The terminal goes on without other clients."""
        self._writer.close()
