"""``call_tool`` and ``before_agent_start`` (extension-protocol.md §22.3, §22.4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, until
from tests.fakes.extensions import seen_of
from tests.fakes.tools import FakeTool
from zot.core.permission_gate import Answer, ApprovalQuestion, PermissionGate
from zot.core.tool import text_result
from zot.wire import limits


def asking(*frames: dict[str, Any], body: str = "serve()") -> str:
    """Calls tools once a file ``go`` exists, since an agent must be joined first."""
    return f"""
hello("call_tool"); ready()
while not os.path.exists(HERE + "/go"): time.sleep(0.002)
for frame in {list(frames)!r}: send(**frame)
{body}
"""


async def results(kit: Kit, *frames: dict[str, Any], count: int = 1, **options: Any) -> list[dict[str, Any]]:
    directory = kit.add("x", asking(*({"type": "call_tool", **frame} for frame in frames)))
    await kit.start()
    kit.agent(**options)
    (directory / "go").touch()
    await until(lambda: len(seen_of(directory, "tool_result")) == count)
    return seen_of(directory, "tool_result")


async def test_child_call_runs_tool_without_changing_transcript(kit: Kit) -> None:
    """ext-124: a tool called by a child runs, interceptors see the caller, and the transcript is unchanged."""
    watcher = kit.add("w", 'hello(); subscribe(["tool_result"], ["tool_call"]); ready(); serve(event_intercept=answer)')
    tool = FakeTool("bash")
    (result,) = await results(kit, {"id": "r1", "name": "bash", "args": {"a": 1}}, tools=[tool])
    assert result == {
        "type": "tool_result",
        "id": "r1",
        "name": "bash",
        "content": [{"type": "text", "text": "bash ok"}],
    }
    assert tool.ran == [{"a": 1}]
    await until(lambda: seen_of(watcher, "event"))
    assert seen_of(watcher, "event_intercept")[0]["origin_extension"] == "x"
    assert seen_of(watcher, "event")[0]["origin_extension"] == "x"


async def test_a_requested_call_is_confirmed_like_any_other(kit: Kit) -> None:
    """ext-124: with `--no-yolo` a requested call is confirmed like any other, and a no reaches the child."""
    asked: list[str] = []

    async def confirm(question: ApprovalQuestion) -> Answer:
        asked.append(question.call.name)
        return Answer("deny", "no")

    tool = FakeTool("bash")
    (result,) = await results(kit, {"id": "1", "name": "bash"}, tools=[tool], gate=PermissionGate(confirm))
    assert (asked, tool.ran, result["is_error"], result["content"][0]["text"]) == (["bash"], [], True, "no")


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ({"name": "nope"}, "unknown tool"),
        ({"name": "bash", "args": [1]}, "expected an object"),
        ({"name": "bash", "parent_id": "77"}, "no tool call 77"),
    ],
)
async def test_a_call_that_makes_no_sense_is_answered_with_an_error(kit: Kit, frame: dict[str, Any], why: str) -> None:
    """§22.3: a call to an unknown tool, with bad arguments or under an unknown parent is answered with an error."""
    (result,) = await results(kit, {"id": "1", **frame}, tools=[FakeTool("bash")])
    assert result["is_error"] and why in result["content"][0]["text"]


async def test_a_repeated_and_an_empty_id_are_dropped(kit: Kit) -> None:
    """§22.3: a call whose id is empty or in use is dropped and logged."""
    gate = asyncio.Event()

    async def wait(args: dict[str, Any], context: Any) -> Any:
        await gate.wait()
        return text_result("ok")

    tool = FakeTool("bash", wait)
    frame = {"id": "1", "name": "bash"}
    task = asyncio.ensure_future(results(kit, frame, frame, {"id": "", "name": "bash"}, tools=[tool]))
    await until(lambda: "empty id" in kit.log("x"))
    gate.set()
    assert len(await task) == 1 and len(tool.ran) == 1


async def test_a_result_above_256_kib_is_cut(kit: Kit) -> None:
    """ext-126: a result of more than 256 KiB arrives cut, with `truncated: true`."""

    async def long(args: dict[str, Any], context: Any) -> Any:
        return text_result("x" * 300_000)

    (result,) = await results(kit, {"id": "1", "name": "bash"}, tools=[FakeTool("bash", long)])
    assert result["truncated"] is True and len(result["content"][0]["text"]) == 256 * 1024


async def test_no_more_than_64_calls_of_one_extension_run_at_a_time(kit: Kit) -> None:
    """A flood of requests must not become a flood of tools."""
    gate = asyncio.Event()

    async def wait(args: dict[str, Any], context: Any) -> Any:
        await gate.wait()
        return text_result("ok")

    frames = [{"id": str(number), "name": "bash"} for number in range(100)]
    task = asyncio.ensure_future(results(kit, *frames, count=100, tools=[FakeTool("bash", wait)]))
    await until(lambda: kit.directories and len(seen_of(kit.directories[0], "tool_result")) == 36)
    gate.set()
    assert sum("at most 64 calls" in result["content"][0]["text"] for result in await task) == 36


NESTING = """
hello("call_tool", "tool_cancel")
for number in range(1, 7): tool(f"t{number}")
ready()
waiting = {}
def call(f):
    number = int(f["name"][1:])
    waiting["q" + f["id"]] = f
    follow = f["args"].get("next", f"t{number + 1}")
    send(type="call_tool", id="q" + f["id"], name=follow, args=f["args"],
         **({} if f["args"].get("orphan") else {"parent_id": f["id"]}))
def result(r):
    f = waiting.pop(r["id"])
    text(f["id"], f["name"] + ">" + r["content"][0]["text"])
