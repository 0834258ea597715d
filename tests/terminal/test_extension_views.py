"""Views and progress of extensions' tools on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot

TOOLS = """
import threading
hello("edition2")
tool("build"); tool("draw"); tool("fail"); ready()
go = threading.Event()

def run(f):
    threading.Thread(target=work, args=(f,)).start()

def work(f):
    id = f["id"]
    if f["name"] == "draw":
        view = {"title": [{"text": "Report", "style": "heading"}], "lines": [[{"text": "3 passed", "fg": "success"}]],
                "expanded": ["test_one ok", "test_two ok", "test_three ok"]}
        return send(type="tool_result", id=id, content=[{"type": "text", "text": "for the model"}], view=view)
    if f["name"] == "fail":
        view = {"lines": ["what went wrong"]}
        return send(type="tool_result", id=id, content=[{"type": "text", "text": "broken"}], is_error=True, view=view)
    send(type="progress", id=id, text="compiling 3 of 12", fraction=0.25)
    send(type="progress", id=id, view={"lines": ["12 tests so far"]})
    while not os.path.exists(os.path.join(HERE, "go")):
        time.sleep(0.02)
    send(type="tool_result", id=id, content=[{"type": "text", "text": "built"}])

serve(tool_call=run)
"""


@pytest.fixture
def tools(zot: Zot) -> Path:
    return write_extension(zot.home / "zot" / "extensions", "maker", TOOLS)


def test_progress_of_a_tool_is_drawn_in_its_row(serve: Any, open_zot: OpenZot, tools: Path) -> None:
    """ext2-055: text and fraction stand in the tool's row, `view` below it; the result replaces them."""
    serve([CallTools([("build", {})]), Say("done now")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("compiling 3 of 12")
    terminal.wait_for("12 tests so far")
    row = next(row for row in terminal.screen.splitlines() if "compiling" in row)
    assert "build [maker] · ▰▰▰▱▱▱▱▱▱▱ 25% · compiling 3 of 12" in row
    (tools / "go").touch()
    terminal.wait_for("done now")
    assert "12 tests so far" not in terminal.screen and "● build [maker]" in terminal.screen


def test_a_view_replaces_the_rows_of_a_result(serve: Any, open_zot: OpenZot, tools: Path) -> None:
    """ext2-049, ext2-051, ext2-054: the folded form is drawn in the theme, ctrl+o shows the whole."""
    server = serve([CallTools([("draw", {})]), Say("done now")])
    terminal = open_zot(columns=60)
    terminal.submit("go")
    terminal.wait_for("done now")
    assert "Report" in terminal.screen and "3 passed" in terminal.screen and "test_two" not in terminal.screen
    assert terminal.cell("3 passed").fg == "87d787" and terminal.cell("Report").fg == "87afff"
    terminal.press("ctrl+o")
    terminal.wait_for("test_three ok")
    assert "3 passed" not in str(server.requests[1].json)


def test_a_view_keeps_the_failure_in_the_row(serve: Any, open_zot: OpenZot, tools: Path) -> None:
    """ext2-067: the error of a call stays visible above a view."""
    serve([CallTools([("fail", {})]), Say("done now")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("done now")
    assert "✖ fail [maker]" in terminal.screen and "broken" in terminal.screen
    assert "what went wrong" in terminal.screen


def test_a_resumed_session_draws_the_view_again(serve: Any, open_zot: OpenZot, tools: Path) -> None:
    """ext2-054: the stored view of a result is drawn when the session is continued."""
    serve([CallTools([("draw", {})]), Say("done now")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("done now")
    terminal.press("ctrl+d")
    terminal.wait_exit()
    again = open_zot("-c")
    again.wait_for("3 passed")


def test_stream_mode_writes_progress_to_a_terminal(serve: Any, open_zot: OpenZot, tools: Path) -> None:
    """ext2-058: `--stream` writes the text of progress to stderr when it is a terminal."""
    serve([CallTools([("build", {})]), Say("done now")])
    (tools / "go").touch()
    terminal = open_zot("--stream", "go", wait="")
    terminal.wait_for("[build] compiling 3 of 12")
    terminal.wait_for("done now")
