"""The order of events within a prompt (engine-core C2.2, rpc-protocol 6.1)."""

from __future__ import annotations

from tests.fakes.client import answer, calls, falls_silent, says
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, make_agent, of, running, words
from zot.core import events
from zot.core.interceptors import TextVerdict, TurnVerdict
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import AuthFailed, TransportFailed
from zot.provider.messages import TextBlock
from zot.provider.model_call import Retrying, ThinkingDelta, ToolSpec


async def talkative(args: dict[str, object], context: ToolContext) -> ToolResult:
    context.progress("working")
    return text_result("done")


async def test_a_prompt_with_one_tool_emits_the_documented_sequence() -> None:
    """engine-139: a prompt with one tool call emits the events in the documented order."""
    agent, _ = make_agent(
        calls(("bash", {"command": "ls"}), text="Let me look."),
        says("All ", "fine."),
        tools=[FakeTool("bash", talkative)],
    )
    outcome, said = await heard(agent)
    assert words(said) == [
        "user_message",
        *("turn_start", "assistant_start", "text_delta", "tool_use_start", "tool_use_args", "tool_use_end"),
        *("usage", "assistant_message", "tool_call", "turn_end", "tool_progress", "tool_result"),
        *("turn_start", "assistant_start", "text_delta", "text_delta", "usage", "assistant_message", "turn_end"),
        "done",
    ]
    assert [e.step for e in of(said, events.TurnStart)] == [1, 2]
    assert [e.stop for e in of(said, events.TurnEnd)] == ["tool_use", "end"]
    assert outcome.stop == "end" and outcome.error is None


async def test_done_comes_once_and_last_after_a_failed_call() -> None:
    """engine-140: a failure before the model answered has no assistant_start, then error, then done."""
    agent, _ = make_agent([AuthFailed("fake: http 401: no")])
    outcome, said = await heard(agent)
    assert words(said) == ["user_message", "turn_start", "turn_end", "error", "done"]
    assert of(said, events.TurnEnd) == [events.TurnEnd("error", "fake: http 401: no")]
    assert of(said, events.Error) == [events.Error("fake: http 401: no")]
    assert isinstance(outcome.error, AuthFailed) and outcome.stop == "error"


async def test_done_comes_once_and_last_after_a_stream_that_failed() -> None:
    """engine-140: a stream that failed emits `error` and then `done`, once and last."""
    broken = answer((TextBlock("half"),), ["half"], stop="error", error=TransportFailed("fake: cut"))
    agent, _ = make_agent(broken)
    _, said = await heard(agent)
    assert words(said)[-4:] == ["assistant_message", "turn_end", "error", "done"]
    assert words(said).count("done") == 1


async def test_a_natural_end_stops_with_end() -> None:
    """engine-141: the wire writes this stop as end_turn."""
    agent, _ = make_agent(says("hi"))
    outcome, said = await heard(agent)
    assert of(said, events.TurnEnd) == [events.TurnEnd("end")]
    assert outcome.stop == "end"


async def test_thoughts_are_emitted_and_end_before_text() -> None:
    thoughts = (ThinkingDelta("hm"), ThinkingDelta(" so"))
    first, *rest = says("hi")
    agent, _ = make_agent([first, *thoughts, *rest])
    _, said = await heard(agent)
    assert words(said)[2:] == [
        *("assistant_start", "thinking_delta", "thinking_delta", "thinking_end", "text_delta"),
        *("usage", "assistant_message", "turn_end", "done"),
    ]
    assert [e.delta for e in of(said, events.ThinkingDelta)] == ["hm", " so"]
    assert of(said, events.ThinkingEnd)[0].seconds >= 0


