"""``chat.send``: what extensions say into the conversation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.client import calls, falls_silent, says
from tests.fakes.extension_puppet import FakeExtensionUI, Stage, Talk
from zot.agent.config import FrontEnd
from zot.agent.queued_prompts import has_queued, run_queued
from zot.core.agent import Outcome
from zot.core.events import OF_EXTENSION, AgentEvent, EntryAdded, PromptAccepted, UserMessage
from zot.frontends.prompt_queue import PromptQueue
from zot.frontends.rpc.extension_ui import RpcExtensionUI

CHAT = ("chat", "session.read")


class FakeRunningUI(FakeExtensionUI):
    """A front end that notes that it should run queued prompts."""

    asked = 0

    def run_queued(self) -> bool:
        self.asked += 1
        return True


def _sent(talk: Talk, number: int) -> list[str]:
    return [message.text() for message in talk.client.requests[number].messages if message.role == "user"]


async def test_idle_conversation_is_prompted_and_marked(stage: Stage) -> None:
    """ext2-106: a prompt of an extension is marked in the transcript, in the event and on disk."""
    x, surface, shown = stage.add(uses=CHAT), FakeRunningUI(), list[AgentEvent]()
    async with stage.talk(says("done"), surface=surface) as talk:
        conversation = talk.conversation
        conversation.subscribe(shown.append, UserMessage)
        assert await x.result("chat.send", {"content": "go on"}) == {"queued": False}
        assert surface.asked == 1 and has_queued(conversation)
        await run_queued(conversation, Outcome("end"))
        (event,) = shown
        assert isinstance(event, UserMessage) and event.message.meta == {OF_EXTENSION: "x"}
        assert conversation.messages[0].meta == {OF_EXTENSION: "x"} and _sent(talk, 0) == ["go on"]
        entries = (await x.result("session.entries"))["entries"]
        assert entries[0]["message"]["extension"] == "x"


async def test_busy_conversation_is_steered_or_queued(stage: Stage) -> None:
    """§12: now and steer join the running prompt, queue waits for its end."""
    x = stage.add(uses=CHAT)
    silent, first = falls_silent()
    async with stage.talk([*first, *says("one")], says("two"), says("three")) as talk:
        conversation = talk.conversation
        conversation.enqueue("prompt")

        async def steered(_: Any) -> None:
            for deliver in ("now", "steer", "queue"):
                assert await x.result("chat.send", {"content": deliver, "deliver": deliver}) == {"queued": True}
            silent.go_on.set()

        import asyncio

        async with asyncio.TaskGroup() as group:
            group.create_task(_prompt_all(talk))
            await silent.reached.wait()
            await steered(None)
        assert _sent(talk, 1) == ["prompt", "now", "steer"] and _sent(talk, 2)[-1] == "queue"


async def _prompt_all(talk: Talk) -> None:
    prompt = talk.conversation.pop_queued()
    assert prompt is not None
    await run_queued(talk.conversation, await talk.conversation.prompt(prompt.text))


async def test_context_names_the_extension_and_is_shown(stage: Stage) -> None:
    """ext2-106: context says to the model that it is from an extension; with start false no prompt starts."""
    x, surface, shown = stage.add(uses=CHAT), FakeRunningUI(), list[AgentEvent]()
    async with stage.talk(says("ok"), surface=surface) as talk:
        talk.conversation.subscribe(shown.append, EntryAdded)
        params = {"content": "3 tests fail", "as": "context", "start": False, "type": "tests", "data": {"n": 3}}
        done = await x.result("chat.send", {**params, "view": {"lines": ["3 failed"]}})
        assert done["queued"] is False and surface.asked == 0 and not talk.conversation.queued
        (event,) = shown
        assert isinstance(event, EntryAdded) and event.entry_id == done["entry_id"]
        assert (event.extension, event.kind, event.view) == ("x", "tests", {"lines": ["3 failed"]})
        await talk.conversation.prompt("hi")
        assert _sent(talk, 0) == ["[from the extension x, not from the user]\n\n3 tests fail", "hi"]
        first = (await x.result("session.entries"))["entries"][0]
        assert (first["entry_id"], first["message"]["kind"]) == (done["entry_id"], "tests")


async def test_context_without_start_waits_for_open_calls(stage: Stage) -> None:
    """While a tool runs, context waits for its result: a call is never separated from its answer."""
    x = stage.add(uses=CHAT)
    async with stage.talk(calls(("read", {"path": "nope"})), says("ok")) as talk:

        def during(event: AgentEvent) -> None:
            x.begin("chat.send", {"content": "more", "as": "context", "start": False}, id="c")

        from zot.core.events import ToolStarting

        gone = talk.conversation.subscribe(during, ToolStarting)

        class Wait:
            read_only = True
            name = "read"
            description = ""
            schema: dict[str, Any] = {"type": "object"}  # noqa: RUF012  a constant

            async def execute(self, args: dict[str, Any], context: Any) -> Any:
                from zot.core.tool import text_result

                assert (await x.response("c"))["result"] == {"queued": True}
                return text_result("read it")

        talk.conversation.agent.set_tools([Wait()])
        await talk.conversation.prompt("go")
        gone()
        roles = [message.role for message in talk.client.requests[1].messages]
        assert roles == ["user", "assistant", "tool", "user"]


async def test_next_goes_along_with_the_users_prompt(stage: Stage) -> None:
    """§12: next is added to the user's next prompt, not to one of an extension."""
    x = stage.add(uses=CHAT)
    async with stage.talk(says("a"), says("b")) as talk:
        assert await x.result("chat.send", {"content": "by the way", "deliver": "next"}) == {"queued": True}
        await x.result("chat.send", {"content": "mine"})
        await run_queued(talk.conversation, Outcome("end"))
        await talk.conversation.prompt("yours")
        assert _sent(talk, 0) == ["mine"] and _sent(talk, 1) == ["mine", "by the way", "yours"]


