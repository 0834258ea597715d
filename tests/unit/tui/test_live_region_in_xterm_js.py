"""The live region in xterm.js, the library itself: where it finds its first row in a narrower window."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.fakes.xterm import XtermJs, is_installed
from zot.tui.live_region import FramePosition, LiveRegion

pytestmark = pytest.mark.skipif(not is_installed(), reason="`make page` installs xterm.js")

WIDE, NARROW, HEIGHT = 60, 30, 16
RULE, PATH = "=" * WIDE, "/" * 50
FOOT = [RULE, "> editor", RULE, PATH]


@pytest.fixture
def terminal() -> Iterator[XtermJs]:
    with XtermJs(WIDE, HEIGHT) as terminal:
        yield terminal


def numbered(first: int, count: int) -> list[str]:
    return [f"s{number:02}" for number in range(first, first + count)]


def cut(rows: list[str], columns: int) -> list[str]:
    return [row[:columns] for row in rows]


def shown(terminal: XtermJs) -> list[str]:
    return [row.rstrip() for row in terminal.everything.split("\n") if row.strip()]


def pause() -> None:
    """Until no frame is on its way to the terminal."""
    time.sleep(0.15)


@pytest.mark.parametrize("printed", [4, 30])
@pytest.mark.parametrize("cursor", [None, *(FramePosition(row, 2) for row in range(5))])
def test_narrower_xterm_js_shows_each_row_once(terminal: XtermJs, printed: int, cursor: FramePosition | None) -> None:
    """The row of the cursor is cut, not broken, and the cursor moves during the reflow."""
    region = LiveRegion(shifts_cursor=True)
    settled, live = numbered(0, printed), cut(["", *FOOT], NARROW)
    terminal.write(region.frame(settled, ["", *FOOT], cursor, WIDE, HEIGHT).encode())
    pause()
    terminal.resize(NARROW, HEIGHT)
    terminal.write(region.frame([], live, cursor, NARROW, HEIGHT).encode())
    assert shown(terminal) == [*settled, *live[1:]]


@pytest.mark.parametrize("late", range(4))
def test_late_frames_of_xterm_js_show_each_row_once(terminal: XtermJs, late: int) -> None:
    """The terminal is resized before its pty: zot draws what comes between for the old width."""
    region, live = LiveRegion(shifts_cursor=True), cut(["", *FOOT], NARROW)
    terminal.write(region.frame(numbered(0, 20), ["", *FOOT], None, WIDE, HEIGHT).encode())
    pause()
    frames = [region.frame([row], ["", *FOOT], None, WIDE, HEIGHT) for row in numbered(20, 3)]
    terminal.write("".join(frames[: 3 - late]).encode())
    terminal.resize(NARROW, HEIGHT)
    terminal.write("".join(frames[3 - late :]).encode())
    terminal.write(region.frame([], live, None, NARROW, HEIGHT).encode())
    assert shown(terminal) == [*numbered(0, 23), *live[1:]]
