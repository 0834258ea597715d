"""Retries in ``-p``, ``--json`` and ``--stream``: reported, counted and limited."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Cut, Refuse, Say, StreamError
from tests.terminal.scripts import configure

BUSY = Refuse(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


@pytest.mark.parametrize("mode", ["-p", "--stream"])
def test_each_wait_is_one_line_on_stderr_and_the_answer_comes(zot: Zot, serve: Any, mode: str) -> None:
    configure(zot, retry_wait_s=0.01)
    server = serve([BUSY, BUSY, BUSY, BUSY, Say("hello")])
    ran = zot.patiently(mode, "hi")
    assert (ran.code, ran.out) == (0, "hello\n")
    lines = ran.err.splitlines()
    assert [line.partition(" in ")[0] for line in lines] == [f"zot: overloaded, try {n} of 10" for n in range(2, 6)]
    assert len(server.requests) == 5


def test_programs_get_an_event_for_each_wait(zot: Zot, serve: Any) -> None:
    configure(zot, retry_wait_s=0.01)
    serve([BUSY, Refuse(429, "slow down"), Say("hello")])
    ran = zot.patiently("--json", "hi")
    waits = [event for event in ran.events if event["type"] == "retry_wait"]
    assert [(w["attempt"], w["attempts"], w["reason"]) for w in waits] == [
        (2, 10, "overloaded"),
        (3, 10, "rate limited"),
    ]
    assert 0.008 <= waits[0]["wait_s"] <= 0.012 and ran.types[:3] == ["user_message", "turn_start", "retry_wait"]
    assert ran.events[-1] == {"type": "done", "reason": "end_turn", "exit_code": 0}


def test_the_flag_comes_before_the_setting(zot: Zot, serve: Any) -> None:
    configure(zot, retries=5, retry_wait_s=0.01)
    server = serve([BUSY], repeat=True)
    assert zot.patiently("-p", "hi").code == 1 and len(server.requests) == 6
    assert zot.patiently("-p", "hi", "--retries", "1").code == 1 and len(server.requests) == 6 + 2
    assert zot.patiently("-p", "hi", "--retries", "0").code == 1 and len(server.requests) == 8 + 1


@pytest.mark.parametrize("typed", ["-1", "many", "1.5", ""])
def test_invalid_number_is_reported(zot: Zot, typed: str) -> None:
    ran = zot("-p", "hi", f"--retries={typed}")
    assert ran.code == 1 and f'--retries "{typed}": expected a whole number' in ran.err


HALF = StreamError(after=Say("The answer is "))


@pytest.mark.parametrize("half", [HALF, Cut(Say("The answer is "), 700)], ids=["overloaded", "cut"])
def test_interrupted_answer_is_continued_once_and_reported(zot: Zot, serve: Any, half: Any) -> None:
    server = serve([half, Say("forty-two.")])
    ran = zot("-p", "hi")
    assert ran.code == 0 and ran.out.endswith("forty-two.\n") and ran.out.startswith("The answer")
    [line] = ran.err.splitlines()
    assert line.startswith("zot: the answer broke off (") and line.endswith("asked to continue it")
    last = server.requests[-1].json["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user"]
    assert "Go on exactly where it ends" in str(last[-1])


def test_programs_see_both_parts_and_all_of_it(zot: Zot, serve: Any) -> None:
    serve([HALF, Say("forty-two.")])
    ran = zot("--json", "hi")
    assert [t for t in ran.types if t in ("user_message", "turn_start", "assistant_message", "turn_end", "done")] == [
        *("user_message", "turn_start", "assistant_message", "turn_end"),
        *("user_message", "turn_start", "assistant_message", "turn_end", "done"),
    ]
    whole = [event["content"][0]["text"] for event in ran.events if event["type"] == "assistant_message"]
    assert whole == ["The answer is ", "The answer is forty-two."]
    assert "error" not in ran.types and ran.events[-1]["reason"] == "end_turn"


def test_a_stream_shows_each_part_once(zot: Zot, serve: Any) -> None:
    serve([HALF, Say("forty-two.")])
    assert zot("--stream", "hi").out == "The answer is \nforty-two.\n"


def test_an_answer_that_breaks_off_twice_is_an_error(zot: Zot, serve: Any) -> None:
    server = serve([HALF, HALF, Say("never")])
    ran = zot("-p", "hi")
    assert (ran.code, ran.out) == (1, "") and len(server.requests) == 2
    assert ran.err.splitlines()[-1].startswith("zot: ")


def test_a_call_that_was_cut_off_is_made_once(zot: Zot, serve: Any) -> None:
    command = f"echo ran >> {zot.project}/count"
    call = CallTools([("bash", {"command": command})])
    serve([StreamError(after=call), call, Say("done")])
    ran = zot("-p", "hi")
    assert ran.out == "done\n" and (zot.project / "count").read_text() == "ran\n"
