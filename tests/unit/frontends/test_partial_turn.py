"""The part of a running turn that the transcript does not have yet."""

from __future__ import annotations

from zot.core import events
from zot.frontends.partial_turn import PartialTurn
from zot.provider.messages import Message, TextBlock, ToolCallBlock, utc_now

ANSWER = events.AssistantMessage(Message("assistant", (TextBlock("hello"),), utc_now()))


def call(id: str) -> events.ToolCall:
    return events.ToolCall(ToolCallBlock(id, "bash", "{}"))


def after(*given: events.AgentEvent) -> list[events.AgentEvent]:
    partial = PartialTurn()
    for event in given:
        partial.on_event(event)
    return list(partial.events())


def test_deltas_of_one_kind_are_joined() -> None:
    thought, word = events.ThinkingDelta, events.TextDelta
    begun = after(events.AssistantStart(), thought("let "), thought("me"), word("hel"), word("lo"))
    assert begun == [events.AssistantStart(), thought("let me"), word("hello")]


def test_a_whole_message_leaves_nothing() -> None:
    assert after(events.AssistantStart(), events.TextDelta("hello"), ANSWER) == []


def test_calls_stay_until_their_results() -> None:
    result = events.ToolResultEvent("a", False, ())
    assert after(ANSWER, call("a"), call("b"), result) == [call("b")]
    assert after(ANSWER, call("a"), events.Done()) == []


def test_more_events_after_reading_are_kept() -> None:
    partial = PartialTurn()
    partial.on_event(events.TextDelta("one "))
    assert partial.events() == [events.TextDelta("one ")]
    partial.on_event(events.TextDelta("two"))
    assert partial.events() == [events.TextDelta("one "), events.TextDelta("two")]