async def test_note_never_reaches_the_model(stage: Stage) -> None:
    """§12: a note is stored and shown, and no request has it."""
    x, shown = stage.add(uses=CHAT), list[AgentEvent]()
    async with stage.talk(says("a")) as talk:
        talk.conversation.subscribe(shown.append, EntryAdded)
        done = await x.result("chat.send", {"content": "saved to disk", "as": "note"})
        await talk.conversation.prompt("hi")
        assert "saved to disk" not in str(talk.client.requests)
        (event,) = shown
        assert isinstance(event, EntryAdded) and (event.entry_id, event.text) == (done["entry_id"], "saved to disk")


async def test_leading_slash_is_text(stage: Stage) -> None:
    """ext2-107: /compact and !ls of an extension are text."""
    x = stage.add(uses=CHAT)
    async with stage.talk(says("a"), says("b")) as talk:
        await x.result("chat.send", {"content": "/compact"})
        await x.result("chat.send", {"content": "!ls"})
        await run_queued(talk.conversation, Outcome("end"))
        assert _sent(talk, 1) == [" /compact", "!ls"]


async def test_only_so_many_prompts_in_a_row(stage: Stage) -> None:
    """ext2-109: after 20 prompts in a row the user must send the next one; 60 messages a minute."""
    x = stage.add(uses=CHAT)
    async with stage.talk(*(says("a") for _ in range(22))) as talk:
        for n in range(20):
            await x.result("chat.send", {"content": str(n)})
        code, text = await x.error("chat.send", {"content": "21"})
        assert code == "refused" and "20 prompts of extensions in a row" in text
        await run_queued(talk.conversation, Outcome("end"))
        await talk.conversation.prompt("the user")
        await x.result("chat.send", {"content": "again"})
        for _ in range(38):
            await x.result("chat.send", {"content": "n", "as": "note"})
        assert (await x.error("chat.send", {"content": "n", "as": "note"}))[0] == "busy"


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"content": " "}, "chat.send: content: expected text or an image"),
        ({"content": 3}, "chat.send: content: expected a string or a list of blocks"),
        ({"content": "a", "as": "system"}, "chat.send: as: invalid enum value 'system'"),
        ({"content": "a", "start": False}, 'chat.send: start: false needs "as": "context"'),
        ({}, "chat.send: content: missing"),
    ],
)
async def test_wrong_message_is_named(stage: Stage, params: dict[str, Any], why: str) -> None:
    x = stage.add(uses=CHAT)
    async with stage.talk():
        assert await x.error("chat.send", params) == ("bad_params", why)


async def test_without_the_word_nothing_is_said(stage: Stage) -> None:
    """ext2-020: without the word chat the message is denied, and the word named."""
    x = stage.add()
    async with stage.talk() as talk:
        code, text = await x.error("chat.send", {"content": "hi"})
        assert code == "denied" and '"chat"' in text and not talk.conversation.queued


async def test_program_over_rpc_sees_the_prompt(stage: Stage) -> None:
    """ext2-108: over RPC a prompt of an extension runs by itself, and ends with `done`."""
    import asyncio

    events: list[AgentEvent] = []
    queue, x = PromptQueue(events.append), stage.add(uses=CHAT)
    surface = RpcExtensionUI(None, set())  # type: ignore[arg-type]  # nothing is written
    surface.on_queued = queue.run_queued
    front = FrontEnd(reader=queue.on_event, surface=surface, mode="rpc")
    async with stage.talk(says("done"), front_end=front) as talk, asyncio.TaskGroup() as group:
        queue.conversation = talk.conversation
        running = group.create_task(queue.run())
        assert await x.result("chat.send", {"content": "hello"}) == {"queued": False}
        queue.close()
        await running
    kinds = [type(event).__name__ for event in events]
    assert "UserMessage" in kinds and kinds.count("Done") == 1 and isinstance(events[0], PromptAccepted | UserMessage)
