"""Retries as a user of ``-p``, ``--json`` and ``--stream`` meets them: told, counted, and not for ever."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Refuse, Say
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
def test_a_number_that_is_none_is_told(zot: Zot, typed: str) -> None:
    ran = zot("-p", "hi", f"--retries={typed}")
    assert ran.code == 1 and f'--retries "{typed}": expected a whole number' in ran.err
