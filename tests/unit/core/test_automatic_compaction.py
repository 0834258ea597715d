"""Automatic compaction: at 85 % of the window, and after a prompt that did not fit (engine-core C3.2)."""

from __future__ import annotations

import msgspec
import pytest

from tests.fakes.client import answer, calls, falls_silent, says
from tests.fakes.journal import FakeJournal
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import (
    MODEL,
    answered,
    assistant,
    called,
    heard,
    is_valid,
    make_agent,
    of,
    running,
    user,
    words,
)
from zot.core import events
from zot.core.state import PendingPrompt
from zot.errors import ContextTooLong, TransportFailed
from zot.provider.messages import ImageBlock, Usage
from zot.provider.model_call import Request, Started, TextDelta

HISTORY = [user("old"), assistant("answer"), user("older"), assistant("answers"), user("x"), assistant("y")]
FULL = Usage(input_tokens=50_000, cache_read_tokens=20_000, cache_write_tokens=15_000)
NEARLY = Usage(input_tokens=84_999)


def summarised(requests: list[Request]) -> list[bool]:
    """For each request, whether it was a compaction."""
    return [request.max_tokens == 4096 for request in requests]


@pytest.mark.parametrize(("usage", "compacts"), [(FULL, True), (NEARLY, False)])
async def test_the_threshold_is_85_percent_before_a_prompt(usage: Usage, compacts: bool) -> None:
    """engine-168: at 85 % of the context a prompt is preceded by a compaction, at 84 % it is not."""
    agent, client = make_agent(says("a", usage=usage), messages=HISTORY)
    await heard(agent)
    client.add(*([says("sum")] if compacts else []), says("b"))
    outcome, said = await heard(agent, "the new prompt")
    assert summarised(client.requests) == ([False, True, False] if compacts else [False, False])
    assert ("compact_done" in words(said)) is compacts
    assert outcome.stop == "end"
    assert client.requests[-1].messages[-1].text() == "the new prompt"


async def test_compaction_between_tool_steps_keeps_recent_tail() -> None:
    """engine-254, engine-164: summary and the last four messages, and the prompt survives verbatim."""
    journal = FakeJournal()
    agent, client = make_agent(
        calls(("bash", {})),
        calls(("bash", {}), usage=FULL),
        says("## Goal\nx"),
        says("finished"),
        messages=HISTORY,
        tools=[FakeTool()],
        journal=journal,
    )
    outcome, said = await heard(agent, "fix it")
    assert outcome.stop == "end" and agent.messages[-1].text() == "finished"
    last = client.requests[-1].messages
    assert [m.role for m in last] == ["user", "assistant", "tool", "assistant", "tool"]
    assert last[0].text().endswith("\n\nfix it") and is_valid(last)
    assert [c[0] for c in journal.of("compacted")] == [4]
    start = words(said).index("compact_start")
    assert words(said)[start - 1 : start + 3] == ["notice", "compact_start", "compact_done", "turn_start"]
    assert of(said, events.CompactStart) == [events.CompactStart(automatic=True)]
    assert of(said, events.CompactDone) == [events.CompactDone("## Goal\nx", automatic=True)]


async def test_nothing_is_compacted_when_the_window_is_unknown() -> None:
    unknown = msgspec.structs.replace(MODEL, context_window=0)
    agent, client = make_agent(says("a", usage=FULL), says("b"), messages=HISTORY, model=unknown)
    await heard(agent)
    await heard(agent)
    assert summarised(client.requests) == [False, False]


async def test_nothing_is_compacted_when_it_is_turned_off() -> None:
    agent, client = make_agent(says("a", usage=FULL), says("b"), messages=HISTORY, compact_at=0)
    await heard(agent)
    await heard(agent)
    assert summarised(client.requests) == [False, False]


async def test_failed_automatic_compaction_warns_once_and_continues() -> None:
    agent, client = make_agent(
        calls(("bash", {}), usage=FULL),
        [TransportFailed("fake: cut")],
        calls(("bash", {}), usage=FULL),
        says("ok"),
        messages=HISTORY,
        tools=[FakeTool()],
    )
    outcome, said = await heard(agent)
    assert outcome.stop == "end"
    assert summarised(client.requests) == [False, True, False, False]
    warnings = [e.text for e in of(said, events.Notice) if e.level == "warn"]
    assert len(warnings) == 1 and "fake: cut" in warnings[0]
    assert "error" not in words(said)


