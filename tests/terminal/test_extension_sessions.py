"""Extensions that open another session, reload and leave zot, on the screen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import Say
from tests.terminal.conftest import OpenZot

CONTROLLING = """
hello("edition2")
for name in ("fresh", "bye", "later"):
    send(type="register_command", name=name)
ready()
PARAMS = {"fresh": ("session.new", {"name": "hand-off", "draft": "/go on", "prompt": "start here"}),
          "bye": ("app.exit", None), "later": ("session.new", None)}
def run(f):
    method, params = PARAMS[f["name"]]
    parent = {} if f["name"] == "later" else {"parent_id": f["id"]}
    send(type="request", id="r-" + f["id"], method=method, params=params, **parent)
    if f["name"] == "later":
        send(type="command_response", id=f["id"], action="noop")
def answered(f):
    if f["id"].startswith("r-"):
        shown = json.dumps(f.get("error") or f["result"])
        send(type="command_response", id=f["id"][2:], action="display", display=shown)
serve(command_invoked=run, response=answered)
"""


@pytest.fixture(autouse=True)
def controller(zot: Zot) -> None:
    write_extension(zot.home / "zot" / "extensions", "controller", CONTROLLING, uses=["session.control"])


def test_new_session_empties_the_screen_and_runs_its_prompt(serve: Any, open_zot: OpenZot) -> None:
    """ext2-103: the draft waits in the editor as plain text, the prompt runs in the new session."""
    server = serve([Say("the old answer"), Say("the new answer")])
    terminal = open_zot(columns=100)
    terminal.submit("what is old?")
    terminal.wait_for("the old answer")
    terminal.submit("/fresh")
    terminal.wait_for("the new answer")
    assert "the old answer" not in str(server.requests[1].json)
    assert " /go on" in terminal.screen


def test_user_is_asked_without_a_command(serve: Any, open_zot: OpenZot) -> None:
    """ext2-103: zot's own question names the extension and what it wants."""
    serve([])
    terminal = open_zot(columns=100)
    terminal.submit("/later")
    terminal.wait_for("it wants to start a new session")
    terminal.wait_gone("waits while you type")
    terminal.type("4")
    terminal.wait_for("▌ ask")
    terminal.wait_gone("it wants to start")


def test_exit_can_be_stopped_and_happens(serve: Any, open_zot: OpenZot) -> None:
    """ext2-103: one line and three seconds in which esc stops it."""
    serve([])
    terminal = open_zot(columns=100)
    terminal.submit("/bye")
    terminal.wait_for("extension controller ends zot in 3 s; esc stops it")
    terminal.type("\x1b")
    terminal.wait_for("wanted to leave zot; you stopped it")
    terminal.submit("/bye")
    terminal.wait_for("esc stops it")
    assert terminal.wait_exit(10) == 0


def test_size_and_theme_are_events(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """§5.3: ``resize`` and ``theme_changed`` with their data; ext2-134: a theme is set for the run only."""
    body = """
hello("edition2"); send(type="subscribe", events=["resize", "theme_changed"])
send(type="register_command", name="bright"); ready()
def run(f):
    send(type="request", id="t", method="theme.set", params={"name": "light"}, parent_id=f["id"])
    send(type="command_response", id=f["id"], action="noop")
def seen(f):
    send(type="notify", level="info", message=f["event"] + " " + json.dumps(f["data"]))
serve(command_invoked=run, event=seen)
"""
    write_extension(zot.home / "zot" / "extensions", "watcher", body, uses=["ui"])
    serve([])
    terminal = open_zot(columns=100, rows=30)
    terminal.submit("/bright")
    terminal.wait_for('theme_changed {"name": "light", "base": "light"}')
    terminal.resize(90, 28)
    terminal.wait_for('resize {"width": 90, "height": 28}')
    assert "theme" not in (zot.home / "zot" / "config.json").read_text()
