"""The status row: names what zot waits for, with the seconds of that wait."""

from __future__ import annotations

import pytest

from zot.core import events
from zot.core.events import AgentEvent
from zot.frontends.terminal.screen.activity import Activity
from zot.provider.messages import TextBlock, ToolCallBlock, Usage
from zot.tui.theme import Spinner, built_in
from zot.tui.width import cells, visible

THEME = built_in("dark")
BASH = ToolCallBlock("c1", "bash", '{"command":"make test"}')
READ = ToolCallBlock("c2", "read", '{"path":"a.py"}')


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def row_after(*said: AgentEvent, seconds: float = 12, width: int = 100, begin: str = "", **options: bool) -> str:
    """The row some seconds after the last of these events, without its glyph."""
    clock = Clock()
    activity = Activity(clock)
    activity.begin(begin)
    for event in said:
        clock.now += 1
        activity.on_event(event)
    clock.now += seconds
    return visible(activity.row(THEME, width, **options))[2:]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([events.TurnStart(1)], "waiting for the model 12s"),
        ([events.TurnStart(1), events.ThinkingDelta("hm"), events.ThinkingDelta("m")], "thinking 13s"),
        ([events.ThinkingDelta("hm"), events.ThinkingEnd(1), events.TextDelta("a")], "writing 12s"),
        (
            [events.TextDelta("a"), events.ToolUseStart("c1", "bash"), events.ToolUseArgs("c1", "{")],
            "preparing bash 13s",
        ),
        ([events.ToolCall(BASH), events.ToolProgress("c1", "x")], "bash make test 13s"),
        ([events.ToolCall(BASH), events.ToolCall(READ)], "bash make test 13s"),
        ([events.ToolCall(BASH), events.ToolCall(READ), events.ToolResultEvent("c1", False, ())], "read a.py 12s"),
        ([events.ToolCall(BASH), events.ToolResultEvent("c1", False, (TextBlock("x"),))], "waiting for the model 12s"),
    ],
)
def test_activity_row_names_running_work_and_time(said: list[AgentEvent], shown: str) -> None:
    """iface-117: the spinner's row names the running work and its duration."""
    assert row_after(*said) == f"{shown} · esc stops · ctrl+s steers"


def test_later_calls_show_time_and_tokens_of_the_whole_turn() -> None:
    """issue 29.15: after the first model call the row has the seconds and tokens of the turn; a new turn has none."""
    used = events.UsageEvent(Usage(input_tokens=900, output_tokens=70, cache_read_tokens=300), Usage())
    said = [events.TurnStart(1), used, events.ToolCall(BASH), events.ToolResultEvent("c1", False, ()), used]
    assert row_after(*said).startswith("waiting for the model 13s · turn 17s ↑2.4k ↓140 · esc stops")
    clock = Clock()
    activity = Activity(clock)
    activity.begin()
    activity.on_event(used)
    activity.begin()
    assert "turn" not in visible(activity.row(THEME, 100))


def test_a_wait_before_another_attempt_is_counted_down() -> None:
    wait = events.RetryWait(4, 10, 20.0, "overloaded")
    assert row_after(wait) == "overloaded, try 4 of 10 in 8 s · esc cancels"
    assert row_after(wait, seconds=23) == "waiting for the model, try 4 of 10 3s · esc stops"
    assert row_after(wait, events.TextDelta("a")) == "writing 12s · esc stops · ctrl+s steers"
    long = events.RetryWait(2, 10, 20.0, "x" * 300)
    assert row_after(long, width=40).endswith("…, try 2 of 10 in 8 s")


def test_compaction_command_and_question_have_their_texts() -> None:
    assert row_after(begin="compacting") == "compacting 12s · esc stops"
    assert row_after(events.CompactStart(True)) == "compacting 12s · esc stops"
    assert row_after(events.ToolCall(BASH), begin="running a command") == "bash make test 12s · esc stops"
    assert row_after(events.ToolCall(BASH), asking=True) == "waiting for your answer"


def test_long_waits_are_shown_in_minutes() -> None:
    assert row_after(events.ThinkingDelta("x"), seconds=133).startswith("thinking 2m13s")
    assert row_after(events.ThinkingDelta("x"), seconds=3720).startswith("thinking 1h02m")


def test_narrow_screen_drops_keys_then_command() -> None:
    long = ToolCallBlock("c1", "bash", '{"command":"find . -name one -o -name two"}')
    for width in (1, 5, 20, 40, 60, 80):
        row = "⠋ " + row_after(events.ToolCall(long), width=width)
        assert cells(row) <= max(width, 2)
        assert width < 20 or " 12s" in row


def test_theme_phrases_apply_to_thinking_only() -> None:
    """iface-117: the phrase does not change during a turn."""
    theme = built_in("dark")
    theme.spinner = Spinner(messages=("counting stars",))
    activity = Activity(Clock())
    activity.begin()
    assert "waiting for the model" in activity.row(theme, 80)
    activity.on_event(events.ThinkingDelta("hm"))
    assert "counting stars" in activity.row(theme, 80)


def test_control_sequences_in_a_call_do_not_reach_the_row() -> None:
    call = ToolCallBlock("c1", "bash", '{"command":"echo \\u001b[2J\\u001b]0;x\\u0007 hi"}')
    assert "\x1b" not in row_after(events.ToolCall(call))
