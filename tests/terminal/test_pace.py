"""When zot paints: a key at once, what comes by itself at most 30 times a second."""

from __future__ import annotations

import time
from typing import Any

from tests.fakes.model_server import Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

FRAME_S = 1 / 30
KEY_FRAME_S = 0.004
FRAME_BEGINS = b"\x1b[?2026h"


def echo_seconds(terminal: FakeTerminal, key: str) -> float:
    """From a key until its frame was written; in the bytes, not on the emulated screen, whose time is not zot's."""
    seen, before = len(terminal.raw), time.monotonic()
    terminal.type(key)
    terminal.wait_until(lambda: key.encode() in terminal.raw[seen:], f"the echo of {key}")
    return time.monotonic() - before


def test_keys_that_follow_each_other_do_not_wait_for_the_next_frame(open_zot: OpenZot) -> None:
    terminal = open_zot()
    terminal.wait_idle()
    waits = [echo_seconds(terminal, key) for key in "abcdefghijklmnopqrstuvwxyz" * 2]
    # Noise only adds: of all runs of three keys the quickest shows whether one had to wait for a frame.
    assert min(sum(waits[i : i + 3]) for i in range(len(waits) - 2)) < FRAME_S


def test_a_burst_of_keys_shares_frames(open_zot: OpenZot) -> None:
    terminal = open_zot()
    terminal.wait_idle()
    seen, before = len(terminal.raw), time.monotonic()
    for _ in range(300):
        terminal.type("x")
    terminal.type("Q")
    terminal.wait_until(lambda: b"Q" in terminal.raw[seen:], "the last key")
    frames = terminal.raw[seen:].count(FRAME_BEGINS)
    assert frames <= (time.monotonic() - before) / KEY_FRAME_S + 2


def test_a_streaming_answer_is_painted_at_most_thirty_times_a_second(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("x", deltas=(*(f"word{n} " for n in range(6_000)), "\n\nENDOFIT"))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("word")
    seen, before = len(terminal.raw), time.monotonic()
    terminal.wait_until(lambda: b"ENDOFIT" in terminal.raw[seen:], "the end")
    assert terminal.raw[seen:].count(FRAME_BEGINS) <= (time.monotonic() - before) / FRAME_S + 3
