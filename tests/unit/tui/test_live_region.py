"""The live region against an emulator: what it writes is what should be seen."""

from __future__ import annotations

import re

import pyte
from hypothesis import given
from hypothesis import strategies as st

from zot.tui.live_region import LiveRegion, Place

ROWS = st.lists(st.text(alphabet="abc日é ", max_size=12).map(str.rstrip), min_size=1, max_size=6)
FRAMES = st.lists(st.tuples(st.lists(st.text(alphabet="xyz", min_size=1, max_size=8), max_size=4), ROWS), max_size=8)


class Emulator:
    def __init__(self, columns: int = 30, rows: int = 12) -> None:
        self.columns, self.rows = columns, rows
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self.stream = pyte.Stream(self.screen)
        self.region = LiveRegion()
        self.written = ""

    def frame(self, settled: list[str], live: list[str], cursor: Place | None = None) -> str:
        data = self.region.frame(settled, live, cursor or Place(len(live) - 1, 0), self.columns, self.rows)
        self.written += data
        self.stream.feed(data)
        return data

    @property
    def lines(self) -> list[str]:
        top = ["".join(line[x].data for x in range(self.columns)).rstrip() for line in self.screen.history.top]
        return [*top, *(line.rstrip() for line in self.screen.display)]


@given(FRAMES)
def test_property_the_screen_shows_all_settled_rows_once_and_then_the_region(
    frames: list[tuple[list[str], list[str]]],
) -> None:
    """iface-077, iface-078: after any frames the screen shows every settled row once and the live region below."""
    emulator = Emulator()
    settled: list[str] = []
    live: list[str] = []
    for new, live in frames:
        settled += new
        emulator.frame(new, live)
    shown = "\n".join(emulator.lines).rstrip("\n")
    assert shown == "\n".join([*settled, *live]).rstrip("\n")


@given(FRAMES)
def test_property_no_frame_erases_scrollback_or_leaves_the_main_screen(
    frames: list[tuple[list[str], list[str]]],
) -> None:
    """iface-070, iface-074, iface-075: no frame erases scrollback, leaves the main screen or asks for the mouse; all
    are synchronised.
    """
    emulator = Emulator()
    for new, live in frames:
        data = emulator.frame(new, live)
        assert not data or (data.startswith("\x1b[?2026h") and data.endswith("\x1b[?2026l"))
    assert not re.search(r"\x1b\[[23]J|\x1b\[\?(1049|47|1000|1002|1003|1006)h|\x1bc", emulator.written)


def test_a_frame_without_a_change_writes_nothing() -> None:
    """iface-087: a frame in which nothing changed writes nothing."""
    emulator = Emulator()
    emulator.frame([], ["one", "two"])
    assert emulator.frame([], ["one", "two"]) == ""


def test_a_change_rewrites_its_row_alone() -> None:
    """iface-087: a change rewrites its own row and no other."""
    emulator = Emulator()
    emulator.frame(["settled"], ["one", "two", "three"])
    data = emulator.frame([], ["one", "TWO", "three"])
    assert "TWO" in data
    assert "one" not in data
    assert "three" not in data
    assert "settled" not in data


def test_a_shrinking_region_leaves_no_stale_rows() -> None:
    """iface-078: a region that shrinks leaves no stale rows behind."""
    emulator = Emulator()
    emulator.frame(["above"], ["a", "b", "c", "d"])
    emulator.frame([], ["x"])
    assert [line for line in emulator.lines if line] == ["above", "x"]


def test_the_cursor_stands_where_it_was_put() -> None:
    emulator = Emulator()
    emulator.frame(["s"], ["one", "two", "three"], Place(1, 2))
    assert (emulator.screen.cursor.y, emulator.screen.cursor.x) == (2, 2)


def test_a_region_taller_than_the_screen_keeps_its_end() -> None:
    """iface-080: of a region taller than the screen the end is shown."""
    emulator = Emulator(rows=5)
    emulator.frame([], [f"row {i}" for i in range(20)])
    assert emulator.lines[-5:][:4] == ["row 16", "row 17", "row 18", "row 19"]


def test_a_full_row_keeps_its_last_cell() -> None:
    emulator = Emulator(columns=10)
    emulator.frame(["x" * 10], ["y" * 10, "z" * 10])
    assert [line for line in emulator.lines if line] == ["x" * 10, "y" * 10, "z" * 10]


def test_leaving_ends_on_a_fresh_row_with_the_cursor_shown() -> None:
    emulator = Emulator()
    emulator.frame(["s"], ["one", "two"], Place(0, 0))
    emulator.stream.feed(emulator.region.leave())
    assert (emulator.screen.cursor.y, emulator.screen.cursor.x) == (3, 0)
    assert not emulator.screen.cursor.hidden
