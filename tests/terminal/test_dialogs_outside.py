"""``--approve outside`` at the keyboard: the exact path stands there, *no* is selected, typing answers nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import CallTools, Say, Slow
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import configure
from tests.terminal.test_dialogs_confirm import listening

ASKS = "allow access outside the jail?"


@pytest.fixture
def out(project: Path) -> Path:
    place = project.parent / "out"
    place.mkdir()
    (place / "file").write_text("s3cr3t\n")
    return place


def configured(zot: Any) -> Any:
    return json.loads((zot.home / "zot" / "config.json").read_text())


def cat(out: Path) -> CallTools:
    return CallTools([("bash", {"command": f"cat {out}/file"})])


def tool_results(server: Any) -> str:
    return json.dumps(server.requests[-1].json["messages"])


def test_the_answers_are_once_session_never_and_no(serve: Any, open_zot: OpenZot, out: Path) -> None:
    server = serve([cat(out), cat(out), cat(out), Say("finished")])
    terminal = open_zot("--approve", "outside", columns=160, rows=40)
    terminal.wait_for("jailed (full)")
    terminal.submit("go")
    terminal.wait_for(ASKS)
    terminal.wait_for(f"to read the file {out}/file")
    terminal.wait_for("yes runs it again from the beginning")
    assert f"cat {out}/file" in terminal.screen
    listening(terminal)
    terminal.press("enter")  # no is selected
    terminal.wait_until(lambda: len(server.requests) == 2)
    assert "s3cr3t" not in tool_results(server) and "The user was asked and refused" in tool_results(server)
    terminal.wait_for(ASKS)
    listening(terminal)
    terminal.press("1")
    terminal.wait_until(lambda: len(server.requests) == 3)
    assert tool_results(server).count("s3cr3t") == 1
    terminal.wait_for(ASKS)
    listening(terminal)
    terminal.press("3")
    terminal.wait_for("finished")
    assert tool_results(server).count("s3cr3t") == 1


def test_session_answer_allows_later_calls(serve: Any, open_zot: OpenZot, out: Path) -> None:
    server = serve([cat(out), cat(out), Say("finished")])
    terminal = open_zot("--approve", "outside", columns=160)
    terminal.submit("go")
    terminal.wait_for(ASKS)
    listening(terminal)
    terminal.press("2")
    terminal.wait_for("finished")
    assert tool_results(server).count("s3cr3t") == 2


def test_typed_ahead_keys_are_not_an_answer(serve: Any, open_zot: OpenZot, out: Path) -> None:
    server = serve([Slow(cat(out), 0.2), Say("finished")])
    terminal = open_zot("--approve", "outside", columns=160)
    terminal.submit("go")
    terminal.type("1 2 and more")
    terminal.wait_for("waits while you type")
    terminal.type(" 1")
    terminal.wait_for("1 2 and more 1")
    assert len(server.requests) == 1
    terminal.press("tab")
    terminal.wait_gone("waits while you type")
    listening(terminal)
    terminal.press("esc")
    terminal.wait_for("finished")
    assert "s3cr3t" not in tool_results(server)


def test_a_name_that_hides_something_is_spelled_out(serve: Any, open_zot: OpenZot, out: Path) -> None:
    (out / "\x1b[2Ksafe\u202e").write_text("x")
    serve([CallTools([("read", {"path": f"{out}/\x1b[2Ksafe\u202e"})]), Say("finished")])
    terminal = open_zot("--approve", "outside", columns=200, rows=40)
    terminal.submit("go")
    terminal.wait_for(ASKS)
    terminal.wait_for("⟨ESC⟩[2Ksafe⟨U+202E⟩")
    listening(terminal)
    terminal.press("esc")
    terminal.wait_for("finished")


def test_settings_switch_it_on_and_off_at_once(serve: Any, open_zot: OpenZot, out: Path, zot: Any) -> None:
    server = serve([cat(out), Say("finished"), cat(out), Say("ended"), cat(out), Say("over")])
    terminal = open_zot("--jail", columns=160, rows=40)
    terminal.wait_for("jailed (full)")
    terminal.submit("go")
    terminal.wait_for("finished")
    for shown in ("ask", "deny"):
        terminal.submit("/settings")
        terminal.wait_for("enter changes")
        terminal.type("when a jailed call")
        terminal.wait_for("filter: when a jailed call")
        terminal.press("enter")
        terminal.wait_for(f"when a jailed call needs outside access: {shown}")
        terminal.press("esc")
        terminal.wait_gone("enter changes")
        terminal.submit("go on")
        if shown == "ask":
            terminal.wait_for(ASKS)
            assert configured(zot)["ask_outside"] is True
            listening(terminal)
            terminal.press("1")
            terminal.wait_for("ended")
            assert tool_results(server).count("s3cr3t") == 1
    terminal.wait_for("over")
    assert tool_results(server).count("s3cr3t") == 1 and configured(zot)["ask_outside"] is False


def test_the_setting_asks_once_the_tools_are_jailed(serve: Any, open_zot: OpenZot, out: Path, zot: Any) -> None:
    configure(zot, approve="outside")
    server = serve([cat(out), cat(out), Say("finished")])
    terminal = open_zot(columns=160)
    terminal.submit("/jail")
    terminal.wait_for("jailed (full)")
    terminal.submit("go")
    terminal.wait_for(ASKS)
    listening(terminal)
    terminal.press("2")
    terminal.wait_for("finished")
    assert tool_results(server).count("s3cr3t") == 2
