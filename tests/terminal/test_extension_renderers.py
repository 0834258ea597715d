"""Results of tools that an extension draws."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot

DRAWING = """
hello("edition2")
send(type="contribute", kind="renderer", name="r", value={"for": "tool", "match": ["read", "bash"]})
ready()
def draw(f):
    p = f["params"]
    view = {"title": {"text": "A PICTURE", "style": "accent"}, "lines": ["everything is fine"], "expanded": ["in full"]}
    send(type="response", id=f["id"], result=view if not p["partial"] else None)
serve(request=draw)
"""


def test_a_result_is_drawn_by_an_extension(serve: Any, open_zot: OpenZot, zot: Zot, project: Path) -> None:
    """ext2-066, ext2-067: the view is below zot's row, also in full and after a resume; the model gets the result."""
    (project / "note.txt").write_text("the text")
    server = serve([CallTools([("read", {"path": "note.txt"})]), Say("done now")])
    write_extension(zot.home / "zot" / "extensions", "painter", DRAWING, uses=["render"])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("done now")
    assert "A PICTURE" in terminal.screen and "everything is fine" in terminal.screen and "note.txt" in terminal.screen
    assert terminal.cell("A PICTURE").fg == "87afff"
    assert "the text" in str(server.requests[1].json) and "A PICTURE" not in str(server.requests[1].json)
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    terminal.signal(signal.SIGTERM)
    terminal.wait_exit()
    again = open_zot("--continue", "--no-ext")
    again.wait_for("everything is fine")


def test_a_failure_stays_in_the_row(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """ext2-067: a renderer cannot remove the tool's name nor the mark and text of an error."""
    serve([CallTools([("read", {"path": "absent.txt"})]), Say("done now")])
    write_extension(zot.home / "zot" / "extensions", "painter", DRAWING, uses=["render"])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("done now")
    row = terminal.screen.splitlines()[terminal.row_of("absent.txt")]
    assert "everything is fine" in terminal.screen and ("no such file" in row or "not found" in row.lower()), row
