"""Texts of megabytes shown in a few rows are cut before they are measured, with a notice."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from zot.core.events import ToolResultEvent
from zot.errors import closest_match
from zot.frontends.terminal.extensions.panel_rows import panel_rows, shown_lines
from zot.frontends.terminal.screen.notice_area import Notes
from zot.frontends.terminal.screen.status import StatusLine
from zot.frontends.terminal.screen.tool_view import ToolView
from zot.frontends.terminal.turns import waiting_rows
from zot.provider.messages import TextBlock
from zot.tui import theme_file
from zot.tui.markdown import Painter
from zot.tui.sanitize import beginning, excerpt
from zot.tui.theme import built_in
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import RESET, cells, cut, visible

THEME = built_in("dark", "truecolor")
MEGABYTES = 3_000_000


def test_text_within_limit_is_unchanged_else_cut_with_count() -> None:
    assert excerpt("one\ntwo", lines=2, characters=7) == ("one\ntwo", "")
    assert excerpt("one\ntwo\n3", lines=2, characters=99) == (
        "one\ntwo",
        "… 2 more characters in 1 lines are not shown",
    )
    assert excerpt("abcdef", lines=2, characters=4) == ("abcd", "… 2 more characters are not shown")
    assert beginning("abc", 3) == "abc" and beginning("abcdef", 3) == "abc… (3 more characters)"


def test_row_of_endless_line_is_cut_and_closes_styles() -> None:
    assert cut("x" * MEGABYTES, 5) == "xxxx…"
    coloured = cut("\x1b[31mx" * MEGABYTES, 5)
    assert visible(coloured) == "xxxx…" and coloured.endswith(RESET)
    assert cells(cut("e" + "\u0301" * MEGABYTES, 5)) <= 5
    assert "\x1b" not in visible(cut("\x1b[31m" * 5_000 + "x" * 9, 5))


def _note() -> str:
    notes = Notes()
    notes.add("x", "info", "line\n" * MEGABYTES)
    return "\n".join(notes.lines(THEME, 80))


def _status() -> str:
    status = StatusLine(lambda: None)
    status.error("word " * MEGABYTES)
    return "\n".join(status.lines(THEME, 80))


def _panel() -> str:
    lines, remark = shown_lines(("line",) * 500 + ("▸ chosen",) + ("line",) * MEGABYTES)
    rows, selected = panel_rows(THEME, lines, 80)
    assert "chosen" in rows[selected]
    return remark


def _choices() -> str:
    choices = SelectList([Choice("a", "😀" * MEGABYTES, "word " * MEGABYTES), Choice("b", "two")])
    return "\n".join(choices.lines(THEME, 80, 10))


def _box(name: str, arguments: str, text: str) -> str:
    view = ToolView("1", name, arguments)
    view.called(arguments)
    view.ends(ToolResultEvent("1", False, (TextBlock(text),)))
    return "\n".join(view.lines(Painter.of(THEME), 80, expanded=True))


def _tool_name() -> str:
    return _box("n" * MEGABYTES, "{}", "ok")


def _tool_result() -> str:
    return _box("theirs", '{"a": "%s"}' % ("x" * MEGABYTES), "line\n" * MEGABYTES)


def _queue() -> str:
    waiting = [("sliding in:", "\x1b[31mword " * MEGABYTES), *[("sliding in:", "short")] * 100_000]
    rows = waiting_rows(waiting, THEME, 80)
    assert len(rows) == 21 and "99,981 more are waiting" in rows[-1]
    return rows[0]


def _slip() -> str:
    return closest_match("x" * MEGABYTES, ["xxx", "settings"]) or "… nothing"


@pytest.mark.parametrize("show", [_note, _status, _panel, _choices, _tool_name, _tool_result, _queue, _slip])
def test_megabytes_are_drawn_within_frame_time(show: Callable[[], str]) -> None:
    """Each of these held the screen for seconds to minutes."""
    began = time.process_time()
    shown = show()
    assert time.process_time() - began < 2
    assert "…" in shown and len(shown) < 1_000_000


@pytest.mark.parametrize(
    ("theme", "problem"),
    [
        ({"spinner_messages": ["👩‍👩‍👧" * 10_000]}, "at most 200 characters"),
        ({"spinner_frames": ["e" + "\u0301" * 100_000]}, "cells"),
        ({f"key{number}": 1 for number in range(10_000)}, "more problems"),
        ({"k" * 200_000: 1}, "is not a theme key"),
    ],
    ids=["a message", "a frame", "many keys", "a long key"],
)
def test_theme_values_cannot_block_the_screen(tmp_path: Path, theme: dict[str, Any], problem: str) -> None:
    path = tmp_path / "theme.json"
    path.write_bytes(msgspec.json.encode(theme))
    began = time.process_time()
    _, problems = theme_file.apply(theme_file.read(path), "dark", "truecolor")
    assert time.process_time() - began < 2
    assert problem in problems[-1] and len(problems) <= theme_file.MOST_PROBLEMS + 1 and len(problems[-1]) < 1_000
