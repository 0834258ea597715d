"""Bytes to lines, whatever the pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from zot.wire.line_splitter import LineSplitter

LINES = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=20)


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_property_the_pieces_do_not_matter(pieces: list[bytes]) -> None:
    lines, found = LineSplitter(), []
    for piece in pieces:
        found += lines.feed(piece)
    assert [*found, lines.rest()] == b"".join(pieces).split(b"\n")


@given(LINES, st.lists(st.integers(0, 400)))
def test_property_long_lines_are_equal_for_any_chunking(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    reader, heard = LineSplitter(19), []
    for start, end in pairwise(places):
        heard += reader.feed(data[start:end])
    assert heard == [line if len(line) < 20 else None for line in lines]


def test_a_line_at_the_limit_passes_and_one_above_it_does_not() -> None:
    lines = LineSplitter(9)
    assert lines.feed(b"x" * 9) == [] and lines.feed(b"\n") == [b"x" * 9]
    assert lines.feed(b"y" * 9 + b"\nnext\n") == [b"y" * 9, b"next"]
    assert lines.feed(b"z" * 10) == [None]


def test_a_long_line_is_reported_once_and_not_kept() -> None:
    lines = LineSplitter(100)
    assert lines.feed(b"x" * 60) == [] and lines.feed(b"x" * 60) == [None]
    assert lines.feed(b"x" * 1000) == [] and lines.is_inside_a_long_line and lines.unfinished == b""
    assert lines.feed(b"x\nnext\nlast") == [b"next"]
    assert lines.unfinished == b"last"
    assert lines.rest() == b"last" and lines.rest() == b""


def test_the_end_in_a_skipped_line_gives_nothing() -> None:
    lines = LineSplitter(3)
    assert lines.feed(b"xxxxxxx") == [None] and lines.rest() == b""
