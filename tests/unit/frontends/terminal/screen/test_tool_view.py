"""Labels of tool calls, without a terminal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from zot.core.events import ToolResultEvent
from zot.core.tool import STOPPED
from zot.frontends.terminal.screen import call_summary, tool_output
from zot.frontends.terminal.screen.tool_view import ToolView
from zot.provider.messages import TextBlock
from zot.tui.markdown import Painter
from zot.tui.theme import built_in
from zot.tui.width import cells, visible

PAINTER = Painter.of(built_in("dark"))


def body(name: str, args: dict[str, Any], text: str, **more: Any) -> list[str]:
    result = ToolResultEvent("1", more.pop("is_error", False), (TextBlock(text),), more or None)
    return [visible(row).rstrip() for row in tool_output.full_rows(name, args, result, PAINTER, 60)]


@pytest.mark.parametrize(
    ("name", "args", "subject"),
    [
        ("bash", {"command": "echo  a\n b"}, "echo a …"),
        ("bash", {"command": "echo  a\t b"}, "echo a b"),
        ("read", {"path": "f", "offset": 10, "limit": 5}, "f:10-14"),
        ("read", {"path": "f", "offset": 40}, "f:40-"),
        ("read", {"path": "f", "limit": 5}, "f:1-5"),
        ("read", {"path": "f"}, "f"),
        ("grep", {"pattern": "x y", "path": "src"}, '"x y" in src'),
        ("glob", {"pattern": "*.py"}, "*.py"),
        ("other", {"file_path": "g"}, "g"),
        ("other", {"word": "house"}, "house"),
        ("more_tools", {"names": ["web_fetch", "todo"]}, "web_fetch, todo"),
    ],
)
def test_call_line_names_path_range_command_or_pattern(name: str, args: dict[str, Any], subject: str) -> None:
    """iface-104, iface-105: each tool's line names its path, range, command or pattern."""
    assert call_summary.subject(name, args, "{}") + call_summary.line_range(name, args) == subject


def test_a_long_path_keeps_its_end_and_its_range() -> None:
    """iface-105: a path that does not fit shows its end and the range of lines."""
    view = ToolView("1", "read", '{"path": "' + "deep/" * 40 + 'file.py", "offset": 3}')
    view.ends(ToolResultEvent("1", False, (TextBlock("x"),)))
    [row] = view.lines(PAINTER, 60)
    assert visible(row).startswith("● Read …") and visible(row).endswith("deep/file.py:3-") and cells(row) == 58


def test_unknown_arguments_are_shown_as_json() -> None:
    assert call_summary.subject("find", {"q": 1}, '{"q":1}') == '{"q":1}'


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.04, ""), (0.1, "0.1 s"), (3.14, "3.1 s"), (59.96, "1m00s"), (133, "2m13s"), (5400, "1h30m")],
)
def test_durations_are_readable(seconds: float, shown: str) -> None:
    assert call_summary.duration(seconds) == shown


def head(name: str, args: dict[str, Any], text: str, **more: Any) -> str:
    view = ToolView("1", name, msgspec.json.encode(args).decode())
    view.ends(ToolResultEvent("1", more.pop("is_error", False), (TextBlock(text),), more or None))
    return visible(view.lines(PAINTER, 100)[0])


@pytest.mark.parametrize(
    ("name", "text", "error", "line"),
    [
        ("bash", "$ x\n\none\n[exit 0]  Took 3.1s", False, "● Ran x · 3.1 s · one"),
        ("bash", "$ x\n\none\ntwo\n[exit 0]  Took 0.0s", False, "● Ran x · 2 lines"),
        ("bash", "$ x\n\n[exit 2]  Took 2m5s", True, "✖ Ran x · exit 2 · 2m5s"),
        (
            "bash",
            "$ x\n\n[timed out after 5s: it was killed]\n[exit -1]  Took 5.0s",
            True,
            "✖ Ran x · timed out after 5 s",
        ),
        ("bash", "the user refused this tool call", True, "⊘ Run x · refused"),
        ("bash", "aborted: the call did not run", True, "◌ Ran x · interrupted"),
        ("theirs", "", False, "● theirs x"),
        ("theirs", "a\nb\n", False, "● theirs x · 2 lines"),
        ("theirs", "bad things", True, "✖ theirs x · bad things"),
    ],
)
def test_call_line_shows_outcome(name: str, text: str, error: bool, line: str) -> None:
    assert head(name, {"command": "x"}, text, is_error=error) == line


def test_failure_too_long_for_the_line_is_below_it() -> None:
    view = ToolView("1", "read", '{"path":"f"}')
    view.ends(ToolResultEvent("1", True, (TextBlock("why " * 40),)))
    rows = [visible(row) for row in view.lines(PAINTER, 60)]
    assert rows[0] == "✖ Read f" and " ".join(" ".join(rows[1:]).split()) == ("why " * 40).strip()


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
    assert body("edit", {"path": "x"}, " a\n-b\n+c\n...") == ["     a", "-    b", "+    c"]


def test_live_output_is_the_last_rows_however_much_comes() -> None:
    """iface-098: live output shows the last rows, however much there is."""
    view = ToolView("1", "bash")
    view.called('{"command": "x"}')
    view.started()
    for number in range(20_000):
        view.progress(f"line {number}\n")
    rows = [visible(row) for row in view.lines(PAINTER, 60)]
    assert [row.strip() for row in rows[1:]] == [f"line {number}" for number in range(19_995, 20_000)]


def test_a_call_behind_another_waits() -> None:
    view = ToolView("1", "bash")
    view.called("{}")
    assert "waiting" in visible(view.lines(PAINTER, 60)[0])
    view.started()
    assert "Running" in visible(view.lines(PAINTER, 60)[0])


@pytest.mark.parametrize("width", [1, 5, 12, 20, 37, 300])
def test_a_call_fits_any_width(width: int) -> None:
    """iface-080: a tool's call fits every width, with wide characters too."""
    view = ToolView("1", "bash", extension="a-long-extension-name")
    view.called('{"command": "日本語 ' + "x" * 100 + '"}')
    view.ends(ToolResultEvent("1", False, (TextBlock("$ x\nwide 日本語 text\n[exit 0]  Took 0.1s"),)))
    rows = view.lines(PAINTER, width)
    assert max(map(cells, rows)) <= max(width, 14)


def test_the_extensions_name_survives_a_long_label() -> None:
    """iface-310: the extension's name stays visible beside a long label."""
    view = ToolView("1", "lookup", extension="dict")
    view.called('{"path": "' + "p" * 300 + '"}')
    assert "lookup [dict] …ppp" in visible(view.lines(PAINTER, 60)[0])


def test_cancelled_command_output_stays() -> None:
    view = ToolView("1", "bash")
    view.called('{"command": "make"}')
    view.progress("tick 1\ntick 2\n")
    view.ends(ToolResultEvent("1", STOPPED.is_error, STOPPED.content, None))
    rows = [visible(row) for row in view.lines(PAINTER, 80)]
    assert rows == ["◌ Ran make · interrupted", "    tick 1", "    tick 2"]
