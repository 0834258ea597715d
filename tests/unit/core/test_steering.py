"""Steering joins the running prompt; the queue waits; nothing the user typed is lost."""

from __future__ import annotations

from tests.fakes.client import calls, falls_silent, says
from tests.fakes.journal import FakeJournal
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, make_agent, running, words
from zot.core.state import PendingPrompt
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.provider.messages import ImageBlock

IMAGE = ImageBlock("image/png", b"png")


async def test_steering_joins_before_the_next_model_call() -> None:
    async def steered(args: dict[str, object], context: ToolContext) -> ToolResult:
        agent.steer("use pytest", [IMAGE])
        return text_result("ok")

    journal = FakeJournal()
    agent, client = make_agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash", steered)], journal=journal)
    _, said = await heard(agent)
    last = client.requests[1].messages[-1]
    assert last.role == "user" and last.text() == "use pytest" and IMAGE in last.content
    assert words(said).count("user_message") == 2
    assert words(said).index("turn_start", 3) > words(said).index("user_message", 1)
    assert (last,) in journal.of("appended")


async def test_steering_prompt_continues_finished_run() -> None:
    agent, client = make_agent([lambda: agent.steer("and the docs"), *says("done")], says("docs done"))
    outcome, said = await heard(agent)
    assert [m.text() for m in client.requests[1].messages] == ["go", "done", "and the docs"]
    assert outcome.stop == "end" and words(said).count("done") == 1


async def test_steering_at_the_last_step_waits_in_the_queue() -> None:
    agent, _ = make_agent([lambda: agent.steer("more"), *says("ok")], max_steps=1)
    agent.enqueue("later")
    outcome, _ = await heard(agent)
    assert outcome.error is None
    assert [agent.take_queued(), agent.take_queued(), agent.take_queued()] == [
        PendingPrompt("more"),
        PendingPrompt("later"),
        None,
    ]


async def test_steering_of_an_aborted_run_waits_in_the_queue() -> None:
    pause, silent = falls_silent()
    agent, _ = make_agent(silent)
    async with running(agent) as background:
        await pause.reached.wait()
        agent.steer("one")
        agent.steer("two")
        agent.abort()
        await background.outcome()
    assert agent.inputs.queued == (PendingPrompt("one"), PendingPrompt("two"))


async def test_steering_an_idle_agent_queues_the_text() -> None:
    agent, _ = make_agent()
    agent.steer("hello", [IMAGE])
    assert agent.take_queued() == PendingPrompt("hello", (IMAGE,))


async def test_the_queue_keeps_order_and_can_be_taken_back() -> None:
    agent, _ = make_agent()
    for text in ("one", "two", "three"):
        agent.enqueue(text)
    assert agent.inputs.take_back() == PendingPrompt("three")
    assert agent.take_queued() == PendingPrompt("one")
    assert agent.inputs.take_all() == (PendingPrompt("two"),)
    assert agent.take_queued() is None and agent.inputs.take_back() is None


async def test_a_prompt_carries_its_images_after_the_text() -> None:
    agent, client = make_agent(says("ok"), says("ok"))
    await agent.prompt("look", [IMAGE])
    assert [type(b).__name__ for b in client.requests[0].messages[0].content] == ["TextBlock", "ImageBlock"]
    await agent.prompt("", [IMAGE])
    assert client.requests[1].messages[-1].content == (IMAGE,)
