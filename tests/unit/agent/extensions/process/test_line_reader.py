"""Bytes to lines, whatever the pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from zot.agent.extensions.process.pipes import LineReader

LINES = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=20)


@given(LINES, st.lists(st.integers(0, 400)))
def test_lines_are_the_same_however_they_are_cut_property(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    reader, heard = LineReader(limit=20), []
    for start, end in pairwise(places):
        heard += reader.feed(data[start:end])
    assert heard == [line if len(line) < 20 else None for line in lines]


def test_a_long_line_is_reported_once_and_not_kept() -> None:
    reader = LineReader(limit=100)
    assert reader.feed(b"x" * 60) == [] and reader.feed(b"x" * 60) == [None]
    assert reader.feed(b"x" * 1000) == [] and reader.is_inside_a_long_line
    assert reader.feed(b"x\nnext\nlast") == [b"next"]
    assert reader.end() == [b"last"] and reader.end() == []


def test_the_limit_counts_the_line_feed() -> None:
    """ext-010: the line feed counts towards the limit of a line."""
    reader = LineReader(limit=10)
    assert reader.feed(b"x" * 9) == [] and reader.feed(b"\n") == [b"x" * 9]
    assert reader.feed(b"x" * 10) == [None]


def test_the_end_in_a_skipped_line_gives_nothing() -> None:
    reader = LineReader(limit=4)
    assert reader.feed(b"xxxxxxx") == [None] and reader.end() == []
