"""The SSE reader: engine-001 to engine-006, and that the network's cuts never show."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zot.errors import TransportFailed
from zot.provider.http.sse import SseEvent, SseParser


def parse(*chunks: bytes) -> list[SseEvent]:
    parser = SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close()


def test_event_and_data_lines_make_one_event() -> None:
    """engine-001: an `event:` line, a `data:` line and a blank line yield one event with that name and data."""
    assert parse(b'event: foo\ndata: {"a":1}\n\n') == [SseEvent("foo", b'{"a":1}')]


def test_two_data_lines_join_with_a_newline() -> None:
    """engine-002: two `data:` lines of one event are joined by a newline."""
    assert parse(b"data: one\ndata: two\n\n") == [SseEvent("", b"one\ntwo")]


def test_data_lines_after_event_line_are_joined() -> None:
    """engine-002: the same holds when an `event:` line comes first."""
    assert parse(b"event: x\ndata: one\ndata: two\n\n") == [SseEvent("x", b"one\ntwo")]


@pytest.mark.parametrize("comment", [b": keep-alive\n\n", b":\n\n", b":data: no\n"])
def test_comments_make_no_event(comment: bytes) -> None:
    """engine-003: lines that begin with a colon yield no event."""
    assert parse(comment) == []


def test_a_comment_inside_an_event_is_dropped() -> None:
    """engine-003: a comment between the lines of an event does not end or change it."""
    assert parse(b"event: a\n: note\ndata: b\n\n") == [SseEvent("a", b"b")]


@pytest.mark.parametrize("tail", [b"", b"\n"])
def test_event_without_blank_line_is_delivered_at_end_of_input(tail: bytes) -> None:
    """engine-004: an event that no blank line follows is delivered when the input ends."""
    parser = SseParser()
    assert parser.feed(b"event: last\ndata: words" + tail) == []
    assert parser.close() == [SseEvent("last", b"words")]


@pytest.mark.parametrize("end", [b"\r\n", b"\r", b"\n"])
def test_every_line_end_gives_the_same_events(end: bytes) -> None:
    """engine-005: `LF`, `CRLF` and `CR` line ends yield the same events."""
    text = b"event: a\ndata: 1\n\n: c\n\ndata: 2\ndata: 3\n\n"
    assert parse(text.replace(b"\n", end)) == [SseEvent("a", b"1"), SseEvent("", b"2\n3")]


def test_crlf_split_between_chunks_is_one_line_end() -> None:
    """engine-005: a `CRLF` that is split between two chunks counts as one line end."""
    assert parse(b"data: 1\r", b"\ndata: 2\r", b"\n\r", b"\n") == [SseEvent("", b"1\n2")]


def test_a_character_split_between_chunks_stays_whole() -> None:
    """engine-006: a multi-byte character survives a cut at any of its bytes."""
    text = 'data: {"t":"é€😀"}\n\n'.encode()
    for cut in range(len(text)):
        assert parse(text[:cut], text[cut:]) == [SseEvent("", '{"t":"é€😀"}'.encode())]


def test_only_one_space_after_the_colon_is_removed() -> None:
    assert parse(b"data:  two\n\ndata:none\n\n") == [SseEvent("", b" two"), SseEvent("", b"none")]


def test_other_fields_are_ignored() -> None:
    assert parse(b"id: 7\nretry: 10\nunknown\ndata: x\n\n") == [SseEvent("", b"x")]


def test_event_without_data_is_delivered_and_empty_data_is_not() -> None:
    assert parse(b"event: ping\n\ndata:\n\ndata: \n\n\n\n") == [SseEvent("ping", b"")]


def test_a_byte_order_mark_is_dropped_even_when_split() -> None:
    assert parse(b"\xef", b"\xbb", b"\xbfdata: x\n\n") == [SseEvent("", b"x")]
    assert parse(b"\xef\xbb\xbfdata: x\n\n") == [SseEvent("", b"x")]


def test_an_endless_line_is_a_protocol_error_not_an_end() -> None:
    parser = SseParser(limit=1000)
    with pytest.raises(TransportFailed, match="larger than 1000 bytes"):
        for _ in range(20):
            parser.feed(b"x" * 100)


def test_an_endless_event_of_short_lines_is_a_protocol_error() -> None:
    parser = SseParser(limit=1000)
    with pytest.raises(TransportFailed, match="larger than 1000 bytes"):
        for _ in range(200):
            parser.feed(b"data: xxxxxxxxx\n")


@pytest.mark.parametrize("line", [b"data:\n", b"data\n", b"data: \r\n"])
def test_an_event_of_endless_empty_lines_is_a_protocol_error(line: bytes) -> None:
    """Attack: lines without bytes never reach a limit of bytes."""
    parser = SseParser()
    with pytest.raises(TransportFailed, match="more than 100,000 lines"):
        for _ in range(200):
            parser.feed(line * 1000)


def test_a_stream_without_an_end_is_a_protocol_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zot.provider.http.sse.MAX_STREAM_BYTES", 10_000)
    parser = SseParser()
    with pytest.raises(TransportFailed, match="the stream is larger than"):
        for _ in range(2000):
            parser.feed(b": comment\n\n")


def test_a_line_that_comes_byte_by_byte_costs_its_length_once() -> None:
    parser = SseParser()
    for _ in range(200_000):
        parser.feed(b"x")
    assert parser.feed(b"\ndata: 1\n\n") == [SseEvent("", b"1")]


def test_many_events_do_not_add_up_to_the_limit() -> None:
    parser = SseParser(limit=100)
    assert (
        sum(len(parser.feed(b"data: 0123456789\ndata: x\n\nda")) + len(parser.feed(b"ta: y\n\n")) for _ in range(50))
        == 100
    )


LINES = st.sampled_from(
    [
        b"data: {}",
        b"data:x",
        b"data",
        b"event: a",
        b"event:",
        b":c",
        b"",
        b"",
        b"id: 1",
        "data: é😀".encode(),
        b"data: ",
    ]
)


@settings(max_examples=int(os.environ.get("ZOT_FUZZ", "200")), deadline=None)
@given(
    lines=st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=30),
    tail=st.sampled_from([b"", b"data: tail", b"event: e"]),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_property_any_cut_gives_the_same_events(lines: list[tuple[bytes, bytes]], tail: bytes, cuts: list[int]) -> None:
    """engine-006: however the bytes are cut into chunks, the events are the same."""
    text = b"".join(line + end for line, end in lines) + tail
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert parse(*pieces) == parse(text) == reference(text)


def reference(text: bytes) -> list[SseEvent]:
    """The rules, one line at a time, with no eye for speed."""
    events: list[SseEvent] = []
    event, data = b"", list[bytes]()
    for line in [*text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), b""]:
        field, _, value = line.partition(b":")
        if not line:
            if event or b"\n".join(data):
                events.append(SseEvent(event.decode(), b"\n".join(data)))
            event, data = b"", []
        elif field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            event = value.removeprefix(b" ")
    return events
