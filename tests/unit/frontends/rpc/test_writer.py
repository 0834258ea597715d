"""The way out of ``zot rpc`` on a real pipe: order, joining, room, and a reader that goes away."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from zot.core import events
from zot.frontends.rpc import writer as room
from zot.frontends.rpc.writer import Writer
from zot.wire import rpc_frames as wire


class Pipe:
    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)

    def lines(self) -> list[dict[str, Any]]:
        """Lines that can be read now."""
        data = b""
        try:
            while piece := os.read(self.read_end, 1 << 20):
                data += piece
        except BlockingIOError:
            pass
        self.rest = data.rpartition(b"\n")[2]
        return [json.loads(line) for line in data.split(b"\n") if line]


@asynccontextmanager
async def writing() -> AsyncGenerator[tuple[Writer, Pipe]]:
    pipe = Pipe()
    writer = Writer(pipe.write_end)
    try:
        yield writer, pipe
    finally:
        writer.close()
        for fd in (pipe.read_end, pipe.write_end):
            with suppress(OSError):  # a test may have closed it
                os.close(fd)


async def drain(writer: Writer, pipe: Pipe) -> list[dict[str, Any]]:
    """Read until everything is out."""
    data = b""
    written = asyncio.ensure_future(writer.wait_until_flushed())
    while True:
        try:
            data += os.read(pipe.read_end, 1 << 20)
        except BlockingIOError:
            if written.done():
                return [json.loads(line) for line in data.splitlines()]
            await asyncio.sleep(0)


def fill(writer: Writer) -> None:
    """More than may wait unmerged."""
    writer.respond(wire.Response(command="x", success=True, data="y" * (room.MERGE_ABOVE + 100_000)))


async def test_a_line_is_written_in_the_same_round_of_the_loop() -> None:
    async with writing() as (writer, pipe):
        writer.emit(events.TurnStart(1))
        writer.emit(events.TextDelta("a"))
        await asyncio.sleep(0)
        assert pipe.lines() == [{"type": "turn_start", "step": 1}, {"type": "text_delta", "delta": "a"}]


async def test_adjacent_deltas_are_merged_and_counted() -> None:
    async with writing() as (writer, pipe):
        fill(writer)
        for delta in "abc":
            writer.emit(events.TextDelta(delta))
        writer.emit(events.ToolUseStart("t", "bash"))
        writer.emit(events.ToolUseArgs("t", '{"a"'))
        writer.emit(events.ToolUseArgs("t", ":1}"))
        writer.emit(events.ToolUseArgs("u", "{}"))
        writer.emit(events.TextDelta("d"))
        writer.emit(events.Done())
        assert (await drain(writer, pipe))[1:] == [
            {"type": "text_delta", "delta": "abc", "merged": 3},
            {"type": "tool_use_start", "id": "t", "name": "bash"},
            {"type": "tool_use_args", "id": "t", "delta": '{"a":1}', "merged": 2},
            {"type": "tool_use_args", "id": "u", "delta": "{}"},
            {"type": "text_delta", "delta": "d"},
            {"type": "done"},
        ]


async def test_merged_delta_is_written_when_there_is_room() -> None:
    async with writing() as (writer, pipe):
        fill(writer)
        await asyncio.sleep(0)
        writer.emit(events.TextDelta("a"))
        writer.emit(events.TextDelta("b"))
        assert (await drain(writer, pipe))[-1] == {"type": "text_delta", "delta": "ab", "merged": 2}


async def test_live_tool_output_keeps_its_end_and_counts_dropped() -> None:
    """rpc-047 with back-pressure"""
    async with writing() as (writer, pipe):
        fill(writer)
        pieces = [f"{n:04d}" * 1024 for n in range(100)]
        for piece in pieces:
            writer.emit(events.ToolProgress("t", piece))
        writer.emit(events.ToolResultEvent("t", False, ()))
        *_, progress, result = await drain(writer, pipe)
        assert progress["merged"] == 100 and progress["text"].endswith(pieces[-1])
        assert len(progress["text"]) + progress["dropped"] == sum(map(len, pieces))
        assert len(progress["text"]) <= 2 * room.PROGRESS_KEPT
        assert result["type"] == "tool_result"


async def test_room_is_false_while_much_waits_and_returns() -> None:
    async with writing() as (writer, pipe):
        await asyncio.wait_for(writer.wait_for_room(), 1)
        fill(writer)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.wait_for_room(), 0.05)
        await drain(writer, pipe)
        await asyncio.wait_for(writer.wait_for_room(), 1)


async def test_many_unread_answers_pause_reading_and_resume_once() -> None:
    told: list[bool] = []
    async with writing() as (writer, pipe):
        writer.on_room = lambda: told.append(True)
        for _ in range(room.RESPONSES_MAX // 1_000_000 + 1):
            writer.respond(wire.Response(command="x", success=True, data="y" * 1_000_000))
        assert writer.is_backlogged
        await drain(writer, pipe)
        await asyncio.sleep(0)
        assert (writer.is_backlogged, told) == (False, [True])


async def test_disconnected_reader_is_reported_once_without_waiting() -> None:
    """OP-1: a disconnected reader is reported once, without waiting for it."""
    told: list[bool] = []
    async with writing() as (writer, pipe):
        writer.on_closed = lambda: told.append(True)
        os.close(pipe.read_end)
        for _ in range(3):
            writer.emit(events.TurnStart(1))
            await asyncio.sleep(0)
        await asyncio.wait_for(writer.wait_until_flushed(), 1)
        await asyncio.wait_for(writer.wait_for_room(), 1)
        assert (writer.closed, told) == (True, [True])


async def test_unread_urgent_events_disconnect_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pushed frames of extensions have no other limit."""
    monkeypatch.setattr(room, "GIVE_UP_ABOVE", 200_000)
    async with writing() as (writer, _):
        note = wire.ExtNotify(extension="x", level="info", message="y" * 1000)
        for _ in range(1000):
            writer.send_event(note)
        assert writer.closed
        await asyncio.wait_for(writer.wait_for_room(), 1)


async def test_the_descriptor_is_given_back_blocking() -> None:
    pipe = Pipe()
    writer = Writer(pipe.write_end)
    assert not os.get_blocking(pipe.write_end)
    writer.close()
    assert os.get_blocking(pipe.write_end)
    os.close(pipe.read_end)
    os.close(pipe.write_end)


async def test_progress_that_replaces_keeps_only_the_newest() -> None:
    """ext2-058: progress of an extension's tool is not joined: the newest counts."""
    async with writing() as (writer, pipe):
        fill(writer)
        for number in range(3):
            writer.emit(events.ToolProgress("t", f"step {number}", True, number / 4))
        writer.emit(events.ToolProgress("t", "more"))
        *_, newest, appended = await drain(writer, pipe)
        assert (newest["text"], newest["replace"], newest["fraction"], newest["merged"]) == ("step 2", True, 0.5, 3)
        assert appended["text"] == "more" and "replace" not in appended
