"""Amazon's binary framing, with Amazon's own reader as the judge."""

from __future__ import annotations

import random
import struct
import tracemalloc
from binascii import crc32
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from tests.fakes.event_frames import event_frame, exception_frame, frame
from zot.errors import TransportFailed
from zot.provider.http.aws_eventstream import EventStreamParser
from zot.provider.http.sse import MAX_STREAM_BYTES, SseEvent

STREAM = b"".join(
    [
        event_frame("messageStart", {"role": "assistant"}),
        *(event_frame("contentBlockDelta", {"delta": {"text": f"é{n}" * n}}) for n in range(30)),
        frame({}, b""),
        exception_frame("throttlingException", "slow down"),
    ]
)


def test_event_stream_reader_equals_amazon_reader() -> None:
    theirs = EventStreamBuffer()
    theirs.add_data(STREAM)
    read: list[tuple[str, bytes]] = []
    for message in theirs:
        headers: dict[str, Any] = message.headers
        name = headers.get(":event-type", "")
        if ":exception-type" in headers:
            name = f"exception:{headers[':exception-type']}"
        read.append((name, message.payload))
    assert [(event.event, event.data) for event in EventStreamParser().feed(STREAM)] == read
    assert len(read) == 33


def test_events_are_equal_for_any_chunking() -> None:
    whole = EventStreamParser().feed(STREAM)
    chance = random.Random(7)
    for _ in range(20):
        parser, got, at = EventStreamParser(), list[SseEvent](), 0
        while at < len(STREAM):
            step = chance.choice((1, 2, 3, 12, 200, 1000))
            got += parser.feed(STREAM[at : at + step])
            at += step
        assert got + parser.close() == whole


def test_an_error_is_made_of_its_headers() -> None:
    headers = {":message-type": "error", ":error-code": "InternalError", ":error-message": 'it "broke"'}
    (event,) = EventStreamParser().feed(frame(headers, b""))
    assert event == SseEvent("error:InternalError", b'{"message":"it \\"broke\\""}')


def test_headers_of_every_type_are_stepped_over() -> None:
    values = [
        b"\0",
        b"\1",
        b"\2x",
        b"\3xx",
        b"\4xxxx",
        b"\5" + b"x" * 8,
        b"\6\0\2xx",
        b"\x08" + b"x" * 8,
        b"\x09" + b"x" * 16,
    ]
    head = b"".join(bytes([1]) + b"h" + value for value in values) + b"\x0b:event-type\x07\x00\x04ping"
    prelude = struct.pack(">II", 16 + len(head), len(head))
    body = prelude + struct.pack(">I", crc32(prelude)) + head
    assert EventStreamParser().feed(body + struct.pack(">I", crc32(body))) == [SseEvent("ping", b"")]


@pytest.mark.parametrize("at", [0, 5, 9, 13, 40, len(event_frame("x", {"a": 1})) - 1])
def test_a_changed_byte_is_noticed(at: int) -> None:
    message = bytearray(event_frame("x", {"a": 1}))
    message[at] ^= 1
    with pytest.raises(TransportFailed, match="protocol error"):
        EventStreamParser().feed(bytes(message))


def _prelude(total: int, headers: int) -> bytes:
    lengths = struct.pack(">II", total, headers)
    return lengths + struct.pack(">I", crc32(lengths))


@pytest.mark.parametrize(
    ("total", "headers", "words"),
    [
        (15, 0, "invalid message size"),
        (100, 85, "invalid message size"),
        (1 << 20, 1 << 19, "invalid message size"),
        (0xFFFFFFFF, 10, "larger than"),
    ],
)
def test_impossible_lengths_are_rejected_before_waiting(total: int, headers: int, words: str) -> None:
    with pytest.raises(TransportFailed, match=words) as caught:
        EventStreamParser().feed(_prelude(total, headers))
    assert not caught.value.retryable


@pytest.mark.parametrize("head", [b"\x05ab", b"\x01h\x07\xff\xffx", b"\x01h\x63", b"\x01h\x05xx"])
def test_headers_that_end_in_the_middle_are_refused(head: bytes) -> None:
    body = _prelude(16 + len(head), len(head)) + head
    with pytest.raises(TransportFailed, match="protocol error"):
        EventStreamParser().feed(body + struct.pack(">I", crc32(body)))


@pytest.mark.parametrize("page", [b"<html>Sign in</html>", b"data: {}\n\n" * 3, b"\0" * 100])
def test_other_bytes_are_not_an_event_stream(page: bytes) -> None:
    with pytest.raises(TransportFailed, match=r"not an event stream|invalid message size"):
        EventStreamParser().feed(page)


def test_half_a_message_is_nothing() -> None:
    parser = EventStreamParser()
    assert parser.feed(STREAM[:20]) == parser.close() == []


def test_endless_stream_is_closed() -> None:
    parser, message = EventStreamParser(), event_frame("x", {"text": "a" * 2**20})
    tracemalloc.start()
    with pytest.raises(TransportFailed, match="256 MiB"):
        for _ in range(MAX_STREAM_BYTES // len(message) + 2):
            parser.feed(message)
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()