serve(tool_call=call, tool_result=result)
"""


async def nested(kit: Kit, args: dict[str, Any]) -> str:
    kit.add("n", NESTING)
    await kit.start()
    agent, _ = kit.agent(calls(("t1", args)), says("ok"), tools=[FakeTool("bash")])
    await agent.prompt("go")
    return agent.messages[2].tool_results()[0].content[0].text  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_tool_may_use_another_within_itself(kit: Kit) -> None:
    """§22.3: a tool of an extension may call another tool while it runs."""
    assert await nested(kit, {"next": "bash"}) == "t1>bash ok"


async def test_a_chain_of_five_is_refused(kit: Kit) -> None:
    """ext-125: a chain of five tools is refused; four are allowed."""
    assert await nested(kit, {}) == "t1>t2>t3>t4>call_tool: more than 4 tools in a chain"


async def test_tool_cannot_be_called_twice_in_a_chain(kit: Kit) -> None:
    """§22.3: a tool that is running cannot be called again within its own chain."""
    assert "already running" in await nested(kit, {"next": "t1"})


async def test_call_without_parent_is_denied_while_own_tool_runs(kit: Kit) -> None:
    """ext-125: without `parent_id` a child's call is refused while one of its own tools runs."""
    assert "parent_id is required" in await nested(kit, {"orphan": True})


async def test_a_nested_call_ends_with_its_parent(kit: Kit) -> None:
    """§22.3: the parent's cancellation carries over"""
    cancelled = asyncio.Event()

    async def wait(args: dict[str, Any], context: Any) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    kit.add("n", NESTING)
    await kit.start()
    tool = FakeTool("bash", wait)
    agent, _ = kit.agent(calls(("t1", {"next": "bash"})), tools=[tool])
    async with asyncio.TaskGroup() as group:
        group.create_task(agent.prompt("go"))
        await until(lambda: tool.ran)
        agent.abort()
    async with asyncio.timeout(2):
        await cancelled.wait()


async def test_child_may_cancel_calls_and_death_ends_them(kit: Kit) -> None:
    """§22.3: call_tool_cancel"""
    ends: list[str] = []

    async def wait(args: dict[str, Any], context: Any) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ends.append(args["n"])
            raise

    call = {"type": "call_tool", "name": "bash"}
    directory = kit.add(
        "x",
        asking(
            {**call, "id": "1", "args": {"n": "given up"}},
            {**call, "id": "2", "args": {"n": "died"}},
            body='time.sleep(0.2); send(type="call_tool_cancel", id="1"); time.sleep(0.2); os._exit(0)',
        ),
    )
    await kit.start()
    kit.agent(tools=[FakeTool("bash", wait)])
    (directory / "go").touch()
    await until(lambda: ends == ["given up", "died"])


# --- before_agent_start


def rewriting(answer: str) -> str:
    return f"""
hello(); subscribe(intercept=["before_agent_start"]); ready()
def ask(f): {answer}
serve(event_intercept=ask)
"""


async def system_prompts(kit: Kit, *, prompts: int = 1) -> list[str]:
    await kit.start()
    agent, client = kit.agent(*(says("ok") for _ in range(prompts)))
    for _ in range(prompts):
        await agent.prompt("go")
    return [request.system for request in client.requests]


async def test_system_prompt_is_rewritten_in_load_order_once(kit: Kit) -> None:
    """ext-127, ext-128: extensions rewrite the system prompt in load order, once for each conversation."""
    first = kit.add("a", rewriting('answer(f, system_prompt=f["system_prompt"] + " a", block=True)'))
    kit.add("b", rewriting('answer(f, system_prompt=f["system_prompt"] + " b")'))
    assert await system_prompts(kit, prompts=2) == ["base prompt a b"] * 2
    (question,) = seen_of(first, "event_intercept")
    assert set(question) == {
        *("type", "id", "event", "session_id", "agent_run_id", "cwd", "provider", "model", "system_prompt")
    }


@pytest.mark.parametrize(
    ("answer", "prompt", "warned"),
    [
        ('answer(f, system_prompt="")', "", False),
        ("answer(f)", "base prompt", False),
        ("answer(f, system_prompt=None)", "base prompt", False),
        ("answer(f, system_prompt=5)", "base prompt", True),
        ('answer(f, system_prompt="x" * (1 << 20))', "base prompt", True),
        ("pass", "base prompt", True),
        ("os._exit(0)", "base prompt", True),
    ],
)
async def test_only_a_string_of_reasonable_size_replaces_the_prompt(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, answer: str, prompt: str, warned: bool
) -> None:
    """ext-127: only a string of sensible size replaces the prompt; anything else warns, and silence changes nothing."""
    monkeypatch.setattr(limits, "INTERCEPT_REPLY", 0.3)
    kit.add("a", rewriting(answer))
    assert await system_prompts(kit) == [prompt]
    notes = kit.surface.of("notify")
    assert [(note[0], note[1]) for note in notes] == [("a", "warn")] * warned


async def test_rewrite_runs_after_clear_model_change_and_reload(kit: Kit) -> None:
    """ext-128: always from the base prompt"""
    directory = kit.add("a", rewriting('answer(f, system_prompt=f["system_prompt"] + "!")'))
    await kit.start()
    agent, client = kit.agent(*(says("ok") for _ in range(4)))
    await agent.prompt("go")
    agent.set_messages([])
    await agent.prompt("go")
    agent.set_model(client, agent.model)
    await agent.prompt("go")
    agent.invalidate_system_prompt()
    await agent.prompt("go")
    assert [request.system for request in client.requests] == ["base prompt!"] * 4
    questions = seen_of(directory, "event_intercept")
    assert [question["system_prompt"] for question in questions] == ["base prompt"] * 4
    assert len({question["agent_run_id"] for question in questions}) == 4
