"""A resumed conversation shows how each prompt ended: cancelled, failed, or lost with its zot. Without an earlier
session `zot -c` says that this is a new one."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Refuse, Say, Silent, Slow
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import rows, user_texts

ENDLESS = Slow(Say("word " * 500), 0.1)
LOST = "◌ interrupted before the answer was complete"


def cancel(terminal: FakeTerminal, prompt: str, until: str) -> None:
    terminal.submit(prompt)
    terminal.wait_for(until)
    terminal.press("esc")
    terminal.wait_for("◌ cancelled")
    terminal.wait_gone("esc stops")


def leave(terminal: FakeTerminal) -> None:
    terminal.press("ctrl+c")  # a returned prompt
    terminal.submit("/exit")
    terminal.wait_exit()


def order(terminal: FakeTerminal, *texts: str) -> None:
    shown = terminal.everything
    places = [shown.index(text) for text in texts]
    assert places == sorted(places), shown


def test_cancelled_answer_is_marked_after_resume(serve: Any, open_zot: OpenZot) -> None:
    server = serve([ENDLESS, Say("the second answer")])
    terminal = open_zot()
    cancel(terminal, "begin", "word word")
    leave(terminal)
    terminal = open_zot("-c")
    terminal.wait_for("◌ cancelled")
    order(terminal, "› begin", "word word", "◌ cancelled")
    terminal.submit("something else")
    terminal.wait_for("the second answer")
    assert "the user cancelled the previous turn" in "\n".join(user_texts(server.requests[1]))
    assert terminal.everything.count("◌ cancelled") == 1


def test_cancel_mark_stays_before_later_prompts(serve: Any, open_zot: OpenZot) -> None:
    serve([Silent(Say("never said")), Say("the second answer")])
    terminal = open_zot()
    cancel(terminal, "begin", "esc stops")
    terminal.submit("something else")
    terminal.wait_for("the second answer")
    leave(terminal)
    terminal = open_zot("-c")
    terminal.wait_for("the second answer")
    order(terminal, "› begin", "◌ cancelled", "› something else", "the second answer")
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    assert "◌ cancelled" in terminal.screen


def test_cancelled_tool_is_marked_after_resume(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "echo started; sleep 60"})])])
    terminal = open_zot()
    cancel(terminal, "begin", "started")
    leave(terminal)
    terminal = open_zot("-c")
    terminal.wait_for("◌ cancelled")
    order(terminal, "› begin", "sleep 60", "◌ cancelled")
    assert LOST not in terminal.everything


def test_jump_shows_the_cancel_mark(serve: Any, open_zot: OpenZot) -> None:
    serve([ENDLESS])
    terminal = open_zot()
    cancel(terminal, "begin", "word word")
    terminal.press("ctrl+c")
    terminal.submit("/jump begin")
    terminal.wait_for("turn 1 of 1")
    assert "◌ cancelled" in terminal.screen


@pytest.mark.parametrize("ending", ["md", "html"])
def test_export_shows_the_cancel_mark(serve: Any, open_zot: OpenZot, zot: Zot, ending: str) -> None:
    serve([ENDLESS])
    terminal = open_zot()
    cancel(terminal, "begin", "word word")
    leave(terminal)
    target = zot.project / f"page.{ending}"
    assert zot("sessions", "export", str(zot.sessions[0]), str(target), model=False).code == 0
    page = target.read_text()
    assert page.index("word word") < page.index("◌ cancelled")


def test_killed_answer_is_marked_as_interrupted(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([ENDLESS, Say("the second answer")])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.wait_for("word word")
    terminal.signal(signal.SIGKILL)
    terminal.wait_exit()
    terminal = open_zot("-c")
    terminal.wait_for(LOST)
    order(terminal, "› begin", LOST)
    terminal.submit("something else")
    terminal.wait_for("the second answer")
    leave(terminal)
    assert [row["how"] for row in rows(zot.sessions[0], "answer_end")] == ["interrupted"]
    terminal = open_zot("-c")
    terminal.wait_for("the second answer")
    order(terminal, "› begin", LOST, "› something else", "the second answer")


def test_killed_tool_is_marked_as_interrupted(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "echo started; sleep 60"})])])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.wait_for("started")
    terminal.signal(signal.SIGKILL)
    terminal.wait_exit()
    terminal = open_zot("-c")
    terminal.wait_for(LOST)
    order(terminal, "› begin", "sleep 60", LOST)


def test_failed_answer_shows_its_error_after_resume(serve: Any, open_zot: OpenZot) -> None:
    serve([Refuse(400, "no such thing")], repeat=True)
    terminal = open_zot()
    terminal.submit("begin")
    terminal.wait_for("no such thing")
    terminal.wait_idle()
    terminal.press("esc")
    terminal.wait_idle()
    leave(terminal)
    terminal = open_zot("-c")
    terminal.wait_for("no such thing")
    order(terminal, "› begin", "✖", "no such thing")
    assert LOST not in terminal.everything


def test_complete_answer_has_no_mark(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([CallTools([("bash", {"command": "true"})]), Say("all done")])
    assert zot("-p", "begin").code == 0
    assert rows(zot.sessions[0], "answer_end") == []
    terminal = open_zot("-c")
    terminal.wait_for("all done")
    assert "◌" not in terminal.everything


NO_SESSION = "no earlier session in this directory: this is a new one"


def test_continue_without_session_is_reported(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("hello")])
    terminal = open_zot("-c")
    terminal.wait_for(f"◇ {NO_SESSION}")
    terminal.submit("hi")
    terminal.wait_for("hello")
    leave(terminal)
    terminal = open_zot("-c")
    terminal.wait_for("hello")
    assert NO_SESSION not in terminal.everything


def test_headless_continue_without_session_is_reported(serve: Any, zot: Zot) -> None:
    serve([Say("hello")], repeat=True)
    done = zot("--json", "-c", "hi")
    assert [(each["level"], each["message"]) for each in done.events if each["type"] == "diagnostic"] == [
        ("info", NO_SESSION)
    ]
    assert NO_SESSION not in zot("--json", "-c", "hi").out
    zot.sessions[0].unlink()
    printed = zot("-p", "-c", "hi")
    assert printed.out == "hello\n" and NO_SESSION in printed.err
    assert NO_SESSION not in zot("-p", "-c", "hi").err
