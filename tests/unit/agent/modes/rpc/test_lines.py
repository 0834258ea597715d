"""Cutting a stream into lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zot.agent.modes.rpc.lines import Lines
from zot.wire.rpc_frames import MAX_LINE


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_property_the_pieces_do_not_matter(pieces: list[bytes]) -> None:
    lines, found = Lines(), []
    for piece in pieces:
        found += lines.feed(piece)
    assert [*found, lines.rest()] == b"".join(pieces).split(b"\n")


def test_a_line_at_the_limit_passes_and_one_above_it_does_not() -> None:
    lines = Lines()
    assert lines.feed(b"x" * MAX_LINE + b"\nnext\n") == [b"x" * MAX_LINE, b"next"]
    lines.feed(b"y" * MAX_LINE)
    assert not lines.too_long
    assert lines.feed(b"y\nlater\n") == []
    assert lines.too_long
    assert lines.feed(b"even later\n") == []
