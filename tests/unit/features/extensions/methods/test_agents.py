"""``agent.run``: sub-agents of extensions."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from tests.fakes.client import Pause, calls, says
from tests.fakes.extension_puppet import Stage, Talk
from zot.provider.messages import Usage

AGENTS = ("agents",)
COSTLY = Usage(input_tokens=1000, output_tokens=1000, cost_usd=0.4)


def _price(talk: Talk) -> None:
    agent = talk.conversation.agent
    agent.model = msgspec.structs.replace(agent.model, price_input=1.0, price_output=1.0, max_output=1000)


async def test_agent_works_with_tools_and_leaves_no_trace(stage: Stage) -> None:
    """ext2-115: tools of the conversation, progress per step and tool, nothing in the transcript."""
    x = stage.add(uses=AGENTS)
    (stage.root / "project").mkdir()
    (stage.root / "project" / "notes.txt").write_text("the answer is 42")
    async with stage.talk(calls(("read", {"path": "notes.txt"})), says("it is 42")) as talk:
        id = x.begin("agent.run", {"prompt": "what is the answer?", "tools": ["read"], "system": "Be brief."})
        result = (await x.response(id))["result"]
        assert (result["text"], result["status"], result["steps"]) == ("it is 42", "completed", 2)
        assert result["usage"]["input_tokens"] > 0
        data = [frame["data"] for frame in x.of("progress", id=id)]
        assert {"step": 1, "tool_name": "read"} in data and {"step": 2, "text": "it is 42"} in data
        first, second = talk.client.requests
        assert [tool.name for tool in first.tools] == ["read"] and first.system == "Be brief."
        assert "the answer is 42" in str(second.messages) and not talk.conversation.messages
        assert talk.conversation.total_usage.input_tokens == result["usage"]["input_tokens"]


async def test_agent_has_the_guards_of_its_conversation(stage: Stage) -> None:
    """ext2-114, ext2-115: a guard judges its tool calls, and sees its requests with the extension's name."""
    x, guard = stage.add(uses=AGENTS), stage.add("keeper", uses=["context"], guard=True)
    async with stage.talk(calls(("bash", {"command": "touch made"})), says("could not")) as talk:
        await guard.intercept("tool_call", lambda frame: {"block": True, "reason": "no shell"})
        await guard.intercept("model_request", lambda frame: {})
        result = await x.result("agent.run", {"prompt": "make a file"})
        assert result["text"] == "could not" and "no shell" in str(talk.client.requests[1].messages)
        assert not (stage.root / "project" / "made").exists()
        asked = guard.asked("model_request")
        assert {(data["purpose"], data["origin_extension"]) for data in asked} == {("extension", "x")}


async def test_guard_may_deny_the_agent(stage: Stage) -> None:
    """ext2-146: a blocked request is ``refused``."""
    x, guard = stage.add(uses=AGENTS), stage.add("keeper", uses=["context"], guard=True)
    async with stage.talk():
        await guard.intercept("model_request", lambda frame: {"block": True, "reason": "not today"})
        code, message = await x.error("agent.run", {"prompt": "hi"})
        assert code == "refused" and "not today" in message


async def test_agent_ends_with_its_parent_and_with_cancel(stage: Stage) -> None:
    """ext2-115, ext2-015: cancelled with the command it serves, or by the extension; the slot is free again."""
    x, first, second = stage.add(uses=AGENTS), Pause(), Pause()
    async with stage.talk([first], [second], says("now")) as talk:
        id = x.begin("agent.run", {"prompt": "hi"})
        await first.reached.wait()
        x.send(type="cancel", id=id)
        assert (await x.response(id))["error"]["code"] == "cancelled"
        x.send(type="register_command", name="go")
        await x.request("none")
        running = asyncio.create_task(talk.host.run_command("go", ""))
        command = await x.frame("command_invoked")
        id = x.begin("agent.run", {"prompt": "hi"}, parent_id=command["id"])
        await second.reached.wait()
        x.send(type="command_response", id=command["id"], action="noop")
        await running
        assert (await x.response(id))["error"]["code"] == "cancelled"
        assert (await x.result("agent.run", {"prompt": "hi"}))["text"] == "now"


async def test_agent_is_limited_by_steps_money_and_number(stage: Stage) -> None:
    """ext2-113, ext2-114, ext2-115: max_steps, extension_max_cost, and four at a time."""
    x = stage.add(uses=AGENTS)
    again: list[Any] = [calls(("read", {"path": "."})) for _ in range(2)]
    async with stage.talk(*again) as talk:
        result = await x.result("agent.run", {"prompt": "hi", "max_steps": 2})
        assert (result["status"], result["steps"]) == ("step_limit", 2)
        assert (await x.error("agent.run", {"prompt": "hi", "max_steps": 101}))[0] == "bad_params"
        assert (await x.error("agent.run", {"prompt": " "}))[0] == "bad_params"
        assert (await x.error("agent.run", {"prompt": "hi", "tools": ["nope"]}))[0] == "not_found"
        pauses = [Pause() for _ in range(4)]
        talk.client.add(*([pause, *says("a")] for pause in pauses))
        ids = [x.begin("agent.run", {"prompt": "hi"}) for _ in range(4)]
        for pause in pauses:
            await pause.reached.wait()
        assert (await x.error("agent.run", {"prompt": "hi"}))[0] == "busy"
        for pause in pauses:
            pause.go_on.set()
        for id in ids:
            assert (await x.response(id))["result"]["status"] == "completed"
        _price(talk)
        talk.client.add(*(says("a", usage=COSTLY) for _ in range(3)))
        codes = [(await x.request("agent.run", {"prompt": "hi"})).get("error", {}).get("code") for _ in range(4)]
        assert codes == [None, None, None, "budget"]
        assert (await x.error("agent.run", {"prompt": "hi"}))[0] == "budget"


async def test_agents_need_their_word(stage: Stage) -> None:
    """ext2-141: without "agents" the answer is ``denied``."""
    x = stage.add()
    async with stage.talk():
        assert (await x.error("agent.run", {"prompt": "hi"}))[0] == "denied"
