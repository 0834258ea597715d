"""Clients that do not read, do not answer, or flood: over real sockets, with a process that speaks as ``zot rpc``."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from zot.frontends.serve.client import UNREAD_MAX, WebSocketClient
from zot.frontends.serve.conversation import RING_BYTES, UNANSWERED_MAX, Conversation
from zot.provider.http.websocket_frames import PING, encode_frame

EVENTS = 3_000
SIZE = 10_000
FAKE_RPC = f"""
import json, sys
for line in sys.stdin:
    command = json.loads(line)
    if command["type"] == "get_models":
        continue  # never answered
    print('{{"type":"response","id":"' + command["id"] + '","command":"x","success":true,"data":{{}}}}', flush=True)
    if command["type"] == "prompt":
        for number in range({EVENTS}):
            print('{{"type":"text_delta","delta":"' + "x" * {SIZE} + '"}}')
        print('{{"type":"done"}}', flush=True)
"""


class FakeClient:
    """A client that takes everything at once."""

    def __init__(self, name: str) -> None:
        self.name = self.device = name
        self.watches = False
        self.lines: list[bytes] = []

    def send(self, line: bytes) -> None:
        self.lines.append(line)

    def close(self, reason: str = "") -> None:
        pass

    async def until(self, type: str) -> None:
        async with asyncio.timeout(30):
            while not self.lines or f'"type":"{type}"'.encode() not in self.lines[-1]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@asynccontextmanager
async def conversation(cwd: Path) -> AsyncGenerator[Conversation]:
    found = Conversation("x", cwd, lambda: None)
    await found.start([sys.executable, "-c", FAKE_RPC])
    try:
        yield found
    finally:
        await found.stop()


@asynccontextmanager
async def connected(
    to: Conversation, heartbeat_s: float = 20.0
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter, asyncio.Event]]:
    """A raw socket of a client of the conversation, and whether the server has ended it."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = WebSocketClient(
            "raw", "raw", watches=True, reader=reader, writer=writer, is_allowed=lambda: True, heartbeat_s=heartbeat_s
        )
        to.join(client)
        try:
            await client.run(to)
        finally:
            to.leave(client)
            ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2], limit=1024)
    try:
        async with asyncio.timeout(5):
            while not any(client.name == "raw" for client in to.clients):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        yield reader, writer, ended
    finally:
        writer.close()
        server.close()


async def test_a_client_that_never_reads_is_cut_off_and_delays_no_other(tmp_path: Path) -> None:
    """issue 34: back-pressure per client."""
    assert EVENTS * SIZE > 2 * UNREAD_MAX
    async with conversation(tmp_path) as shared, connected(shared) as (_, _, ended):
        fast = FakeClient("fast")
        shared.join(fast)
        shared.receive(fast, b'{"type":"take_over"}')
        shared.receive(fast, b'{"type":"prompt","message":"go"}')
        await fast.until("done")
        async with asyncio.timeout(10):
            await ended.wait()
        assert sum(b'"text_delta"' in line for line in fast.lines) == EVENTS


async def test_what_is_kept_for_clients_that_come_back_is_bounded(tmp_path: Path) -> None:
    async with conversation(tmp_path) as shared:
        fast = FakeClient("fast")
        shared.join(fast)
        run = json.loads(fast.lines[0])["run"]
        shared.receive(fast, b'{"type":"prompt","message":"go"}')
        await fast.until("done")
        late = FakeClient("late")
        shared.join(late, run=run, after=1)
        assert json.loads(late.lines[0])["missed"]
        last = json.loads(late.lines[0])["seq"]
        recent = FakeClient("recent")
        shared.join(recent, run=run, after=last - RING_BYTES // SIZE // 2)
        again = [json.loads(line)["seq"] for line in recent.lines if b'"text_delta"' in line or b'"done"' in line]
        assert again == [*range(last - RING_BYTES // SIZE // 2 + 1, last + 1)]


async def test_a_client_whose_other_end_is_gone_is_ended(tmp_path: Path) -> None:
    """issue 34: half-open connections."""
    async with conversation(tmp_path) as shared, connected(shared, heartbeat_s=0.1) as (_, _, ended):
        async with asyncio.timeout(5):
            await ended.wait()
        assert not shared.clients


async def test_a_flood_of_commands_is_refused_above_the_limit(tmp_path: Path) -> None:
    async with conversation(tmp_path) as shared:
        client = FakeClient("flood")
        shared.join(client)
        for _ in range(UNANSWERED_MAX + 50):
            shared.receive(client, b'{"type":"get_models"}')
        refused = [line for line in client.lines if b"wait for their answers" in line]
        assert len(refused) == 50
        shared.receive(client, b'{"type":"hello"}')
        assert b'"success":true' in client.lines[-1]


async def test_pings_are_answered_and_bad_frames_close_the_connection(tmp_path: Path) -> None:
    async with conversation(tmp_path) as shared, connected(shared) as (reader, writer, ended):
        writer.write(encode_frame(PING, b"are you there"))
        async with asyncio.timeout(5):
            await reader.readuntil(b"\x8a\x0dare you there")
        writer.write(b"\x81\x01x")  # without a mask
        async with asyncio.timeout(5):
            assert b"\x03\xea" in await reader.read()
            await ended.wait()
