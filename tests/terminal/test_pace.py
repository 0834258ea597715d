"""Painting: keys at once, other updates at most 30 times a second."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from zot import __version__
from zot.core.session.records import MetaRow, encode_row, message_row
from zot.core.session.session import open_session
from zot.core.session.store import SessionStore
from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock, user_message

FRAME_S = 1 / 30
KEY_FRAME_S = 0.004
FRAME_BEGINS = b"\x1b[?2026h"


def echo_seconds(terminal: FakeTerminal, number: int) -> float:
    """From a key until its frame was written; in the bytes, not on the emulated screen, whose time is not zot's."""
    key = chr(0x100 + number % 300)  # a letter that nothing else on the screen has
    seen, before = len(terminal.raw), time.monotonic()
    terminal.type(key)
    terminal.wait_until(lambda: key.encode() in terminal.raw[seen:], f"the echo of {key}")
    return time.monotonic() - before


def test_consecutive_keys_do_not_wait_for_next_frame(open_zot: OpenZot) -> None:
    terminal = open_zot()
    terminal.wait_idle()
    waits = [echo_seconds(terminal, number) for number in range(60)]
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


def test_streaming_answer_is_painted_at_most_30_times_a_second(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("x", deltas=(*(f"word{n} " for n in range(6_000)), "\n\nENDOFIT"))])
    terminal = open_zot()
    terminal.type("go")
    terminal.wait_for("▌ go")
    seen, before = len(terminal.raw), time.monotonic()
    terminal.press("enter")
    terminal.wait_until(lambda: b"ENDOFIT" in terminal.raw[seen:], "the end")
    assert terminal.raw[seen:].count(FRAME_BEGINS) <= (time.monotonic() - before) / FRAME_S + 4  # the key's own too


def huge_session(zot: Zot) -> Path:
    """Eighty megabytes of a conversation about code, as the newest session of the project."""
    store = SessionStore(zot.home / "zot", zot.project, "0")
    meta = store.new_meta("anthropic", "claude-sonnet-5-5")
    call = ToolCallBlock("t1", "read", '{"path": "a.py"}')
    result = ToolResultBlock("t1", (TextBlock("    for value in values:  # a line of code\n" * 100),))
    exchange = (user_message("look"), Message("assistant", (call,)), Message("tool", (result,)))
    rows = b"".join(
        encode_row(message_row(message)) for message in (*exchange, Message("assistant", (TextBlock("ok"),)))
    )
    last = encode_row(message_row(Message("assistant", (TextBlock("the last answer"),))))
    path = store.path_for(meta)
    path.parent.mkdir(parents=True)
    path.write_bytes(encode_row(MetaRow(meta)) + rows * (80_000_000 // len(rows)) + last)
    return path


def test_keys_are_echoed_while_a_huge_session_is_read(open_zot: OpenZot, zot: Zot) -> None:
    path, before = huge_session(zot), time.monotonic()
    open_session(path).close()
    reading = time.monotonic() - before
    terminal = open_zot("-c", wait="")
    terminal.wait_for("▌")
    waits: list[float] = []
    while b"the last answer" not in terminal.raw:
        waits.append(echo_seconds(terminal, len(waits)))
    assert max(waits) < reading / 2


def test_dragged_window_is_painted_once_size_is_stable(open_zot: OpenZot) -> None:
    """iface-086: a frame made for a width the window no longer has would leave rows behind in its history"""
    terminal = open_zot(env={"TERM": "tmux-256color"})
    terminal.wait_until(lambda: time.monotonic() - terminal.started > 3, "the version to be due to disappear")
    terminal.press("ctrl+l")  # now, and not with a later frame
    terminal.wait_gone(f"({__version__})")
    terminal.wait_idle()
    seen = len(terminal.raw)
    for columns in (70, 90, 60, 80):  # back to the first width: rules follow a wider window with a second frame
        terminal.resize(columns, 24)
    terminal.wait_until(lambda: FRAME_BEGINS in terminal.raw[seen:], "a frame")
    terminal.wait_idle(0.5)
    assert terminal.raw[seen:].count(FRAME_BEGINS) == 1
