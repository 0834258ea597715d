"""What a tool's box says, without a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from zot.agent.modes.interactive.screen import tool_bodies
from zot.agent.modes.interactive.screen.tool_view import ToolView, short_arguments
from zot.core.events import ToolResultEvent
from zot.core.tool_calls import STOPPED
from zot.provider.messages import TextBlock
from zot.tui.markdown import Painter
from zot.tui.theme import built_in
from zot.tui.width import cells, visible

PAINTER = Painter.of(built_in("dark"))


def body(name: str, args: dict[str, Any], text: str, **more: Any) -> list[str]:
    result = ToolResultEvent("1", more.pop("is_error", False), (TextBlock(text),), more or None)
    return [visible(row).rstrip() for row in tool_bodies.result_rows(name, args, result, PAINTER, 60)]


@pytest.mark.parametrize(
    ("name", "args", "label"),
    [
        ("bash", {"command": "echo  a\n b"}, "echo a b"),
        ("read", {"path": "f", "offset": 10, "limit": 5}, "f:10-14"),
        ("read", {"path": "f", "offset": 40}, "f:40-"),
        ("read", {"path": "f", "limit": 5}, "f:1-5"),
        ("read", {"path": "f"}, "f"),
        ("other", {"file_path": "g"}, "g"),
    ],
)
def test_a_label_says_what_the_call_is_about(name: str, args: dict[str, Any], label: str) -> None:
    """iface-104, iface-105: each tool's label names its path, range or command."""
    assert short_arguments(name, args, "{}") == label


def test_a_long_label_is_cut_and_keeps_its_range() -> None:
    """iface-105: a long label is cut to 60 characters and keeps its range."""
    label = short_arguments("read", {"path": "x" * 200, "offset": 3}, "")
    assert len(label) == 60
    assert label.endswith("...:3-")


def test_unknown_arguments_are_shown_as_json() -> None:
    assert short_arguments("find", {"q": 1}, '{"q":1}') == '{"q":1}'


def test_numbers_in_the_text_of_old_sessions_become_the_gutter() -> None:
    assert body("read", {"path": "f.txt"}, "7\tseven\n8\teight\n") == ["   7 seven", "   8 eight"]


def test_footers_of_read_are_not_numbered() -> None:
    rows = body("read", {"path": "f"}, "one\n... [truncated at 2000 lines]\n", start_line=1)
    assert rows == ["   1 one", "... [truncated at 2000 lines]"]


def test_any_tools_unified_diff_is_numbered() -> None:
    rows = body("git", {}, "--- a/x\n+++ b/x\n@@ -5,1 +5,1 @@\n-old\n+new\n")
    assert "-  5 old" in rows
    assert "+  5 new" in rows


def test_an_edit_whose_numbers_are_lost_shows_none() -> None:
    assert body("edit", {"path": "x"}, " a\n-b\n+c\n...") == ["     a", "-    b", "+    c", "..."]


def test_an_error_begins_with_the_word() -> None:
    """iface-107: the box of a failed result begins with the word `error`."""
    assert body("write", {"path": "x"}, "no such place", is_error=True) == ["error", "no such place"]


def test_live_output_is_the_last_rows_however_much_comes() -> None:
    """iface-098: live output shows the last rows, however much there is."""
    view = ToolView("1", "bash")
    view.called('{"command": "x"}')
    view.its_turn()
    for number in range(20_000):
        view.progress(f"line {number}\n")
    rows = [visible(row) for row in view.lines(PAINTER, 60)]
    assert [row.strip("│ ") for row in rows[2:-2]] == [f"line {number}" for number in range(19_995, 20_000)]


def test_a_call_behind_another_waits() -> None:
    view = ToolView("1", "bash")
    view.called("{}")
    assert "waiting" in visible(view.lines(PAINTER, 60)[0])
    view.its_turn()
    assert "running" in visible(view.lines(PAINTER, 60)[0])


@pytest.mark.parametrize("width", [1, 5, 12, 20, 37, 300])
def test_a_box_fits_any_width(width: int) -> None:
    """iface-080: a tool's box fits every width, with wide characters too."""
    view = ToolView("1", "bash", extension="a-long-extension-name")
    view.called('{"command": "日本語 ' + "x" * 100 + '"}')
    view.ends(ToolResultEvent("1", False, (TextBlock("$ x\nwide 日本語 text\n[exit 0]  Took 0.1s"),)))
    rows = view.lines(PAINTER, width)
    assert len({cells(row) for row in rows}) == 1
    assert cells(rows[0]) <= max(width, 16)


def test_the_extensions_name_survives_a_long_label() -> None:
    """iface-310: the extension's name stays visible beside a long label."""
    view = ToolView("1", "lookup", extension="dict")
    view.called('{"path": "' + "p" * 300 + '"}')
    assert "lookup [dict] ppp" in visible(view.lines(PAINTER, 60)[0])


def test_what_a_cancelled_command_had_said_stays() -> None:
    view = ToolView("1", "bash")
    view.called('{"command": "make"}')
    view.progress("tick 1\ntick 2\n")
    view.ends(ToolResultEvent("1", STOPPED.is_error, STOPPED.content, None))
    rows = [visible(row).strip(" │") for row in view.lines(PAINTER, 80)]
    assert rows[2:7] == ["$ make", "tick 1", "tick 2", "error", "aborted: the call was stopped before it finished"]
