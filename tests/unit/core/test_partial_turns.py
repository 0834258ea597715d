"""Partial turns: what the transcript stores of an interrupted turn (engine-core C2.6)."""

from __future__ import annotations

import pytest

from tests.fakes.client import answer, calls, falls_silent, says
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.journal import FakeJournal
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, is_valid, make_agent, of, roles, running, words
from zot.core import events
from zot.core.interceptors import TextVerdict
from zot.core.turn import kept_message
from zot.errors import TransportFailed
from zot.provider.messages import Message, ReasoningBlock, StopReason, TextBlock, ToolCallBlock
from zot.provider.model_call import Started, TextDelta, ToolArgs, ToolStarted

CALL = ToolCallBlock("t1", "bash", '{"command":"ls"}')
HALF_CALL = ToolCallBlock("t1", "bash", '{"comm')
TEXT = TextBlock("words")
THOUGHT = ReasoningBlock(summary="hm")


async def test_aborted_text_answer_is_stored() -> None:
    """engine-152, and the core half of engine-049: stop aborted plus the partial message."""
    journal = FakeJournal()
    pause, silent = falls_silent(TextDelta("half "), TextDelta("an answer"))
    agent, _ = make_agent(silent, journal=journal)
    async with running(agent) as background:
        await pause.reached.wait()
        agent.abort()
        outcome = await background.outcome()
    assert outcome.stop == "aborted" and outcome.error is None
    assert agent.messages[-1].text() == "half an answer" and agent.messages[-1].role == "assistant"
    assert journal.of("appended")[-1] == (agent.messages[-1].without_end(),)
    assert words(background.said)[-4:] == ["usage", "assistant_message", "turn_end", "done"]
    assert of(background.said, events.TurnEnd) == [events.TurnEnd("aborted", "aborted")]


async def test_an_aborted_answer_with_a_call_is_dropped() -> None:
    """engine-153: an aborted answer that had begun a tool call is dropped."""
    pause, silent = falls_silent(TextDelta("let me"), ToolStarted("t1", "bash"), ToolArgs("t1", '{"com'))
    tool = FakeTool()
    agent, _ = make_agent(silent, tools=[tool])
    async with running(agent) as background:
        await pause.reached.wait()
        agent.abort()
        await background.outcome()
    assert roles(agent) == ["user"] and tool.ran == []
    assert "assistant_message" not in words(background.said)


async def test_an_abort_before_any_text_appends_nothing() -> None:
    pause, silent = falls_silent()
    agent, _ = make_agent(silent)
    async with running(agent) as background:
        await pause.reached.wait()
        agent.abort()
        await background.outcome()
    assert roles(agent) == ["user"]
    assert words(background.said)[-3:] == ["usage", "turn_end", "done"]


async def test_held_text_stays_hidden_after_an_abort() -> None:
    pause, silent = falls_silent(TextDelta("secret"))
    agent, _ = make_agent(silent, interceptors=[FakeInterceptor(text=TextVerdict())])
    async with running(agent) as background:
        await pause.reached.wait()
        agent.abort()
        await background.outcome()
    assert "secret" not in str(background.said)
    assert agent.messages[-1].text() == "secret"


@pytest.mark.parametrize("stop", ["length", "error"])
async def test_a_call_that_will_not_run_is_stripped_and_its_text_kept(stop: StopReason) -> None:
    """engine-154: an answer cut by its limit or by an error preserves its text without the unfinished call."""
    tool = FakeTool()
    agent, client = make_agent(calls(("bash", {}), text="let me", stop=stop), says("ok"), tools=[tool])
    outcome, said = await heard(agent)
    assert outcome.stop == stop and tool.ran == []
    assert "tool_call" not in words(said)
    await heard(agent, "again")
    assert is_valid(client.requests[1].messages)
    assert [m.text() for m in client.requests[1].messages] == ["go", "let me", "again"]


async def test_stream_without_end_is_an_error_and_keeps_text() -> None:
    """The core half of engine-050."""
    agent, _ = make_agent([Started("m", "p"), TextDelta("half")])
    outcome, said = await heard(agent)
    assert isinstance(outcome.error, TransportFailed) and outcome.error.retryable
    assert words(said)[-3:] == ["turn_end", "error", "done"]
    assert agent.messages[-1].text() == "half"


async def test_a_stream_that_raises_midway_keeps_the_text() -> None:
    agent, _ = make_agent([Started("m", "p"), TextDelta("half"), ToolStarted("t1", "bash"), TransportFailed("cut")])
    outcome, said = await heard(agent)
    assert isinstance(outcome.error, TransportFailed)
    assert [e.message for e in of(said, events.Error)] == ["cut"]
    assert agent.messages[-1].content == (TextBlock("half"),)


async def test_an_empty_answer_appends_nothing() -> None:
    agent, _ = make_agent(answer(()))
    outcome, said = await heard(agent)
    assert roles(agent) == ["user"] and outcome.stop == "end"
    assert "assistant_message" not in words(said)


async def test_complete_call_runs_even_if_stop_is_end() -> None:
    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", {"n": 1}), stop="end"), says("ok"), tools=[tool])
    _, said = await heard(agent)
    assert tool.ran == [{"n": 1}]
    assert of(said, events.TurnEnd)[0].stop == "tool_use"


@pytest.mark.parametrize(
    ("stop", "content", "kept", "taken_as"),
    [
        ("end", (THOUGHT, TEXT), (THOUGHT, TEXT), "end"),
        ("end", (TEXT, HALF_CALL), (TEXT,), "end"),
        ("end", (TEXT, CALL), (TEXT, CALL), "tool_use"),
        ("tool_use", (THOUGHT, CALL), (THOUGHT, CALL), "tool_use"),
        ("tool_use", (TEXT,), (TEXT,), "end"),
        ("length", (THOUGHT, TEXT, HALF_CALL), (TEXT,), "length"),
        ("error", (HALF_CALL,), None, "error"),
        ("aborted", (TEXT,), (TEXT,), "aborted"),
        ("aborted", (TEXT, CALL), None, "aborted"),
        ("end", (TextBlock(""),), None, "end"),
    ],
)
def test_kept_message(
    stop: StopReason, content: tuple[TextBlock, ...], kept: tuple[TextBlock, ...] | None, taken_as: StopReason
) -> None:
    message, reason = kept_message(Message("assistant", content), stop)
    assert (message.content if message else None, reason) == (kept, taken_as)
