"""Tools of the second edition: progress, limits, cancellation, additions to results, taking a built-in's place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_puppet import Puppet, Stage, Talk
from zot.core.events import AgentEvent, Done, ToolProgress, ToolResultEvent

Frame = dict[str, Any]


def text(*lines: str) -> list[Frame]:
    return [{"type": "text", "text": line} for line in lines]


async def offer(
    puppet: Puppet, name: str = "build", on_call: Callable[[Frame], None] | None = None, **more: Any
) -> None:
    """Contribute a tool; ``on_call`` gets each call of it."""
    value = {"description": f"does {name}", "schema": {"type": "object"}, **more}
    puppet.send(type="contribute", id="offer", kind="tool", name=name, value=value)
    answer = await puppet.response("offer")
    puppet.frames.remove(answer)
    assert "error" not in answer, answer
    if on_call is not None:
        puppet.handlers["tool_call"] = on_call
    await asyncio.sleep(0)


def _text(talk: Talk, number: int = 1) -> tuple[str, bool]:
    block = talk.client.requests[number].messages[-1].tool_results()[-1]
    return "\n".join(getattr(item, "text", "") for item in block.content), block.is_error


def _progress(talk: Talk) -> list[ToolProgress]:
    shown: list[Any] = []
    talk.conversation.subscribe(shown.append, ToolProgress)
    return shown


async def test_progress_is_shown_and_never_sent_to_the_model(stage: Stage) -> None:
    """ext2-055: the newest text, fraction and view are reported; ext2-056: the model sees only the result."""
    x = stage.add()
    async with stage.talk(calls(("build", {})), says("a")) as talk:
        shown = _progress(talk)

        def build(frame: Frame) -> None:
            x.send(type="progress", id=frame["id"], text="compiling", fraction=0.25, view={"lines": ["3 of 12"]})
            x.send(type="tool_result", id=frame["id"], content=text("built"))

        await offer(x, on_call=build)
        await talk.conversation.prompt("go")
        (progress,) = shown
        assert (progress.text, progress.replace, progress.fraction) == ("compiling", True, 0.25)
        assert progress.view == {"lines": ["3 of 12"]}
        assert _text(talk) == ("built", False) and "compiling" not in str(talk.client.requests)


async def test_only_twenty_reports_a_second_and_the_newest_wins(stage: Stage) -> None:
    """ext2-058: more reports are merged; the newest is shown."""
    x = stage.add()
    async with stage.talk(calls(("build", {})), says("a")) as talk:
        shown = _progress(talk)

        def build(frame: Frame) -> None:
            for number in range(400):
                x.send(type="progress", id=frame["id"], text=str(number))
            asyncio.get_running_loop().call_later(
                0.2, lambda: x.send(type="tool_result", id=frame["id"], content=text("built"))
            )

        await offer(x, on_call=build)
        await talk.conversation.prompt("go")
        assert len(shown) <= 5 and shown[-1].text == "399"


async def test_progress_of_a_first_edition_child(stage: Stage) -> None:
    """ext2-003: it needs no negotiation; ext2-057: it begins the limit anew."""
    x = stage.add(capabilities=())
    async with stage.talk(calls(("build", {})), says("a")) as talk:
        talk.host.tool_timeout_s = 0.4
        shown = _progress(talk)

        def build(frame: Frame) -> None:
            loop = asyncio.get_running_loop()
            for number in range(4):
                loop.call_later(0.25 * number, lambda: x.send(type="progress", id=frame["id"], text="still here"))
            loop.call_later(1.0, lambda: x.send(type="tool_result", id=frame["id"], content=text("built")))

        x.handlers["tool_call"] = build
        x.send(type="register_tool", name="build", description="d", schema={"type": "object"})
        await _offered(talk, "build")
        await talk.conversation.prompt("go")
        assert _text(talk) == ("built", False) and shown and not x.of("cancel")


async def _offered(talk: Talk, name: str) -> None:
    async with asyncio.timeout(10):
        while name not in talk.conversation.agent.toolbox:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_silence_ends_the_call_and_the_partial_result_is_kept(stage: Stage) -> None:
    """ext2-056: the newest content is added to the error; ext2-057: timeout_s replaces the setting;
    ext2-059: the child gets one cancel."""
    x = stage.add()
    async with stage.talk(calls(("build", {})), says("a")) as talk:

        def build(frame: Frame) -> None:
            x.send(type="progress", id=frame["id"], content=text("12 tests so far"))

        await offer(x, on_call=build, timeout_s=1)
        began = time.monotonic()
        await talk.conversation.prompt("go")
        assert time.monotonic() - began < 5
        answer, is_error = _text(talk)
        assert is_error and "timeout: no answer within 1 s; the limit is its timeout_s" in answer
        assert answer.endswith("[partial result, sent before the call ended]\n12 tests so far")
        cancel = await x.frame("cancel")
        assert cancel["reason"] == "timeout" and not x.of("tool_cancel")


async def test_no_call_lasts_longer_than_the_limit_in_all(stage: Stage) -> None:
    """ext2-057: progress does not lengthen a call beyond extension_tool_max_s."""
    x = stage.add()
    async with stage.talk(calls(("build", {})), says("a")) as talk:
        talk.host.tool_max_s = 1

        async def chatter(id: str) -> None:
            while True:
                x.send(type="progress", id=id, text="on it")
                await asyncio.sleep(0.1)

        tasks: list[asyncio.Task[None]] = []
        await offer(x, on_call=lambda frame: tasks.append(asyncio.ensure_future(chatter(frame["id"]))))
        await talk.conversation.prompt("go")
        tasks[0].cancel()
        assert "timeout: no answer within 1 s" in _text(talk)[0]


async def test_abort_keeps_the_partial_result_and_does_not_wait(stage: Stage) -> None:
    """ext2-056, ext2-060: an abort returns at once, with the newest partial content in the result."""
    x = stage.add()
    async with stage.talk(calls(("build", {})), says("a")) as talk:

        def build(frame: Frame) -> None:
            x.send(type="progress", id=frame["id"], content=text("half of it"), text="half")

        await offer(x, on_call=build)
        reported: list[AgentEvent] = []

        def stop(_event: AgentEvent) -> None:
            talk.conversation.abort()

        talk.conversation.subscribe(stop, ToolProgress)
        talk.conversation.subscribe(reported.append, ToolResultEvent)
        began = time.monotonic()
        outcome = await talk.conversation.prompt("go")
        assert outcome.stop == "aborted" and time.monotonic() - began < 2
        (result,) = reported
        assert isinstance(result, ToolResultEvent) and result.is_error
        assert [getattr(block, "text", "") for block in result.content][-1] == "half of it"
        assert (await x.frame("cancel"))["reason"] == "aborted"
        faults = len(talk.reported)
        call = x.of("tool_call")[0]["id"]
        x.send(type="tool_result", id=call, content=text("late"))
        await x.request("none")
        assert len(talk.reported) == faults  # ext2-060: dropped without a diagnostic


async def test_more_keys_of_a_tool(stage: Stage) -> None:
    """§7.3: prompt_line replaces the description in the list, guidelines are added while the tool is active."""
    x = stage.add()
    async with stage.talk(says("a"), says("b")) as talk:
        await offer(x, prompt_line="builds all of it", guidelines=["Build before you commit."], parallel=True)
        await talk.conversation.prompt("go")
        x.send(type="withdraw", id="w", kind="tool", name="build")
        await x.response("w")
        await asyncio.sleep(0.05)
        await talk.conversation.prompt("go")
        first, second = talk.client.requests
        assert "- build: builds all of it" in first.system and "- Build before you commit." in first.system
        assert "- build:" not in second.system and "Build before" not in second.system
        assert "build" not in [spec.name for spec in second.tools]


async def test_parallel_tools_run_beside_each_other(stage: Stage) -> None:
    """§7.3: two calls of a parallel tool in one message are open at once."""
    x = stage.add()
    async with stage.talk(calls(("build", {}), ("build", {})), says("a")) as talk:
        waiting: list[str] = []

        def build(frame: Frame) -> None:
            waiting.append(frame["id"])
            if len(waiting) == 2:
                for id in waiting:
                    x.send(type="tool_result", id=id, content=text("built"))

        await offer(x, on_call=build, parallel=True)
        async with asyncio.timeout(5):
            await talk.conversation.prompt("go")
        assert len(waiting) == 2


async def test_additions_to_a_result(stage: Stage) -> None:
    """§7.3: details are stored and not sent to the model, usage is counted, end_turn ends the prompt."""
    x = stage.add()
    async with stage.talk(calls(("build", {}))) as talk:
        shown: list[AgentEvent] = []
        talk.conversation.subscribe(shown.append, ToolResultEvent, Done)
        before = talk.conversation.total_usage.cost_usd

        def build(frame: Frame) -> None:
            more = {"view": {"lines": ["ok"]}, "details": {"n": 3}, "usage": {"cost_usd": 0.5}, "end_turn": True}
            x.send(type="tool_result", id=frame["id"], content=text("built"), **more)

        await offer(x, on_call=build)
        await talk.conversation.prompt("go")
        result = next(event for event in shown if isinstance(event, ToolResultEvent))
        assert (result.details or {})["attached"] == {"view": {"lines": ["ok"]}, "details": {"n": 3}}
        assert talk.conversation.total_usage.cost_usd - before > 0.5 - 1e-9
        assert len(talk.client.requests) == 1 and isinstance(shown[-1], Done)


async def test_tool_that_asks_needs_a_user(stage: Stage) -> None:
    """ext2-150: a tool with ``ask`` is refused where nobody can be asked, in the widest permission mode too."""
    x = stage.add()
    async with stage.talk(calls(("build", {})), says("a"), permission_mode="everything") as talk:
        await offer(x, ask=True)
        await talk.conversation.prompt("go")
        answer, is_error = _text(talk)
        assert is_error and "no user is present" in answer and not x.of("tool_call")


async def test_contribution_replaces_a_registration(stage: Stage) -> None:
    """ext2-028: the same name by the same child replaces what was registered; ext2-024: faults are answered."""
    x, y = stage.add("x"), stage.add("y")
    async with stage.talk(says("a")) as talk:
        x.send(type="register_tool", name="build", description="first", schema={"type": "object"})
        await _offered(talk, "build")
        await offer(x, description="second")
        assert talk.conversation.agent.toolbox["build"].description == "second"
        value = {"description": "of y", "schema": {"type": "object"}}
        y.send(type="contribute", id="1", kind="tool", name="build", value=value)
        error = (await y.response("1"))["error"]
        assert error == {"code": "conflict", "message": "the tool build belongs to the extension x"}
        x.send(type="contribute", id="2", kind="tool", name="a b", value=value)
        assert (await x.response("2"))["error"]["code"] == "bad_params"
        x.send(type="contribute", id="3", kind="command", name="model", value={"description": "d"})
        assert (await x.response("3"))["error"] == {"code": "conflict", "message": "/model is a command of zot"}


# --- taking a built-in's place


async def test_override_is_what_the_model_calls(stage: Stage) -> None:
    """ext2-062: with the grant the extension's tool takes the built-in's place; it inherits its class (ext2-064)."""
    x = stage.add("x", ["tools.override"])
    async with stage.talk(calls(("read", {"path": "a"})), says("a")) as talk:

        def read(frame: Frame) -> None:
            x.send(type="tool_result", id=frame["id"], content=text("from elsewhere"))

        await offer(x, "read", on_call=read, override=True)
        await asyncio.sleep(0.05)
        assert talk.conversation.agent.toolbox["read"].read_only
        await talk.conversation.prompt("go")
        assert _text(talk) == ("from elsewhere", False)
        assert any("takes the place of the built-in tool read" in event.text for event in talk.reported)
        assert any("read" in line for feature in talk.conversation.features for line in feature.problems())


async def test_override_without_the_grant(stage: Stage) -> None:
    """ext2-062: without the grant the built-in wins."""
    x = stage.add("x")
    async with stage.talk(calls(("read", {"path": "nothing-here"})), says("a")) as talk:
        await offer(x, "read", override=True)
        await asyncio.sleep(0.05)
        await talk.conversation.prompt("go")
        assert not x.of("tool_call") and any("tools.override" in event.text for event in talk.reported)


async def test_built_in_does_not_come_back_by_itself(stage: Stage) -> None:
    """ext2-065: when the overriding child is gone, calls fail and say what to do."""
    x = stage.add("x", ["tools.override"])
    async with stage.talk(calls(("read", {"path": "a"})), says("a")) as talk:
        await offer(x, "read", override=True)
        await asyncio.sleep(0.05)
        x.die()
        async with asyncio.timeout(10):
            while any(child.state == "ready" for child in talk.host.children):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await talk.conversation.prompt("go")
        answer, is_error = _text(talk)
        assert is_error and "took the place of the built-in read and is not running" in answer


@pytest.mark.parametrize("key", ["view", "details"])
async def test_too_large_additions_are_dropped(stage: Stage, key: str) -> None:
    """§7.3: details have at most 64 KiB; the result itself counts."""
    x = stage.add()
    async with stage.talk(calls(("build", {})), says("a")) as talk:

        def build(frame: Frame) -> None:
            x.send(type="tool_result", id=frame["id"], content=text("built"), **{key: {"lines": ["x" * 70_000]}})

        await offer(x, on_call=build)
        await talk.conversation.prompt("go")
        assert _text(talk) == ("built", False) and any("above 64 KiB" in event.text for event in talk.reported)
