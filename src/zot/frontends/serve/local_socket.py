"""The socket for other zots of this user on this machine: terminals that share a conversation or join one.
Its directory is private, so nothing asks for a key; commands of agents are refused. The first line is a request, the
answer another; then RPC lines."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import ZotError, describe_error
from zot.frontends.serve import frames
from zot.frontends.serve.hosted_rpc import HostedRpc
from zot.system.private_socket import is_own_peer, listen_privately, peer_process, remove_private_socket
from zot.system.process_mark import is_marked
from zot.wire.line_splitter import LineSplitter
from zot.wire.rpc_frames import MAX_LINE

if TYPE_CHECKING:
    from zot.frontends.serve.conversation import Conversation
    from zot.frontends.serve.hub import Hub

PREFIX = "zot-serve-"
UNREAD_MAX = 8 * 1024 * 1024  # bytes that a client has not read; then it is cut off
_READ = 64 * 1024
_REQUEST_S = 10.0
_ROOM_S = 0.005


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``host``: this process has a conversation; ``join``: one of the server's; ``list`` them."""

    do: str
    conversation: str = ""
    directory: str = ""
    device: str = ""
    watch: bool = False


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``error`` is set if the request was refused."""

    error: str = ""
    conversations: tuple[Any, ...] = ()


class LocalSocket:
    """``path`` is known once it is open."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._server: asyncio.Server | None = None
        self._visits: set[asyncio.Task[None]] = set()
        self._names = itertools.count(1)
        self.clients: set[LineClient] = set()
        self.path = ""

    async def open(self) -> None:
        """ZotError if there is no place for it."""
        listening = listen_privately(PREFIX, "zot serve")
        self.path = str(listening.getsockname())
        self._server = await asyncio.start_unix_server(self._visited, sock=listening, limit=MAX_LINE)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            remove_private_socket(self.path, PREFIX)
        for client in [*self.clients]:
            client.close("the server ended")
        for visit in [*self._visits]:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        try:
            connection = writer.get_extra_info("socket")
            if is_own_peer(connection):
                async with asyncio.timeout(_REQUEST_S):
                    request = msgspec.json.decode(await reader.readline(), type=Request)
                if (pid := peer_process(connection)) and is_marked(pid):
                    raise ZotError(_OF_AN_AGENT)
                await self._answer(request, reader, writer)
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError):
            pass  # an invalid request gets no answer
        except ZotError as error:
            _reply(writer, Reply(error=str(error)))
        except asyncio.CancelledError:
            pass  # by `close`; asyncio would log it
        finally:
            self._visits.discard(task)
            writer.close()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if request.do == "list":
                _reply(writer, Reply(conversations=tuple(await self._hub.list())))
                await writer.drain()
            elif request.do == "host":
                await self._host(request, reader, writer)
            else:
                await self._join(await self._hub.get(request.conversation, request.directory), request, reader, writer)
        except ZotError as error:
            _reply(writer, Reply(error=describe_error(error)))
            await writer.drain()

    async def _host(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def link(on_event: Any, on_over: Any) -> HostedRpc:
            return HostedRpc(on_event, on_over, reader, writer)

        conversation = self._hub.host(request.conversation, request.directory, link)
        _reply(writer, Reply())
        assert isinstance(conversation.link, HostedRpc)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(conversation.link.run())
            try:
                await conversation.greet()
            except ZotError:
                reading.cancel()  # it left before its first answer

    async def _join(
        self, conversation: Conversation, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        client = LineClient(f"local-{next(self._names)}", request.device, writer, watches=request.watch)
        self.clients.add(client)
        _reply(writer, Reply())
        try:
            conversation.join(client)
            await client.run(conversation, reader)
        except ZotError as error:
            client.close(str(error))
        finally:
            conversation.leave(client)
            self.clients.discard(client)


class LineClient:
    """A client on this machine; one line for each message."""

    def __init__(self, name: str, device: str, writer: asyncio.StreamWriter, *, watches: bool) -> None:
        self.name = name
        self.device = device or "terminal"
        self.watches = watches
        self._writer = writer
        self._lines = LineSplitter(MAX_LINE)

    def send(self, line: bytes) -> None:
        if self._writer.transport.get_write_buffer_size() > UNREAD_MAX:
            self._writer.transport.abort()
        elif not self._writer.transport.is_closing():
            self._writer.write(line + b"\n")

    def close(self, reason: str = "") -> None:
        self.send(frames.encode(frames.Closed(reason=reason)))
        self._writer.close()

    async def run(self, conversation: Conversation, reader: asyncio.StreamReader) -> None:
        """Pass its messages on until the connection ends."""
        while data := await reader.read(_READ):
            for line in self._lines.feed(data):
                while conversation.is_backlogged:  # noqa: ASYNC110  rare, and it delays only this client
                    await asyncio.sleep(_ROOM_S)
                if line is None:
                    self.close(f"a message has at most {MAX_LINE >> 20} MiB")
                    return
                conversation.receive(self, line)


# It could approve its own calls, or leave its jail through another conversation.
_OF_AN_AGENT = "denied: a command that an agent runs cannot share or join conversations"


def _reply(writer: asyncio.StreamWriter, reply: Reply) -> None:
    writer.write(frames.encode(reply) + b"\n")
