"""Thinking on the screen: while it streams, afterwards, in full and after a resume."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Held, Say, Silent
from tests.fakes.model_wire import events
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import configure

THOUGHT = "First I look at the file.\nThen I count the brackets, and then I count them once more to be sure."


def until_the_answer(say: Say) -> Silent:
    """The thought arrives, the answer does not."""
    wire = events("anthropic", say, "claude-sonnet-5-5")
    before = next(n for n, event in enumerate(wire) if b"signature_delta" in event)
    return Silent(say, sum(map(len, wire[:before])))


def long_thought(turn: Say | CallTools) -> Held:
    """Long enough to have a row, which begins at a second."""
    return Held(turn, (b"signature_delta",), 1.3)


def test_thought_is_dim_and_status_row_shows_thinking(serve: Any, open_zot: OpenZot) -> None:
    serve([until_the_answer(Say("never", reasoning=THOUGHT))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("  First I look at the file.")
    terminal.wait_for("to be sure.")
    terminal.wait_for("thinking 1s · esc stops · ctrl+s steers")
    assert terminal.cell("First I look").fg == "808080"
    terminal.press("esc")
    terminal.wait_for("✻ Thought for")
    terminal.wait_gone("brackets")
    terminal.wait_gone("esc stops")


def test_a_thought_folds_into_one_row_and_ctrl_o_opens_it(serve: Any, open_zot: OpenZot) -> None:
    serve([long_thought(Say("The answer.", reasoning=THOUGHT)), long_thought(Say("Another.", reasoning="And again."))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_until(lambda: re.search(r"✻ Thought for \ds · ctrl\+o shows it", terminal.screen), "the row")
    terminal.wait_for("The answer.")
    terminal.wait_gone("esc stops")
    assert "brackets" not in terminal.screen
    assert terminal.row_of("✻ Thought") < terminal.row_of("The answer.")
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    terminal.wait_for("to be sure.")
    terminal.press("esc")
    terminal.wait_gone("to be sure.")
    terminal.submit("more")
    terminal.wait_for("Another.")
    assert terminal.everything.count("✻ Thought for") == 2
    assert terminal.everything.count("ctrl+o shows it") == 1


def test_a_thought_between_reads_does_not_part_them(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """One row for all reads, with the thinking time between them; a thought after the last has its own row."""
    for name in ("a.py", "b.py"):
        (zot.project / name).write_text("x = 1\n")
    first, second = (("read", {"path": name}) for name in ("a.py", "b.py"))
    thinking = long_thought(CallTools([second], reasoning="Once more."))
    serve([CallTools([first]), thinking, long_thought(Say("The answer.", reasoning="And again."))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_until(lambda: "The answer." in terminal.screen, "the answer", timeout=40)
    rows = [r"● Read a\.py, b\.py · thought for \ds", r"✻ Thought for \ds · ctrl\+o shows it", "", "  The answer"]
    assert re.search("\n".join(rows), terminal.screen), terminal.screen
    assert terminal.everything.count("● Read") == 1


def test_thoughts_may_stay_open_or_away(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    serve([Say("The answer.", reasoning=THOUGHT)], repeat=True)
    configure(zot, show_thinking="open")
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("The answer.")
    assert terminal.row_of("✻ Thought for") < terminal.row_of("to be sure.") < terminal.row_of("The answer.")
    configure(zot, show_thinking="off")
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("The answer.")
    assert "Thought" not in terminal.everything and "brackets" not in terminal.everything


def test_kept_thoughts_can_be_opened_after_a_resume(serve: Any, open_zot: OpenZot) -> None:
    call = CallTools([("bash", {"command": "echo hi"})], reasoning=THOUGHT)
    serve([call, Say("The answer.")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("The answer.")
    terminal.submit("/exit")
    terminal.wait_exit()
    terminal = open_zot("-c")
    terminal.wait_for("The answer.")
    assert "✻ Thought" in terminal.screen and "brackets" not in terminal.screen
    terminal.press("ctrl+o")
    terminal.wait_for("to be sure.")


def test_ctrl_o_unfolds_a_running_thought(serve: Any, open_zot: OpenZot) -> None:
    long = "\n".join(f"step {number}." for number in range(1, 15))
    serve([until_the_answer(Say("never", reasoning=f"{long}\nlast"))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("  last")
    assert "step 1." not in terminal.screen
    terminal.press("ctrl+o")
    terminal.wait_for("  step 1.")
    terminal.press("ctrl+o")
    terminal.wait_gone("  step 1.")


WATCHER = 'hello(); subscribe(intercept=["assistant_message"]); ready()\nserve(event_intercept=lambda f: answer(f))'


@pytest.mark.parametrize("shown", ["folded", "open"])
def test_text_interceptor_hides_thoughts(zot: Zot, serve: Any, open_zot: OpenZot, shown: str) -> None:
    serve([Say("The answer.", reasoning=THOUGHT)])
    configure(zot, show_thinking=shown)
    write_extension(zot.home / "zot" / "extensions", "watcher", WATCHER)
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("The answer.")
    terminal.wait_gone("esc stops")
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    terminal.wait_for("The answer.")
    assert b"brackets" not in terminal.raw