async def test_thoughts_end_before_a_call_and_before_another_attempt() -> None:
    first, *rest = calls(("bash", {}))
    again = [first, ThinkingDelta("a"), Retrying(2, 10, 1.0, "cut"), first, ThinkingDelta("b"), *rest]
    agent, _ = make_agent(again, says("done"), tools=[FakeTool("bash", talkative)])
    _, said = await heard(agent)
    assert words(said)[2:9] == [
        *("assistant_start", "thinking_delta", "thinking_end", "retry_wait"),
        *("thinking_delta", "thinking_end", "tool_use_start"),
    ]


async def test_thoughts_that_an_abort_cuts_off_end() -> None:
    pause, answer = falls_silent(ThinkingDelta("hm"))
    agent, _ = make_agent(answer)
    async with running(agent) as prompt:
        await pause.reached.wait()
        agent.abort()
    assert words(prompt.said)[2:] == ["assistant_start", "thinking_delta", "thinking_end", "usage", "turn_end", "done"]


async def test_intercepted_text_hides_thought_content() -> None:
    """Text interceptors do not review thoughts, so none of their text is shown."""
    first, *rest = says("hi")
    guard = FakeInterceptor(text=TextVerdict())
    agent, _ = make_agent([first, ThinkingDelta("se"), ThinkingDelta("cret"), *rest], interceptors=[guard])
    _, said = await heard(agent)
    assert of(said, events.ThinkingDelta) == [events.ThinkingDelta("")]
    assert words(said)[3:6] == ["thinking_delta", "thinking_end", "text_delta"]


async def test_a_refused_turn_calls_no_model_and_emits_no_error() -> None:
    """engine-148: a refused turn ends with `turn_end` and `done`, and the model is not called."""
    guard = FakeInterceptor(turn=TurnVerdict(False, "not today"))
    agent, client = make_agent(interceptors=[guard])
    outcome, said = await heard(agent)
    assert words(said) == ["user_message", "turn_start", "turn_end", "done"]
    assert of(said, events.TurnEnd) == [events.TurnEnd("error", "not today")]
    assert client.requests == []
    assert outcome.refused == "not today" and outcome.error is None
    assert [m.text() for m in agent.messages] == ["go"]


async def test_a_refusal_without_a_reason_gets_a_default_one() -> None:
    agent, _ = make_agent(interceptors=[FakeInterceptor(turn=TurnVerdict(False))])
    outcome, _ = await heard(agent)
    assert outcome.refused


async def test_retry_event_precedes_its_wait() -> None:
    agent, _ = make_agent([Retrying(2, 10, 1.0, "overloaded"), *says("hi")])
    _, said = await heard(agent)
    assert of(said, events.RetryWait) == [events.RetryWait(2, 10, 1.0, "overloaded")]
    assert words(said)[:4] == ["user_message", "turn_start", "retry_wait", "assistant_start"]


async def test_proceed_runs_without_new_user_message() -> None:
    agent, client = make_agent(says("one"), says("two"))
    await heard(agent, "first")
    said: list[events.AgentEvent] = []
    outcome = await agent.continue_run(said.append)
    assert outcome.stop == "end"
    assert words(said)[0] == "turn_start"
    assert [m.text() for m in client.requests[1].messages] == ["first", "one"]


async def test_subscribers_receive_events_before_the_caller() -> None:
    order: list[str] = []

    def observer(event: events.AgentEvent) -> None:
        order.append("observer")

    agent, _ = make_agent(says("hi"), observers=[observer])
    await agent.prompt("go", emit=lambda e: order.append("caller"))
    assert order[::2] == ["observer"] * (len(order) // 2)
    assert order[1::2] == ["caller"] * (len(order) // 2)


async def test_the_system_prompt_is_rendered_from_the_sorted_tools() -> None:
    def names(specs: tuple[ToolSpec, ...]) -> str:
        return " ".join(spec.name for spec in specs)

    agent, client = make_agent(says("hi"), tools=[FakeTool("write"), FakeTool("bash")], system=names)
    await heard(agent)
    assert client.requests[0].system == "bash write"
    assert [spec.name for spec in client.requests[0].tools] == ["bash", "write"]