async def test_oversized_prompt_is_compacted_and_sent_again_once() -> None:
    """engine-170: the prompt is not duplicated and the turn is the same."""
    agent, client = make_agent([ContextTooLong("413")], says("sum"), says("ok"), messages=HISTORY)
    outcome, said = await heard(agent, "the prompt")
    assert outcome.stop == "end"
    assert summarised(client.requests) == [False, True, False]
    assert [m.text() for m in client.requests[2].messages].count("the prompt") == 1
    assert words(said).count("turn_start") == 1 and words(said).count("user_message") == 1
    assert "error" not in words(said)


async def test_a_first_prompt_that_does_not_fit_is_taken_out_again() -> None:
    """There is nothing to summarise but the prompt itself, which would be sent along word for word."""
    journal = FakeJournal()
    agent, client = make_agent([ContextTooLong("413")], says("ok"), journal=journal)
    image = ImageBlock("image/png", b"png")
    outcome = await agent.prompt("the prompt", [image])
    assert outcome.taken_back == PendingPrompt("the prompt", (image,))
    assert isinstance(outcome.error, ContextTooLong)
    assert "fake-1, which is 100,000 tokens: it has about" in str(outcome.error)
    assert (await agent.prompt("shorter", instead=True)).stop == "end"
    assert [m.text() for m in client.requests[1].messages] == ["shorter"]


@pytest.mark.parametrize("instead", [True, False])
async def test_prompt_larger_than_window_leaves_conversation_unchanged(instead: bool) -> None:
    agent, client = make_agent([ContextTooLong("413")], says("ok"), messages=HISTORY)
    outcome, said = await heard(agent, "word " * 100_000)
    assert outcome.taken_back is not None and outcome.taken_back.text == "word " * 100_000
    assert "compact_start" not in words(said) and words(said)[-3:] == ["turn_end", "error", "done"]
    assert agent.messages[:-1] == tuple(HISTORY)
    await agent.prompt("go on", instead=instead)
    texts = [message.text() for message in client.requests[1].messages]
    assert texts[-1] == "go on" and len(texts) == len(HISTORY) + (1 if instead else 2)
    assert sum(map(len, texts)) < 1_000


async def test_prompt_too_large_after_compaction_is_removed() -> None:
    agent, client = make_agent([ContextTooLong("413")], says("sum"), [ContextTooLong("413")], messages=HISTORY)
    outcome, _ = await heard(agent, "the prompt")
    assert summarised(client.requests) == [False, True, False]
    assert client.requests[2].messages[-1].text() == "the prompt", "as a message of its own"
    assert outcome.taken_back == PendingPrompt("the prompt")
    assert "the prompt" not in [message.text() for message in agent.messages]
    assert "was removed here" in agent.messages[-1].text()


async def test_a_prompt_that_still_does_not_fit_is_reported() -> None:
    agent, client = make_agent([ContextTooLong("413")], says("sum"), [ContextTooLong("413 again")], messages=HISTORY)
    outcome, said = await heard(agent)
    assert isinstance(outcome.error, ContextTooLong)
    assert len(client.requests) == 3
    assert words(said)[-3:] == ["turn_end", "error", "done"]


async def test_an_overflow_is_reported_when_it_cannot_be_compacted() -> None:
    agent, _ = make_agent([ContextTooLong("413")], [ContextTooLong("413 too")], messages=HISTORY)
    outcome, said = await heard(agent)
    assert "it has about 4 tokens, earlier messages 30, instructions" in str(outcome.error)
    assert outcome.taken_back == PendingPrompt("go") and str(outcome.error.__cause__) == "413"
    assert "warn" in [e.level for e in of(said, events.Notice)]


async def test_overflow_error_inside_stream_is_retried() -> None:
    refused = answer((), stop="error", error=ContextTooLong("too long"), usage=Usage())
    agent, client = make_agent(refused, says("sum"), says("ok"), messages=HISTORY)
    outcome, said = await heard(agent)
    assert outcome.stop == "end" and len(client.requests) == 3
    assert words(said).count("assistant_start") == 1


async def test_aborted_automatic_compaction_ends_run_unchanged() -> None:
    pause, silent = falls_silent()
    history = [*HISTORY, called("t1"), answered("t1"), assistant("a")]
    agent, _ = make_agent([ContextTooLong("413")], silent, messages=history)
    async with running(agent, "prompt") as background:
        await pause.reached.wait()
        agent.abort()
        outcome = await background.outcome()
    assert outcome.stop == "aborted"
    assert [m.text() for m in agent.messages] == [*(m.text() for m in history), "prompt"]
    assert words(background.said)[-2:] == ["turn_end", "done"]


async def test_an_overflow_after_text_was_shown_is_not_retried() -> None:
    begun = [Started("m", "p"), TextDelta("half"), ContextTooLong("too long")]
    agent, client = make_agent(begun, messages=HISTORY)
    outcome, _ = await heard(agent)
    assert isinstance(outcome.error, ContextTooLong) and len(client.requests) == 1
