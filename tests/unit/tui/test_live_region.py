"""The live region against an emulator: its output gives the expected screen."""

from __future__ import annotations

import re

import pyte
from hypothesis import given
from hypothesis import strategies as st

from zot.tui.live_region import FramePosition, LiveRegion

ROWS = st.lists(st.text(alphabet="abc日é ", max_size=12).map(str.rstrip), min_size=1, max_size=6)
FRAMES = st.lists(st.tuples(st.lists(st.text(alphabet="xyz", min_size=1, max_size=8), max_size=4), ROWS), max_size=8)


class Emulator:
    def __init__(self, columns: int = 30, rows: int = 12) -> None:
        self.columns, self.rows = columns, rows
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self.stream = pyte.Stream(self.screen)
        self.region = LiveRegion()
        self.written = ""

    def frame(self, settled: list[str], live: list[str], cursor: FramePosition | None = None) -> str:
        data = self.region.frame(settled, live, cursor or FramePosition(len(live) - 1, 0), self.columns, self.rows)
        self.written += data
        self.stream.feed(data)
        return data

    @property
    def lines(self) -> list[str]:
        top = ["".join(line[x].data for x in range(self.columns)).rstrip() for line in self.screen.history.top]
        return [*top, *(line.rstrip() for line in self.screen.display)]


@given(FRAMES)
def test_property_screen_shows_settled_rows_once_then_region(
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
def test_property_frame_never_erases_scrollback_or_leaves_main(
    frames: list[tuple[list[str], list[str]]],
) -> None:
    """iface-070, iface-074, iface-075: no frame erases scrollback, leaves the main screen or enables the mouse; all are
    synchronised.
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


def test_cursor_is_at_its_position() -> None:
    emulator = Emulator()
    emulator.frame(["s"], ["one", "two", "three"], FramePosition(1, 2))
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
    emulator.frame(["s"], ["one", "two"], FramePosition(0, 0))
    emulator.stream.feed(emulator.region.leave())
    assert (emulator.screen.cursor.y, emulator.screen.cursor.x) == (3, 0)
    assert not emulator.screen.cursor.hidden


class Reflowing:
    """A terminal that reflows rows at every width, as tall as needed. A row knows whether it continues."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows: list[tuple[str, bool]] = [("", False)]
        self.y = self.x = 0
        self._wraps = True

    def feed(self, data: str) -> None:
        for part in re.findall(r"\x1b\[[?0-9]*[A-Za-z]|.", data, re.S):
            if part.startswith("\x1b"):
                self._control(part[2:])
            elif part == "\r":
                self.x = 0
            elif part == "\n":
                self._down()
            else:
                self._put(part)

    def _control(self, code: str) -> None:
        count = int(code[:-1]) if code[:-1].isdigit() else 1
        text, _ = self.rows[self.y]
        match code:
            case "2K":
                self.rows[self.y] = ("", False)
                if self.y and self.rows[self.y - 1][1]:
                    self.rows[self.y - 1] = (self.rows[self.y - 1][0], False)
            case "J":
                self.rows[self.y :] = [(text[: self.x].rstrip(), False)]
            case "?7l" | "?7h":
                self._wraps = code == "?7h"
            case _ if code[-1] == "A":
                self.y = max(self.y - count, 0)
            case _ if code[-1] == "C":
                self.x = min(self.x + count, self.columns - 1)
            case _:
                assert code in ("?2026h", "?2026l", "?25l", "?25h"), code

    def _down(self) -> None:
        self.y += 1
        if self.y == len(self.rows):
            self.rows.append(("", False))

    def _put(self, character: str) -> None:
        if self.x == self.columns and self._wraps:
            self.rows[self.y] = (self.rows[self.y][0], True)
            self._down()
            self.x = 0
        self.x = min(self.x, self.columns - 1)
        text, goes_on = self.rows[self.y]
        text = text.ljust(self.x)
        self.rows[self.y] = (text[: self.x] + character + text[self.x + 1 :], goes_on)
        self.x += 1

    def resize(self, columns: int) -> None:
        """Reflows every line; the cursor stays on its character."""
        lines: list[str] = [""]
        at = (0, 0)
        for number, (text, goes_on) in enumerate(self.rows):
            if number == self.y:
                at = (len(lines) - 1, len(lines[-1]) + self.x)
            lines[-1] += text
            if not goes_on:
                lines.append("")
        lines.pop()
        self.columns, self.rows = columns, []
        for number, line in enumerate(lines):
            pieces = [line[i : i + columns] for i in range(0, len(line), columns)] or [""]
            if number == at[0]:
                row = min(at[1] // columns, len(pieces) - 1)
                self.y, self.x = len(self.rows) + row, min(at[1] - row * columns, columns - 1)
            self.rows += [(piece, i + 1 < len(pieces)) for i, piece in enumerate(pieces)]

    @property
    def lines(self) -> list[str]:
        """The written lines, independent of the width: wrapped rows are joined."""
        found = [""]
        for text, goes_on in self.rows:
            found[-1] += text
            if not goes_on:
                found.append("")
        return [line.rstrip() for line in found if line.strip()]


WIDTH = st.integers(min_value=8, max_value=40)
STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(min_value=1, max_value=40), max_size=2),  # lengths of settled rows
        st.lists(st.integers(min_value=0, max_value=40), min_size=1, max_size=6),  # and of the region's
        st.lists(WIDTH, max_size=3),  # widths the terminal has before anybody is told, one after the other
        st.booleans(),  # whether it is told before this frame
    ),
    max_size=8,
)


