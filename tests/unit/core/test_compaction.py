"""Compaction by the user: the whole transcript becomes one message (engine-core C3.1)."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.fakes.client import answer, falls_silent, says
from tests.fakes.journal import FakeJournal
from tests.unit.core.harness import MODEL, answered, assistant, called, heard, make_agent, user, words
from zot.core import events
from zot.core.compaction import tail_start
from zot.core.events import AgentEvent
from zot.errors import CompactionAborted, CompactionFailed, ContextTooLong, TransportFailed
from zot.provider.messages import ImageBlock, Message, TextBlock, ToolCallBlock, Usage
from zot.provider.model_call import TextDelta

EXCHANGE = [user("fix the bug"), assistant("fixed")]
LONG = [user("one"), assistant("1"), user("two"), called("t1"), answered("t1"), assistant("2"), user("three")]


async def test_an_empty_transcript_is_an_error() -> None:
    """engine-162: error, then done, without a model call."""
    said: list[AgentEvent] = []
    agent, client = make_agent()
    with pytest.raises(CompactionFailed, match="nothing to compact"):
        await agent.compact(said.append)
    assert words(said) == ["compact_start", "error", "done"]
    assert client.requests == []


async def test_a_tail_that_covers_everything_is_an_error() -> None:
    """engine-163: a tail that covers the whole transcript is an error and changes nothing."""
    agent, _ = make_agent(messages=EXCHANGE)
    with pytest.raises(CompactionFailed, match="whole transcript"):
        await agent.compact(keep_tail=4)
    assert list(agent.messages) == EXCHANGE


async def test_one_exchange_is_enough_without_a_tail() -> None:
    """engine-163, engine-164: one user message that ends with the last instruction."""
    said: list[AgentEvent] = []
    agent, _ = make_agent(says("  ## Goal\nfix ", usage=Usage(input_tokens=9)), messages=EXCHANGE)
    summary = await agent.compact(said.append)
    [message] = agent.messages
    assert summary == "## Goal\nfix"
    assert message.role == "user"
    assert message.text().startswith("## Context Summary (compacted)\n\n## Goal\nfix")
    assert message.text().endswith("\n\nfix the bug")
    assert said == [events.CompactStart(), events.CompactDone("## Goal\nfix")]


async def test_compaction_focus_is_in_the_prompt() -> None:
    agent, client = make_agent(says("sum"), says("sum"), messages=EXCHANGE)
    await agent.compact(focus="the names of the files")
    assert client.requests[0].messages[0].text().endswith("keep this above all:\nthe names of the files")
    await agent.compact()
    assert "above all" not in client.requests[1].messages[0].text()


async def test_text_too_long_to_summarise_is_cut_until_it_fits() -> None:
    """A text may have far more tokens than its length suggests."""
    long = [user("word " * 20_000), assistant("answer " * 10_000)]
    refused = ContextTooLong("fake: 400")
    inside = answer((), stop="error", error=ContextTooLong("fake: too long"))
    agent, client = make_agent([refused], inside, says("sum"), messages=long)
    assert await agent.compact() == "sum"
    sizes = [len(request.messages[0].text()) for request in client.requests]
    assert sizes[0] > 150_000 and sizes[1] < sizes[0] * 0.6 and sizes[2] < sizes[1] * 0.6


async def test_always_rejected_summary_fails_without_changes() -> None:
    long = [user("word " * 2_000)]
    agent, client = make_agent(*[[ContextTooLong("fake: 400")]] * 20, messages=long)
    with pytest.raises(CompactionFailed, match="fake: 400"):
        await agent.compact()
    assert len(client.requests) < 6 and list(agent.messages) == long


async def test_focus_that_fills_window_is_truncated() -> None:
    """Word for word, it would make every later prompt too long."""
    agent, _ = make_agent(says("sum"), messages=[user("begin " + "word " * 200_000 + "end")])
    await agent.compact()
    [message] = agent.messages
    assert len(message.text()) <= 201_000
    assert "begin word" in message.text() and message.text().endswith("word end")
    assert "characters left out" in message.text()


async def test_the_last_instruction_survives_a_second_compaction() -> None:
    agent, _ = make_agent(says("first"), says("second"), messages=EXCHANGE)
    await agent.compact()
    await agent.compact()
    [message] = agent.messages
    assert "second" in message.text() and "first" not in message.text()
    assert message.text().endswith("\n\nfix the bug")


async def test_the_images_of_the_last_instruction_survive() -> None:
    image = ImageBlock("image/png", b"png")
    agent, _ = make_agent(says("s"), messages=[Message("user", (TextBlock("look"), image)), assistant("ok")])
    await agent.compact()
    assert image in agent.messages[0].content
    assert agent.messages[0].text().endswith("look")


async def test_a_kept_tail_follows_the_summary() -> None:
    """engine-164: the last prompt is in the tail, so it is not quoted."""
    agent, _ = make_agent(says("sum"), messages=LONG)
    await agent.compact(keep_tail=2)
    assert [m.role for m in agent.messages] == ["user", "assistant", "user"]
    assert agent.messages[0].text().endswith("sum")
    assert list(agent.messages[1:]) == LONG[-2:]


async def test_the_cut_moves_back_rather_than_split_a_tool_exchange() -> None:
    """engine-164: the cut moves back rather than separate a call from its result."""
    agent, _ = make_agent(says("sum"), messages=LONG)
    await agent.compact(keep_tail=3)
    assert list(agent.messages[1:]) == LONG[3:]


def test_a_huge_message_does_not_stay_in_the_tail() -> None:
    messages = [user("go"), called("t1"), answered("t1", text="x" * 40_000), assistant("a"), user("b")]
    assert tail_start(messages, 4, window=1000_000) == 1
    assert tail_start(messages, 4, window=10_000) == 3


def test_a_huge_call_leaves_the_tail_together_with_its_result() -> None:
    huge = Message("assistant", (ToolCallBlock("t1", "write", '"' + "x" * 40_000 + '"'),))
    messages = [user("go"), huge, answered("t1"), assistant("a"), user("b")]
    assert tail_start(messages, 4, window=10_000) == 3


async def test_the_summary_message_is_marked() -> None:
    """engine-165: the summary message carries `compaction` and `tokens_before` in its meta data."""
    agent, client = make_agent(says("sum"), messages=EXCHANGE)
    await agent.compact()
    meta = agent.messages[0].meta
    assert meta["compaction"] == "true"
    sent = client.requests[0].messages[0].text()
    conversation = sent[sent.index("<conversation>\n") + 15 : sent.index("\n</conversation>")]
    assert abs(int(meta["tokens_before"]) - len(conversation) // 4) <= 1


@pytest.mark.parametrize(
    "reply",
    [
        says("  \n "),
        [TransportFailed("fake: cut")],
        answer((TextBlock("half"),), ["half"], stop="error", error=TransportFailed("fake: cut")),
        says("half")[:-1],
    ],
    ids=["empty", "no answer", "error in the stream", "no end"],
)
async def test_a_failure_leaves_the_transcript_unchanged(reply: list[object]) -> None:
    """engine-166: a compaction that fails leaves transcript and journal as they were."""
    said: list[AgentEvent] = []
    journal = FakeJournal()
    agent, _ = make_agent(reply, messages=EXCHANGE, journal=journal)
    revision = agent.revision
    with pytest.raises(CompactionFailed) as caught:
        await agent.compact(said.append)
    assert list(agent.messages) == EXCHANGE and agent.revision == revision
    assert words(said)[-2:] == ["error", "done"]
    assert said[-2] == events.Error(str(caught.value))
    assert "compacted" not in journal.names()


async def test_abort_leaves_transcript_unchanged_and_ends_with_done() -> None:
    """engine-166: aborting a compaction leaves the transcript unchanged and ends with `done`."""
    pause, silent = falls_silent(TextDelta("half"))
    said: list[AgentEvent] = []
    agent, _ = make_agent(silent, messages=EXCHANGE)

    async def compacting() -> str:
        with pytest.raises(CompactionAborted):
            await agent.compact(said.append)
        return "aborted"

    async with asyncio.TaskGroup() as group:
        task = group.create_task(compacting())
        await pause.reached.wait()
        agent.abort()
    assert task.result() == "aborted"
    assert list(agent.messages) == EXCHANGE
    assert words(said) == ["compact_start", "done"]


async def test_a_cancellation_from_outside_passes_on() -> None:
    """engine-166: an outside cancellation propagates and leaves the transcript unchanged."""
    pause, silent = falls_silent()
    agent, _ = make_agent(silent, messages=EXCHANGE)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(agent.compact())
        await pause.reached.wait()
        task.cancel()
    assert task.cancelled() and list(agent.messages) == EXCHANGE and not agent.busy


async def test_the_request_is_one_message_without_tools_or_reasoning() -> None:
    """engine-167: the request is one message with no tools, no reasoning and at most 4096 tokens."""
    agent, client = make_agent(says("sum"), messages=EXCHANGE, reasoning="high")
    await agent.compact()
    [request] = client.requests
    assert request.tools == () and request.max_tokens == 4096 and request.reasoning == ""
    assert request.system != "system" and len(request.messages) == 1
    text = request.messages[0].text()
    assert "\n--- user ---\nfix the bug\n\n--- assistant ---\nfixed\n" in text
    sections = ["Goal", "Constraints & Preferences", "Progress", "Done", "In Progress", "Blocked"]
    sections += ["Key Decisions", "Next Steps", "Critical Context"]
    places = [text.index(f"# {section}\n") for section in sections]
    assert places == sorted(places)


async def test_journal_and_revision_record_compaction() -> None:
    """engine-169 and engine-253, the core half: manual compaction is stored with keep_tail 0."""
    journal = FakeJournal()
    agent, _ = make_agent(says("sum"), messages=EXCHANGE, journal=journal)
    before = agent.revision
    await agent.compact()
    assert journal.of("compacted") == [(0, agent.messages[0])]
    assert agent.revision > before


async def test_journal_gets_the_size_of_the_tail() -> None:
    journal = FakeJournal()
    agent, _ = make_agent(says("sum"), messages=LONG, journal=journal)
    await agent.compact(keep_tail=3)
    assert journal.of("compacted")[0][0] == 4


async def test_the_cost_of_the_summary_is_counted_and_the_meter_reset() -> None:
    agent, _ = make_agent(
        says("hi", usage=Usage(input_tokens=50)), says("sum", usage=Usage(input_tokens=1000)), messages=EXCHANGE
    )
    await heard(agent)
    assert agent.last_context_tokens == 50
    await agent.compact()
    assert agent.cost.input_tokens == 1050
    assert agent.last_context_tokens == 0


async def test_history_larger_than_window_is_cut_before_sending() -> None:
    small = msgspec.structs.replace(MODEL, context_window=20_000)
    messages = [user("go"), called("t1"), answered("t1", text="x" * 500_000), assistant("done")]
    agent, client = make_agent(says("sum"), messages=messages, model=small)
    await agent.compact()
    assert len(client.requests[0].messages[0].text()) < 20_000 * 4


def kept(call_id: str, text: str) -> Message:
    block = answered(call_id).content[0]
    return Message("tool", (msgspec.structs.replace(block, attached={"kept": {"List": text}}),), "")


async def test_kept_texts_survive_compactions() -> None:
    """issue 32.2: the newest text of a name is in the summary, also of a second compaction."""
    messages = [user("go"), called("t1"), kept("t1", "- old"), called("t2"), kept("t2", "- new"), assistant("ok")]
    agent, _ = make_agent(says("sum"), says("again"), messages=messages)
    await agent.compact()
    assert "\n\n## List\n\n- new\n\n## Last instruction" in agent.messages[0].text()
    await agent.compact()
    assert "again\n\n## List\n\n- new" in agent.messages[0].text() and "- old" not in agent.messages[0].text()


async def test_kept_text_of_the_tail_is_not_repeated() -> None:
    messages = [user("go"), called("t1"), kept("t1", "- old"), user("on"), called("t2"), kept("t2", "- new")]
    agent, _ = make_agent(says("sum"), messages=messages)
    await agent.compact(keep_tail=3)
    assert "## List" not in agent.messages[0].text() and len(agent.messages) == 4
