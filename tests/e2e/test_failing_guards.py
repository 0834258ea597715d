"""Guards that are silent, slow or wrong on purpose: zot refuses what they cannot decide about."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say

GUARD = """
import json, sys, threading

def send(**frame):
    sys.stdout.write(json.dumps(frame) + "\\n")
    sys.stdout.flush()

def decide(frame):
    ANSWER

send(type="hello", name="guard", version="1", capabilities=["guard", "edition2"])
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello_ack":
        send(type="subscribe", intercept=["tool_call", "input"])
        send(type="ready")
    elif frame["type"] == "event_intercept":
        decide(frame)
    elif frame["type"] == "shutdown":
        break
"""
ALLOW = 'send(type="event_intercept_response", id=frame["id"])'


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        ("pass", False),
        (f"threading.Timer(7, lambda: {ALLOW}).start()", False),
        ('send(type="event_intercept_response", id=frame["id"], value={"text": 7})', False),
        ('send(type="event_intercept_response", id=frame["id"], handled=True)', False),
        ("sys.exit(1)", False),
        (ALLOW, True),
    ],
    ids=["silent", "slow", "wrong", "handled", "dead", "sound"],
)
def test_a_guard_that_does_not_decide_blocks(zot: Zot, serve: Any, answer: str, runs: bool) -> None:
    """ext2-039, ext2-146, ext2-149, ext2-168: no answer, a late one, garbage, `handled` and death are refusals."""
    directory = zot.project / "guard"
    directory.mkdir()
    (directory / "main.py").write_text(GUARD.replace("ANSWER", answer))
    manifest = {"name": "guard", "exec": sys.executable, "args": ["main.py"], "guard": True, "uses": ["input"]}
    (directory / "extension.json").write_text(json.dumps(manifest))
    server = serve([Say("It went through.")])
    ran = zot("-p", "--ext", "guard", "hello")
    assert (ran.out == "It went through.\n") is runs, ran.out + ran.err
    assert bool(server.requests) is runs
    assert (ran.code == 0) is runs
