"""Slash commands and unsolicited frames of extensions at the mode's interface (extension-protocol.md §7, §22.2)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, until
from tests.fakes.extensions import seen_of
from tests.fakes.tools import FakeTool
from zot.agent.slash_commands import Display, FailedCommand, Insert, Noop, PanelAnswer, PromptAnswer, ToolPrompt
from zot.core.agent import InitialToolCall
from zot.provider.messages import ToolCallBlock
from zot.wire import limits
from zot.wire.extension_frames import Panel


def commanding(reply: str) -> str:
    return f"""
hello(); send(type="register_command", name="c"); ready()
def invoked(f):
    def respond(**more): send(type="command_response", id=f["id"], **more)
    {reply}
serve(command_invoked=invoked)
"""


async def test_args_are_trimmed_and_absent_when_empty(kit: Kit) -> None:
    """ext-048, ext-049: arguments are trimmed, preserve their inner spacing, and are absent when empty."""
    directory = kit.add("x", commanding("respond()"))
    host = await kit.start()
    for args in ("", "  a   b \t"):
        assert await host.run_command("c", args) == Noop("x")
    first, second = seen_of(directory, "command_invoked")
    assert list(first) == ["type", "id", "name"] and second["args"] == "a   b"


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ('action="prompt", prompt="do it\\nnow"', PromptAnswer("x", "do it\nnow")),
        ('action="prompt", prompt="  "', Noop("x")),
        ('action="insert", insert="text"', Insert("x", "text")),
        ('action="insert"', Noop("x")),
        ('action="display", display="shown"', Display("x", "shown")),
        ('action="open_panel", open_panel={"id": "p", "lines": ["a"]}', PanelAnswer("x", Panel(id="p", lines=("a",)))),
        ('action="open_panel"', Noop("x")),
        ('action="noop", prompt="x"', Noop("x")),
        ("", Noop("x")),
    ],
)
async def test_action_is_returned_as_a_value_without_effect(kit: Kit, answer: str, meant: Any) -> None:
    """ext-050, ext-052, ext-053: `prompt`, `insert` and `display` reach the mode, without other effects."""
    kit.add("x", commanding(f"respond({answer})"))
    host = await kit.start()
    assert await host.run_command("c", "") == meant
    assert kit.surface.calls == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ('action="prompt", prompt="x", error="no network"', "extension /c: no network"),
        ('action="dance"', "extension /c: unknown action 'dance'"),
        (
            'action="tool_prompt", prompt="x"',
            "extension /c: tool_prompt: expected prompt, tool_name and an object tool_args",
        ),
    ],
)
async def test_error_and_unknown_action_have_no_effect(kit: Kit, answer: str, error: str) -> None:
    """ext-054, ext-055: an error or an unknown action comes back to the caller, and no action is taken."""
    kit.add("x", commanding(f"respond({answer})"))
    host = await kit.start()
    assert await host.run_command("c", "") == FailedCommand(error) and kit.surface.calls == []


async def test_missing_reply_is_an_error_and_late_reply_is_ignored(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext-056: a command that gets no reply in time is an error, and a late reply has no effect."""
    monkeypatch.setattr(limits, "COMMAND_REPLY", 0.2)
    kit.add("x", commanding('time.sleep(0.5); respond(action="display", display="late")'))
    host = await kit.start()
    assert await host.run_command("c", "") == FailedCommand("extension /c: no answer within 0.2 s")
    await until(lambda: "not open" in kit.log("x"))
    assert kit.surface.calls == []


async def test_two_invocations_answered_in_reverse_are_matched_by_id(kit: Kit) -> None:
    """ext-057: two invocations answered in reverse order are matched by their ids."""
    kit.add(
        "x",
        """
hello(); send(type="register_command", name="c"); ready()
held = []
def invoked(f):
    held.append(f)
    if len(held) == 2:
        for g in reversed(held): send(type="command_response", id=g["id"], error=g["args"])
serve(command_invoked=invoked)
""",
    )
    host = await kit.start()
    results = await asyncio.gather(host.run_command("c", "one"), host.run_command("c", "two"))
    assert results == [FailedCommand("extension /c: one"), FailedCommand("extension /c: two")]


async def test_submit_and_submit_slash_reach_the_mode(kit: Kit) -> None:
    """ext-119, ext-120: the effect in each mode has its own test."""
    kit.add(
        "x",
        """
hello(); ready()
for text in ("", " \\n", "Summarise."): send(type="submit", text=text)
for text in ("hello", " /help "): send(type="submit_slash", text=text)
serve()
""",
    )
    await kit.start()
    await until(lambda: len(kit.surface.calls) == 2)
    assert kit.surface.calls == [("submit", "x", "Summarise."), ("submit_slash", "x", "/help")]
    assert "ignored" in kit.fault("submit_slash") and "hello" in kit.log("x")


async def test_tool_prompt_adds_message_call_and_result_before_answer(kit: Kit) -> None:
    """ext-123: a `tool_prompt` leaves one message, one call and one result in front of the answer."""
    kit.add("x", commanding('respond(action="tool_prompt", prompt="and push", tool_name="bash", tool_args={"a": 1})'))
    host = await kit.start()
    answer = await host.run_command("c", "")
    assert isinstance(answer, ToolPrompt)
    call = ToolCallBlock(answer.first_call.call.id, "bash", '{"a":1}')
    assert answer == ToolPrompt("x", "and push", InitialToolCall(call, "x"))
    tool = FakeTool("bash")
    agent, client = kit.agent(says("done"), tools=[tool])
    await agent.prompt(answer.text, first_call=answer.first_call)
    assert [message.role for message in client.requests[0].messages] == ["user", "assistant", "tool"]
    assert agent.messages[1].tool_calls() == [call] and agent.messages[1].meta == {"origin_extension": "x"}
    assert tool.ran == [{"a": 1}] and len(client.requests) == 1


async def test_commands_work_while_a_turn_runs(kit: Kit) -> None:
    """§7.1: it does not cancel the turn"""
    kit.add("x", commanding('respond(action="display", display="now")'))
    await kit.start()
    hold = asyncio.Event()

    async def wait(args: dict[str, Any], context: Any) -> Any:
        from zot.core.tool import text_result

        await hold.wait()
        return text_result("ok")

    agent, _ = kit.agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash", wait)])
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("go"))
        assert await kit.host.run_command("c", "") == Display("x", "now")
        hold.set()
        assert (await run).stop == "end"
