"""Running tools: one result per call, in order, and no tool can break the loop."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from tests.fakes.client import calls, says
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, is_valid, make_agent, of, results, words
from zot.core import events
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError


async def test_results_come_in_call_order_and_in_one_message() -> None:
    """engine-142: results arrive in the order of the calls, all in one tool message."""
    agent, client = make_agent(
        calls(("bash", {"n": 1}), ("write", {"n": 2}), ("bash", {"n": 3})),
        says("ok"),
        tools=[FakeTool("bash"), FakeTool("write")],
    )
    _, said = await heard(agent)
    assert results(said) == [("t1", False, "bash ok"), ("t2", False, "write ok"), ("t3", False, "bash ok")]
    tool_message = client.requests[1].messages[-1]
    assert tool_message.role == "tool"
    assert [r.call_id for r in tool_message.tool_results()] == ["t1", "t2", "t3"]


async def test_all_calls_are_announced_before_any_tool_runs() -> None:
    agent, _ = make_agent(calls(("bash", {}), ("bash", {})), says("ok"), tools=[FakeTool()])
    _, said = await heard(agent)
    assert words(said)[words(said).index("tool_call") :][:5] == [
        "tool_call",
        "tool_call",
        "turn_end",
        "tool_result",
        "tool_result",
    ]


async def test_unknown_tool_is_an_error_result_and_run_continues() -> None:
    """engine-143: an unknown tool is an error result, and the run continues."""
    agent, _ = make_agent(calls(("nonesuch", {})), says("ok"))
    outcome, said = await heard(agent)
    [(_, is_error, text)] = results(said)
    assert is_error and "nonesuch" in text
    assert outcome.stop == "end"


class FakeEnablingTool(FakeTool):
    listed: ClassVar[dict[str, str]] = {"web_fetch": "read a web page"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Bash", "unknown tool: Bash; did you mean bash?"),
        ("basch", "unknown tool: basch; did you mean bash?"),
        ("web_fetch", 'unknown tool: web_fetch; call more with {"names": ["web_fetch"]} first'),
        ("x" * 65, "unknown tool: " + "x" * 65),
    ],
)
async def test_an_unknown_tools_result_names_the_next_step(name: str, text: str) -> None:
    """Issue 32: a model that writes a name wrong, or calls an on-demand tool at once, learns what to call."""
    tools = [FakeTool(), FakeEnablingTool("more")]
    agent, _ = make_agent(calls((name, {})), says("ok"), tools=tools)
    _, said = await heard(agent)
    assert [result[2] for result in results(said)] == [text]


@pytest.mark.parametrize("error", [ToolError("no such file: a.py"), ValueError("odd"), KeyError("k")])
async def test_an_exception_inside_a_tool_is_an_error_result(error: Exception) -> None:
    """engine-144: an exception in a tool becomes an error result."""

    async def fails(args: dict[str, object], context: ToolContext) -> ToolResult:
        raise error

    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash", fails)])
    outcome, said = await heard(agent)
    [(_, is_error, text)] = results(said)
    assert is_error and str(error) in text
    assert outcome.stop == "end" and is_valid(agent.messages)


async def test_self_cancelling_tool_is_aborted_and_run_continues() -> None:
    async def gives_up(args: dict[str, object], context: ToolContext) -> ToolResult:
        raise asyncio.CancelledError

    agent, _ = make_agent(calls(("bash", {}), ("write", {})), says("ok"), tools=[FakeTool("bash", gives_up)])
    outcome, said = await heard(agent)
    assert results(said)[0][1] and results(said)[0][2].startswith("aborted: ")
    assert outcome.stop == "end"


@pytest.mark.parametrize("arguments", ['{"command": ', "nonsense", '{"a": NaN}'])
async def test_invalid_json_is_an_error_for_model_and_nothing_runs(arguments: str) -> None:
    tool = FakeTool()
    agent, client = make_agent(calls(("bash", arguments)), says("ok"), tools=[tool])
    _, said = await heard(agent)
    [(_, is_error, text)] = results(said)
    assert is_error and "not valid JSON" in text
    assert tool.ran == []
    assert client.requests[1].messages[-2].tool_calls()[0].arguments == arguments


@pytest.mark.parametrize("arguments", ["[1]", "3", "null", '"text"'])
async def test_arguments_that_are_not_an_object_are_an_error_result(arguments: str) -> None:
    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", arguments)), says("ok"), tools=[tool])
    _, said = await heard(agent)
    assert results(said)[0][1] and "JSON object" in results(said)[0][2]
    assert tool.ran == []


async def test_missing_arguments_are_an_empty_object() -> None:
    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", "")), says("ok"), tools=[tool])
    await heard(agent)
    assert tool.ran == [{}]


async def test_progress_after_result_is_dropped() -> None:
    late: list[ToolContext] = []

    async def keeps_its_context(args: dict[str, object], context: ToolContext) -> ToolResult:
        late.append(context)
        context.progress("in time")
        return text_result("ok")

    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash", keeps_its_context)])
    _, said = await heard(agent)
    late[0].progress("too late")
    assert [e.text for e in of(said, events.ToolProgress)] == ["in time"]


async def test_details_reach_the_event_and_not_the_model() -> None:
    async def detailed(args: dict[str, object], context: ToolContext) -> ToolResult:
        return text_result("ok", details={"diff": "+1"})

    agent, client = make_agent(calls(("edit", {})), says("ok"), tools=[FakeTool("edit", detailed)])
    _, said = await heard(agent)
    assert of(said, events.ToolResultEvent)[0].details == {"diff": "+1"}
    assert "diff" not in str(client.requests[1].messages[-1])


async def test_replaced_tools_apply_from_the_next_step() -> None:
    """engine-157: tools that are exchanged in mid-run hold from the next step on."""
    old, new = FakeTool("bash"), FakeTool("fresh")

    async def swap(args: dict[str, object], context: ToolContext) -> ToolResult:
        agent.set_tools([new])
        return text_result("swapped")

    agent, client = make_agent(
        calls(("swap", {}), ("bash", {})), calls(("fresh", {})), says("ok"), tools=[FakeTool("swap", swap), old]
    )
    await heard(agent)
    assert old.ran == [{}], "a step keeps the tools it was started with"
    assert [spec.name for spec in client.requests[1].tools] == ["fresh"]
    assert new.ran == [{}]
