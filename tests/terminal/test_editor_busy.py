"""Typing while zot works: queue, cancel and exit without losing text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say, Slow
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import user_texts

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
ENDLESS = Slow(Say("never finished"), 30)


@pytest.fixture(autouse=True)
def model(serve: Any) -> None:
    """A model, so that no login dialog opens."""
    serve([])


def test_enter_while_busy_queues_and_shows_the_queue(serve: Any, open_zot: OpenZot) -> None:
    """iface-159: enter during a turn queues the text and shows it as `sliding in:`."""
    serve([ENDLESS])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.type("two")
    terminal.press("alt+enter")
    terminal.type("rows")
    terminal.wait_for("  rows")
    terminal.press("enter")
    terminal.wait_for("sliding in: two↩rows")


def test_steering_prompt_is_shown_until_sent(serve: Any, open_zot: OpenZot) -> None:
    serve([ENDLESS])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.type("use tabs")
    terminal.wait_for("▌ use tabs")
    terminal.press("ctrl+s")
    terminal.wait_for("steering in: use tabs")
    terminal.press("esc")
    terminal.wait_gone("steering in")
    terminal.wait_for("▌ use tabs")


def test_queued_prompts_run_in_order_with_their_images(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    """iface-160: queued prompts run in order, one turn each, with their images."""
    server = serve([Slow(Say("one"), 0.4), Say("two"), Say("all three answered")])
    (tmp_path / "shot.png").write_bytes(PNG)
    terminal = open_zot()
    terminal.submit("begin")
    terminal.submit("second")
    terminal.wait_for("sliding in: second")
    terminal.paste(f"{tmp_path}/shot.png")
    terminal.wait_for("[file:1:shot.png]")
    terminal.press("enter")
    terminal.wait_for("all three answered")
    assert [user_texts(request)[-1].strip() for request in server.requests] == [
        *("begin", "second", f"'{tmp_path}/shot.png'"),
    ]
    content = server.requests[2].json["messages"][-1]["content"]
    assert [block["type"] for block in content].count("image") == 1


def test_escape_cancels_in_two_seconds_and_restores_queue(serve: Any, open_zot: OpenZot) -> None:
    """iface-161: esc cancels the turn within two seconds and puts the queue back into the editor."""
    serve([ENDLESS])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.submit("queued text")
    terminal.wait_for("sliding in: queued text")
    started = time.monotonic()
    terminal.press("esc")
    terminal.wait_gone("sliding in")
    terminal.wait_for("▌ queued text")
    terminal.wait_for("cancelled")
    assert time.monotonic() - started < 4.0  # two seconds, and a busy machine


def test_the_next_request_says_that_the_user_cancelled(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.14: the note is for the model, once, after the unchanged earlier messages."""
    server = serve([ENDLESS, Say("as you wish"), Say("third")])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.wait_for("esc stops")
    terminal.wait_until(lambda: bool(server.requests), "the request")
    terminal.press("esc")
    terminal.wait_for("◌ cancelled")
    terminal.submit("something else")
    terminal.wait_for("as you wish")
    first, note, last = "\n".join(user_texts(server.requests[1])).split("\n")
    assert (first, last) == ("begin", "something else") and "the user cancelled the previous turn" in note
    assert "the user cancelled" not in terminal.everything
    terminal.submit("more")
    terminal.wait_for("third")
    assert "\n".join(user_texts(server.requests[2])).count("the user cancelled") == 1
    assert "the user cancelled" in zot.sessions[0].read_text()


def test_escape_closes_help_and_leaves_the_turn_alone(serve: Any, open_zot: OpenZot) -> None:
    """iface-162: esc closes the help and leaves the turn running."""
    serve([Slow(Say("the turn went on"), 0.4)])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.submit("/help")
    terminal.wait_for("── help")
    terminal.press("esc")
    terminal.wait_gone("── help")
    terminal.wait_for("the turn went on")


def test_ctrl_c_while_busy_cancels_and_the_second_leaves(serve: Any, open_zot: OpenZot) -> None:
    """issue 29.12, iface-163: ctrl+c cancels the turn and keeps the draft; only a second one exits."""
    serve([ENDLESS])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.wait_for("esc stops")
    terminal.type("a draft")
    terminal.wait_for("▌ a draft")
    terminal.press("ctrl+c")
    terminal.wait_for("◌ cancelled")
    terminal.wait_for("ctrl+c again quits zot")
    assert "▌ a draft" in terminal.screen
    terminal.press("ctrl+c")
    assert terminal.wait_exit() == 0


def test_ctrl_c_clears_a_draft_and_again_leaves(open_zot: OpenZot) -> None:
    """iface-164: ctrl+c clears a draft, and a second one exits."""
    terminal = open_zot()
    terminal.type("a draft")
    terminal.wait_for("▌ a draft")
    terminal.press("ctrl+c")
    terminal.wait_gone("▌ a draft")
    terminal.wait_for("ctrl+c again")
    terminal.press("ctrl+c")
    assert terminal.wait_exit() == 0


def test_text_cleared_by_ctrl_c_is_in_history(open_zot: OpenZot) -> None:
    terminal = open_zot()
    terminal.type("a draft")
    terminal.wait_for("▌ a draft")
    terminal.press("ctrl+c")
    terminal.wait_gone("▌ a draft")
    terminal.press("up")
    terminal.wait_for("▌ a draft")


def test_another_key_between_two_ctrl_c_prevents_the_exit(open_zot: OpenZot) -> None:
    """iface-165: another key between two ctrl+c prevents the exit."""
    terminal = open_zot()
    terminal.press("ctrl+c")
    terminal.wait_for("ctrl+c again")
    terminal.type("x")
    terminal.wait_gone("ctrl+c again")
    terminal.press("ctrl+c")
    terminal.wait_for("ctrl+c again")
    terminal.type("alive")
    terminal.wait_for("▌ alive")


def test_ctrl_d_leaves_only_when_idle_and_empty(serve: Any, open_zot: OpenZot) -> None:
    """iface-166: ctrl+d exits only when idle with an empty editor."""
    serve([ENDLESS])
    terminal = open_zot()
    terminal.type("xyz")
    terminal.press("home", "ctrl+d")
    terminal.wait_for("▌ yz")
    terminal.press("ctrl+u", "end", "ctrl+u")
    terminal.submit("begin")
    terminal.wait_for("▌")
    terminal.press("ctrl+d")
    terminal.type("still here")
    terminal.wait_for("▌ still here")
    terminal.press("ctrl+u", "esc")
    terminal.wait_for("cancelled")
    terminal.wait_gone("esc stops")
    terminal.press("ctrl+d")
    assert terminal.wait_exit() == 0


def test_alt_up_takes_back_newest_queued_prompt_with_image(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    serve([ENDLESS])
    (tmp_path / "shot.png").write_bytes(PNG)
    terminal = open_zot()
    terminal.submit("begin")
    terminal.submit("first")
    terminal.wait_for("sliding in: first")
    terminal.type("look ")
    terminal.paste(f"{tmp_path}/shot.png")
    terminal.wait_for("[file:1:shot.png]")
    terminal.press("enter")
    terminal.wait_for("sliding in: look")
    terminal.press("alt+up")
    terminal.wait_for("[image #1]")
    terminal.wait_gone("sliding in: look")
    terminal.wait_for("sliding in: first")
