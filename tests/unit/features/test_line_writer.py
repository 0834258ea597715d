"""The bounded queue to one child, over a real pipe."""

from __future__ import annotations

import asyncio
import os

import pytest

from zot.features.child_process import LineWriter
from zot.wire import limits

LINE = b"x" * 999 + b"\n"


class Pipe:
    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self.faults: list[str] = []
        self.writer = LineWriter(write_end, self.faults.append)

    def read(self) -> bytes:
        try:
            return os.read(self.read_end, 1 << 20)
        except BlockingIOError:
            return b""

    async def drain(self) -> bytes:
        """Everything up to the end of the stream."""
        data = b""
        while True:
            try:
                piece = os.read(self.read_end, 1 << 20)
            except BlockingIOError:
                await asyncio.sleep(0.001)
                continue
            if not piece:
                return data
            data += piece


async def test_frames_go_out_at_once_and_in_order() -> None:
    pipe = Pipe()
    assert pipe.writer.send(b"1\n") and pipe.writer.send(b"2\n")
    assert pipe.read() == b"1\n2\n"
    pipe.writer.close()
    assert not pipe.writer.send(b"3\n")


async def test_full_pipe_queues_and_delivers_in_order() -> None:
    pipe = Pipe()
    lines = [b"%06d" % number + LINE[6:] for number in range(250)]
    assert all(pipe.writer.send(line) for line in lines)
    pipe.writer.finish()
    assert not pipe.writer.send(b"late\n")
    assert await pipe.drain() == b"".join(lines) and pipe.faults == []


async def test_more_frames_than_the_queue_limit_disconnect() -> None:
    """ext-133: a child that stops reading is disconnected once 256 frames are queued."""
    pipe = Pipe()
    sent = 0
    while pipe.writer.send(LINE):
        sent += 1
    assert limits.QUEUE_FRAMES < sent < limits.QUEUE_FRAMES + 70 and "256 frames" in pipe.faults[0]


async def test_more_bytes_than_the_queue_limit_disconnect() -> None:
    """ext-133: a child that stops reading is disconnected once 16 MiB are queued."""
    pipe = Pipe()
    big = b"x" * (4 << 20) + b"\n"
    assert [pipe.writer.send(big) for _ in range(5)] == [True, True, True, True, False] and len(pipe.faults) == 1


async def test_one_stuck_write_disconnects_and_a_slow_reader_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """§22.7: one write that is stuck disconnects the child; a slow reader is left alone."""
    monkeypatch.setattr(limits, "WRITE_DEADLINE", 0.15)
    stuck, slow = Pipe(), Pipe()
    for pipe in (stuck, slow):
        for _ in range(100):
            pipe.writer.send(LINE * 4)
    async with asyncio.timeout(5):
        while not stuck.faults:
            slow.read()
            await asyncio.sleep(0.01)
    assert slow.faults == []


async def test_disconnected_reader_is_not_a_fault() -> None:
    """§11: writes to a dead child fail quietly"""
    pipe = Pipe()
    os.close(pipe.read_end)
    assert not pipe.writer.send(b"1\n") and pipe.faults == []
    pipe.writer.finish()
    pipe.writer.close()
