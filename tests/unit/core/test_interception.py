"""Interceptors deny, rewrite and hide; the transcript stores the model's original output."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.fakes.client import calls, says
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, make_agent, of, results, words
from zot.core import events
from zot.core.agent import InitialToolCall
from zot.core.events import ToolEnded
from zot.core.interceptors import Interceptor, TextVerdict, ToolVerdict, TurnVerdict
from zot.core.permission_gate import GateVerdict
from zot.core.tool import ToolResult
from zot.provider.messages import TextBlock, ToolCallBlock


async def test_modified_arguments_reach_tool_not_transcript() -> None:
    """engine-145: rewritten arguments reach the tool, and the transcript has the original ones."""
    tool = FakeTool()
    rewrite = FakeInterceptor(tool=ToolVerdict(args={"command": "ls -l"}))
    agent, client = make_agent(calls(("bash", {"command": "ls"})), says("ok"), tools=[tool], interceptors=[rewrite])
    _, said = await heard(agent)
    assert tool.ran == [{"command": "ls -l"}]
    assert of(said, events.ToolCall)[0].call.arguments == '{"command":"ls"}'
    assert client.requests[1].messages[1].tool_calls()[0].arguments == '{"command":"ls"}'


async def test_denial_reason_is_the_result_and_tool_does_not_run() -> None:
    """engine-147: a refused tool does not run; the reason is its result, flagged as an error."""
    tool = FakeTool()
    guard = FakeInterceptor(tool=ToolVerdict(False, "rm is not for you"))
    agent, _ = make_agent(calls(("bash", {"command": "rm"})), says("ok"), tools=[tool], interceptors=[guard])
    outcome, said = await heard(agent)
    assert results(said) == [("t1", True, "rm is not for you")]
    assert tool.ran == [] and outcome.stop == "end"


async def test_a_refusal_without_a_reason_gets_a_default_text() -> None:
    agent, _ = make_agent(
        calls(("bash", {})),
        says("ok"),
        tools=[FakeTool()],
        interceptors=[FakeInterceptor(tool=ToolVerdict(False))],
    )
    _, said = await heard(agent)
    assert results(said)[0][1] and results(said)[0][2]


async def test_each_interceptor_sees_the_rewrite_of_the_one_before() -> None:
    first = FakeInterceptor(tool=ToolVerdict(args={"n": 2}))
    second = FakeInterceptor()
    agent, _ = make_agent(calls(("bash", {"n": 1})), says("ok"), tools=[FakeTool()], interceptors=[first, second])
    await heard(agent)
    assert [call.arguments for kind, call in second.asked if kind == "tool"] == ['{"n":2}']


async def test_interceptor_is_called_again_after_later_rewrite() -> None:
    """Attack: a call allowed by the first interceptor is rewritten by the second and runs unseen."""
    first = FakeInterceptor(tool=lambda call: ToolVerdict(call.value != {"n": 2}, "not two"))
    second = FakeInterceptor(tool=ToolVerdict(args={"n": 2}))
    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", {"n": 1})), says("ok"), tools=[tool], interceptors=[first, second])
    _, said = await heard(agent)
    assert results(said) == [("t1", True, "not two")] and tool.ran == []
    assert [call.arguments for kind, call in first.asked if kind == "tool"] == ['{"n":1}', '{"n":2}']
    assert len([kind for kind, _ in second.asked if kind == "tool"]) == 1


async def test_interceptors_that_never_agree_refuse() -> None:
    rewriters = [FakeInterceptor(tool=ToolVerdict(args={"n": number})) for number in (1, 2)]
    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[tool], interceptors=rewriters)
    _, said = await heard(agent)
    assert tool.ran == [] and "keep rewriting each other's arguments" in results(said)[0][2]


async def test_arguments_that_are_not_json_deny_the_call() -> None:
    tool = FakeTool()
    odd = FakeInterceptor(tool=ToolVerdict(args={"n": object()}))
    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[tool], interceptors=[odd])
    _, said = await heard(agent)
    assert tool.ran == [] and "invalid JSON" in results(said)[0][2]


async def test_tool_prompt_call_carries_its_origin() -> None:
    """Attack: a `tool_prompt` of an extension looks like a call of the model."""
    origins: list[str] = []

    class Guard(FakeInterceptor):
        async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
            origins.append(origin)
            return ToolVerdict()

    agent, _ = make_agent(says("ok"), tools=[FakeTool()], interceptors=[Guard()])
    ended: list[str] = []
    agent.readers.subscribe(lambda event: ended.append(event.origin), events.ToolEnded, events.PermissionDecided)  # pyright: ignore
    await agent.prompt("go", first_call=InitialToolCall(ToolCallBlock("c1", "bash"), "sly"))
    assert origins == ["sly"] and ended == ["sly", "sly"]


async def test_gate_runs_after_interception_with_final_arguments() -> None:
    asked: list[tuple[str, Any]] = []

    class Gate:
        def evaluate(self, call: ToolCallBlock) -> GateVerdict:
            return GateVerdict("ask", "user")

        def decided_by(self, call: ToolCallBlock) -> str:
            return ""

        async def authorize(self, call: ToolCallBlock, origin: str = "") -> str | None:
            asked.append((call.name, call.args))
            return "no"

    tool = FakeTool()
    rewrite = FakeInterceptor(tool=ToolVerdict(args={"n": 2}))
    agent, _ = make_agent(calls(("bash", {"n": 1})), says("ok"), tools=[tool], interceptors=[rewrite], gate=Gate())
    _, said = await heard(agent)
    assert asked == [("bash", {"n": 2})]
    assert results(said) == [("t1", True, "no")] and tool.ran == []


async def test_an_interceptor_that_raises_denies_the_call() -> None:
    tool = FakeTool()
    broken = FakeInterceptor(tool=RuntimeError("guard crashed"))
    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[tool], interceptors=[broken])
    _, said = await heard(agent)
    assert tool.ran == [] and results(said)[0][1] and "guard crashed" in results(said)[0][2]


async def test_an_interceptor_that_raises_refuses_the_turn() -> None:
    agent, client = make_agent(interceptors=[FakeInterceptor(turn=RuntimeError("guard crashed"))])
    outcome, _ = await heard(agent)
    assert client.requests == [] and "guard crashed" in outcome.refused


async def test_a_gate_that_raises_denies_the_call() -> None:
    class Broken:
        def evaluate(self, call: ToolCallBlock) -> GateVerdict:
            return GateVerdict("ask", "user")

        def decided_by(self, call: ToolCallBlock) -> str:
            return ""

        async def authorize(self, call: ToolCallBlock, origin: str = "") -> str | None:
            raise RuntimeError("no terminal")

    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[tool], gate=Broken())
    _, said = await heard(agent)
    assert tool.ran == [] and "no terminal" in results(said)[0][2]


async def test_replacement_is_shown_and_original_is_in_no_event() -> None:
    """engine-149: the replacement is shown, and the original appears in no event."""
    redact = FakeInterceptor(text=lambda text: TextVerdict(replace_text=text.replace("secret", "***")))
    agent, _ = make_agent(says("my ", "secret"), interceptors=[redact])
    _, said = await heard(agent)
    assert "secret" not in str(said)
    assert of(said, events.TextDelta) == [events.TextDelta("my ***")]
    assert of(said, events.AssistantMessage)[0].message.text() == "my ***"
    assert agent.messages[-1].text() == "my secret"
    assert agent.messages[-1].time == of(said, events.AssistantMessage)[0].message.time != ""


async def test_held_text_is_one_delta_before_usage() -> None:
    """engine-149: tool_use events pass live, text waits for the verdict."""
    agent, _ = make_agent(
        calls(("bash", {}), text="Look."),
        says("ok"),
        tools=[FakeTool()],
        interceptors=[FakeInterceptor(text=TextVerdict())],
    )
    _, said = await heard(agent)
    assert words(said)[2:10] == [
        *("assistant_start", "tool_use_start", "tool_use_args", "tool_use_end"),
        *("text_delta", "usage", "assistant_message", "tool_call"),
    ]


async def test_a_suppressed_message_is_in_the_transcript_only() -> None:
    """engine-150: a suppressed message is in the transcript and in no event."""
    agent, _ = make_agent(says("secret"), interceptors=[FakeInterceptor(text=TextVerdict(False))])
    _, said = await heard(agent)
    assert words(said) == ["user_message", "turn_start", "assistant_start", "usage", "turn_end", "done"]
    assert agent.messages[-1].text() == "secret"


async def test_calls_of_suppressed_message_run_and_are_emitted() -> None:
    """engine-150: a suppressed message still runs its tool calls, and they are emitted."""
    tool = FakeTool()
    hide = FakeInterceptor(text=TextVerdict(False))
    agent, _ = make_agent(calls(("bash", {}), text="secret"), says("more"), tools=[tool], interceptors=[hide])
    _, said = await heard(agent)
    assert words(said).count("tool_call") == 1 and words(said).count("assistant_message") == 0
    assert tool.ran == [{}]


async def test_a_replacement_keeps_the_other_blocks_in_place() -> None:
    replace = FakeInterceptor(text=TextVerdict(replace_text="shown"))
    agent, _ = make_agent(calls(("bash", {}), text="hidden"), says("x"), tools=[FakeTool()], interceptors=[replace])
    _, said = await heard(agent)
    content = of(said, events.AssistantMessage)[0].message.content
    assert content[0] == TextBlock("shown") and content[1].name == "bash"


async def test_an_interceptor_of_text_that_raises_hides_the_message() -> None:
    agent, _ = make_agent(says("secret"), interceptors=[FakeInterceptor(text=RuntimeError("crashed"))])
    _, said = await heard(agent)
    assert "secret" not in str(said)


async def test_text_streams_live_without_text_interceptors() -> None:
    watcher = FakeInterceptor(turn=TurnVerdict())
    agent, _ = make_agent(says("a", "b"), interceptors=[watcher])
    _, said = await heard(agent)
    assert [e.delta for e in of(said, events.TextDelta)] == ["a", "b"]
    assert [kind for kind, _ in watcher.asked] == ["turn"]


async def test_invalid_arguments_are_not_sent_to_interceptors() -> None:
    guard = FakeInterceptor()
    agent, _ = make_agent(calls(("bash", "{")), says("ok"), tools=[FakeTool()], interceptors=[guard])
    await heard(agent)
    assert "tool" not in [kind for kind, _ in guard.asked]


async def test_failing_interceptor_denies_and_is_reported_once() -> None:
    agent, _ = make_agent(
        calls(("bash", {})),
        calls(("bash", {})),
        says("ok"),
        tools=[tool := FakeTool()],
        interceptors=[FakeInterceptor(tool=RuntimeError("guard crashed"))],
    )
    _, said = await heard(agent)
    reports = [event.text for event in said if isinstance(event, events.Diagnostic)]
    assert tool.ran == [] and reports == ["FakeInterceptor failed: RuntimeError: guard crashed"]


async def test_abort_while_result_is_reviewed_keeps_the_result() -> None:
    """A finished call is recorded as finished while an interceptor still reviews its result."""
    waiting = asyncio.Event()

    class Slow(Interceptor):
        async def after_tool(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> str:
            waiting.set()
            await asyncio.sleep(60)
            return "never"

    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[FakeTool()], interceptors=[Slow()])
    ended: list[ToolEnded] = []
    agent.readers.subscribe(lambda event: ended.append(event) if isinstance(event, ToolEnded) else None, ToolEnded)
    running = asyncio.ensure_future(heard(agent))
    await waiting.wait()
    agent.abort()
    outcome, said = await running
    assert outcome.stop == "aborted" and [event.status for event in ended] == ["completed"]
    assert "stopped before it finished" not in results(said)[0][2]