@given(STEPS, st.integers(min_value=0, max_value=5))
def test_property_parked_cursor_finds_region_after_width_change(
    steps: list[tuple[list[int], list[int], list[int], bool]], last: int
) -> None:
    """iface-079, iface-086: frames for a width the terminal no longer has leave no ghost and erase no settled row."""
    terminal, region, told = Reflowing(40), LiveRegion(), 40
    settled: list[str] = []
    for frame, (new, live, widths, hears) in enumerate(steps):
        for width in widths:
            terminal.resize(width)
        told = terminal.columns if hears else told
        rows = [chr(97 + frame % 26) * min(length, told) for length in new]
        settled += rows
        shown = [chr(65 + frame % 26) * min(length, told) for length in live]
        terminal.feed(region.frame(rows, shown, None, told, 1000))
    shown = ["-" * min(8, terminal.columns)] * (last + 1)
    terminal.feed(region.frame([], shown, None, terminal.columns, 1001))
    assert terminal.lines == [*settled, *shown]


@given(st.lists(st.integers(min_value=0, max_value=40), min_size=1, max_size=6), st.lists(WIDTH, min_size=1), st.data())
def test_property_resting_cursor_is_found_after_reflow(
    lengths: list[int], widths: list[int], data: st.DataObject
) -> None:
    terminal, region = Reflowing(40), LiveRegion()
    live = ["x" * length for length in lengths]
    row = data.draw(st.integers(min_value=0, max_value=len(live) - 1))
    terminal.feed(region.frame(["settled", "rows"], live, FramePosition(row, min(len(live[row]), 39)), 40, 1000))
    for width in widths:
        terminal.resize(width)
    terminal.feed(region.frame([], ["shown"], None, terminal.columns, 1000))
    assert terminal.lines == ["settled", "rows", "shown"]


def test_first_cell_is_never_erased_from() -> None:
    """tmux takes that for clearing the screen, and moves all of it into its history."""
    emulator = Emulator()
    frames = [emulator.frame([], ["one"]), emulator.frame(["s"], [""]), emulator.region.erase(30)]
    emulator.columns = 20
    frames.append(emulator.frame([], ["one", "two"], None))
    for data in frames:
        assert not re.search(r"(\r|\x1b\[\d*A|h|l)\x1b\[J", data)


LONG, SHORT = "x" * 70, "y" * 5  # a window of 40 columns breaks the long row in two


def lead_of(frame: str) -> int:
    """Blank rows of a frame, before its first long row."""
    texts = [re.sub(r"\x1b\[[0-9?;]*[A-Za-z]|\r", "", row) for row in frame.split("\r\n")]
    return texts[: texts.index(LONG)].count("")


def test_region_begins_with_blank_rows_if_too_little_is_above() -> None:
    """issue 29.16: a window of 80 columns may shrink to 40, which pushes out a row for each long row."""
    region = LiveRegion()
    region.frame([], [SHORT], None, 80, 12)
    assert lead_of(region.frame([], [LONG, LONG, LONG], None, 80, 12)) == 0, "none at the start"
    assert lead_of(region.frame(["one"], [LONG, LONG, LONG], None, 80, 12)) == 2, "3 are pushed, 1 is above"
    assert lead_of(region.frame(["two"], [LONG, LONG, LONG], None, 80, 12)) == 1
    assert lead_of(region.frame(["three"], [LONG, LONG, LONG], None, 80, 12)) == 0


def test_row_of_the_start_counts_as_rows_above() -> None:
    region = LiveRegion()
    region.frame([], [SHORT], None, 80, 12)
    region.started_at(8, 12)
    assert lead_of(region.frame(["one"], [LONG, LONG], None, 80, 12)) == 0
    assert region.room(80, 12) == 4, "eight rows are above: seven and the printed one"


def test_nothing_leads_where_the_terminal_does_not_wrap() -> None:
    region = LiveRegion(reflows=False)
    region.frame([], [SHORT], None, 80, 12)
    assert lead_of(region.frame(["one"], [LONG, LONG], None, 80, 12)) == 0


def test_room_is_what_taller_frames_left() -> None:
    region = LiveRegion()
    region.frame([], [SHORT] * 6, None, 80, 12)
    region.frame([], [SHORT] * 2, None, 80, 12)
    assert region.room(80, 12) == 6
    region.frame(["one", "two", "three"], [SHORT] * 2, None, 80, 12)
    assert region.room(80, 12) == 3


def test_xterm_js_moves_the_cursor_for_rows_below_it() -> None:
    """Parked on the first row, it is as many rows further down as all rows of the region were broken."""
    for shifts, up in ((False, ""), (True, "\x1b[2A")):
        region = LiveRegion(shifts_cursor=shifts)
        region.frame([], [LONG, LONG, SHORT], None, 80, 12)
        frame = region.frame([], [SHORT], None, 40, 12)
        assert frame.startswith(f"\x1b[?2026h\x1b[?25l\r{up}\r\x1b[2K"), repr(frame)
