"""Events of the second edition, as real extension processes observe them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_puppet import Puppet, Stage
from zot.core import events
from zot.core.tool import text_result
from zot.wire import extension_frames, limits

ALL = tuple(name for name in extension_frames.EDITION2_EVENTS if name != "bus")


class FakeTool:
    """Reports progress and returns its argument ``say``."""

    read_only = True
    description = ""
    schema: dict[str, Any] = {"type": "object"}  # noqa: RUF012  a constant

    def __init__(self, name: str = "read") -> None:
        self.name = name

    async def execute(self, args: dict[str, Any], context: Any) -> Any:
        context.progress("half ")
        context.progress("done")
        return text_result(args.get("say", "the result"))


def _names(x: Puppet) -> list[str]:
    return [frame["event"] for frame in x.of("event")]


async def _idle(x: Puppet) -> None:
    await x.frame("event", event="idle")


async def test_order_of_events_within_one_prompt(stage: Stage) -> None:
    """ext2-033: prompt_start, the first edition's order with deltas and tool events in it, prompt_end, idle."""
    x = stage.add(uses=("deltas",))
    async with stage.talk(calls(("read", {}), text="first "), says("second")) as talk:
        talk.conversation.agent.set_tools([FakeTool()])
        classic = ("turn_start", "tool_call", "assistant_message", "turn_end", "tool_result", "user_prompt_submit")
        await x.subscribe(*ALL, *classic)
        await talk.conversation.prompt("go")
        await _idle(x)
        seen = [name for name in _names(x) if name not in ("usage", "message_end", "tools_changed")]
        step = ["turn_start", "message_delta", "assistant_message"]
        tool = ["tool_start", "tool_update", "tool_result"]
        assert seen == [
            *("user_prompt_submit", "prompt_start", *step, "tool_call", "turn_end", *tool),
            *(*step, "turn_end", "prompt_end", "idle"),
        ]
        sequences = [frame["sequence"] for frame in x.of("event")]
        assert sequences == sorted(set(sequences))


async def test_data_of_the_events_of_a_prompt(stage: Stage) -> None:
    """§5.3: the keys of each event."""
    x = stage.add(uses=("deltas",))
    async with stage.talk(calls(("read", {"say": "it"})), says("an answer")) as talk:
        talk.conversation.agent.set_tools([FakeTool()])
        await x.subscribe(*ALL, "tool_result")
        await talk.conversation.prompt("go")
        await _idle(x)
        (start,), (end,) = x.events("prompt_start"), x.events("prompt_end")
        assert start == {"prompt_id": start["prompt_id"], "text": "go", "image_count": 0, "source": "sdk"}
        assert (end["prompt_id"], end["status"], end["steps"]) == (start["prompt_id"], "completed", 2)
        assert end["usage"].keys() == {"input_tokens", "output_tokens", "cache_read_tokens", "cost_usd"}
        (began,), (update,) = x.events("tool_start"), x.events("tool_update")
        assert began["tool_name"] == "read" and began["args"] == {"say": "it"}
        assert update == {"tool_id": began["tool_id"], "tool_name": "read", "text": "half done"}
        (result,) = x.events("tool_result")
        assert isinstance(result["duration_ms"], int) and "details" not in result
        delta = x.events("message_delta")[-1]
        assert delta == {"prompt_id": start["prompt_id"], "step": 2, "text": "an answer"}
        ends = x.events("message_end")
        assert [one["role"] for one in ends] == ["user", "assistant", *{ends[2]["role"]}, "assistant"]
        assert all(one["entry_id"] for one in ends) and ends[-1]["chars"] == len("an answer")
        assert [one["step"] for one in x.events("usage")] == [1, 2]


async def test_idle_comes_only_when_nothing_is_left(stage: Stage) -> None:
    """§5.3: with a queued prompt there is one ``idle``, after both."""
    x = stage.add()
    async with stage.talk(says("a"), says("b")) as talk:
        await x.subscribe("prompt_end", "idle", "queue_changed")
        talk.conversation.enqueue("next")
        await talk.conversation.prompt("go")
        prompt = talk.conversation.pop_queued()
        assert prompt is not None
        await talk.conversation.prompt(prompt.text, queued=True)
        await _idle(x)
        assert [name for name in _names(x) if name != "queue_changed"] == ["prompt_end", "prompt_end", "idle"]
        assert x.events("queue_changed") == [{"steering": 0, "queued": 1}, {"steering": 0, "queued": 0}]


async def test_changes_of_model_tools_mode_and_names(stage: Stage) -> None:
    """§5.3: tools_changed, mode_changed and session_info with their keys."""
    x = stage.add()
    async with stage.talk(says("a"), permission_mode="ask") as talk:
        await x.subscribe("tools_changed", "mode_changed", "session_info", "model_changed")
        talk.conversation.agent.set_tools([FakeTool("read"), FakeTool("b")])
        talk.conversation.agent.set_tools([FakeTool("read"), FakeTool("b")])
        talk.conversation.set_permission_mode("plan")
        await talk.conversation.prompt("go")
        talk.conversation.rename_session("a name")
        talk.conversation.set_reasoning("high")
        await x.frame("event", event="model_changed")
        first, planning = x.events("tools_changed")
        assert first == {"active": ["b", "read"]} and "present_plan" in planning["active"]
        assert x.events("mode_changed") == [{"permission_mode": "plan", "jail": False}]
        id = talk.conversation.agent.session_id
        assert x.events("session_info") == [{"session_id": id, "name": "a name"}]
        (changed,) = x.events("model_changed")
        assert changed["reasoning"] == "high" and changed["source"] == "person" and changed["model"] == "script"


async def test_changed_files_are_named(stage: Stage) -> None:
    """§5.3: files_changed names files that zot's tools wrote, relative to the project."""
    x = stage.add()
    write = calls(("write", {"path": "a/b.txt", "content": "x"}))
    async with stage.talk(write, says("a")) as talk:
        await x.subscribe("files_changed", "idle")
        await talk.conversation.prompt("go")
        await _idle(x)
        (changed,) = x.events("files_changed")
        assert changed["paths"] == ["a/b.txt"] and changed["tool_id"]


async def test_deltas_wait_for_the_reader(stage: Stage) -> None:
    """ext2-046: a child that does not read gets fewer, larger frames, and stays connected."""
    x = stage.add(uses=("deltas",))
    async with stage.talk() as talk:
        await x.subscribe("message_delta", options={"message_delta": {"every_ms": 33}})
        child = talk.host.children.find("x")
        assert child is not None
        talk.conversation.emit(events.TurnStart(1))
        for number in range(40):
            talk.conversation.emit(events.TextDelta(f"{number} "))
            await asyncio.sleep(0.005)
        late = talk.host._late_events  # pyright: ignore[reportPrivateUsage]
        assert late is not None
        late.flush()
        await x.request("none")
        frames = x.events("message_delta")
        assert 2 <= len(frames) <= 12 and all(frame["step"] == 1 for frame in frames)
        assert "".join(frame["text"] for frame in frames) == "".join(f"{number} " for number in range(40))


async def test_gathered_text_is_cut_and_counted(stage: Stage) -> None:
    """ext2-047: what gathers beyond 256 KiB is cut from the front, and counted."""
    x = stage.add(uses=("deltas",))
    async with stage.talk() as talk:
        await x.subscribe("message_delta", options={"message_delta": {"every_ms": 60_000}})
        piece, pieces = "x" * 1024, 400
        for _ in range(pieces):
            talk.conversation.emit(events.TextDelta(piece))
        talk.conversation.emit(events.TextDelta("end"))
        late = talk.host._late_events  # pyright: ignore[reportPrivateUsage]
        assert late is not None
        late.flush()
        await x.request("none")
        (frame,) = x.events("message_delta")
        assert len(frame["text"]) <= limits.DELTA_BYTES and frame["text"].endswith("xend")
        assert len(frame["text"]) + frame["dropped"] == pieces * 1024 + 3


async def test_thinking_is_sent_to_those_who_ask(stage: Stage) -> None:
    """§5.1: the option ``thinking`` of message_delta."""
    x, y = stage.add("x", uses=("deltas",)), stage.add("y", uses=("deltas",))
    async with stage.talk() as talk:
        await x.subscribe("message_delta", options={"message_delta": {"thinking": True}})
        await y.subscribe("message_delta")
        talk.conversation.emit(events.ThinkingDelta("hm"))
        talk.conversation.emit(events.TextDelta("a"))
        assert (await x.frame("event", event="message_delta"))["data"]["thinking"] == "hm"
        await y.frame("event", event="message_delta")
        assert "thinking" not in y.events("message_delta")[0] and y.events("message_delta")[0]["text"] == "a"


async def test_held_back_text_comes_as_one_piece(stage: Stage) -> None:
    """ext2-035: while ``assistant_message`` is intercepted no delta is sent before the verdict."""
    x = stage.add(uses=("deltas",))
    async with stage.talk(says("the ", "secret ", "text")) as talk:
        await x.intercept("assistant_message", lambda frame: {"replace_text": "the text"})
        await x.subscribe("message_delta", "idle")
        await talk.conversation.prompt("go")
        await _idle(x)
        (frame,) = x.events("message_delta")
        assert frame["text"] == "the text"
        kinds = [one["type"] if one["type"] != "event" else one["event"] for one in x.frames]
        assert kinds.index("event_intercept") < kinds.index("message_delta")


async def test_nothing_is_read_without_an_observer(stage: Stage) -> None:
    """ext2-034, ext2-157: no observer, no subscription to the agent's events; the last one that leaves ends it."""
    x = stage.add(uses=("deltas",))
    async with stage.talk(says("a")) as talk:
        readers = talk.conversation.agent.readers
        kinds = (events.TextDelta, events.Idle, events.ToolRunning, events.QueueChanged, events.PromptStarted)
        before = [readers.has_subscriber(kind) for kind in kinds]
        assert before == [False] * len(kinds)
        await x.subscribe("message_delta", "idle", "tool_start", "queue_changed", "prompt_start")
        assert all(readers.has_subscriber(kind) for kind in kinds)
        await x.subscribe(drop=["message_delta", "idle", "tool_start", "queue_changed", "prompt_start"])
        assert [readers.has_subscriber(kind) for kind in kinds] == before


async def test_event_is_encoded_once_for_many(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-034: an event is encoded once for all that observe it."""
    from zot.features.extensions import event_fanout

    x, y = stage.add("x"), stage.add("y")
    async with stage.talk() as talk:
        await x.subscribe("queue_changed")
        await y.subscribe("queue_changed")
        encoded: list[Any] = []
        plain = event_fanout.encode
        monkeypatch.setattr(event_fanout, "encode", lambda frame: encoded.append(frame) or plain(frame))
        talk.conversation.enqueue("a")
        assert await x.frame("event", event="queue_changed") == await y.frame("event", event="queue_changed")
        assert len(encoded) == 1


async def test_events_are_limited_to_tools(stage: Stage) -> None:
    """ext2-031: the filter ``tools`` holds for observed events, too."""
    x = stage.add()
    async with stage.talk(calls(("read", {}), ("other", {})), says("a")) as talk:
        talk.conversation.agent.set_tools([FakeTool("read"), FakeTool("other")])
        names = ("tool_start", "tool_update", "tool_result")
        await x.subscribe(*names, "idle", options={name: {"tools": ["oth*"]} for name in names})
        await talk.conversation.prompt("go")
        await _idle(x)
        assert _names(x) == [*names, "idle"]


async def test_word_deltas_is_needed(stage: Stage) -> None:
    """ext2-145: ``message_delta`` needs ``deltas``; the other events need no word."""
    x = stage.add()
    async with stage.talk(says("a")) as talk:
        await x.subscribe(*ALL)
        await talk.conversation.prompt("go")
        await _idle(x)
        assert "message_delta" not in _names(x) and "prompt_start" in _names(x)
        assert [one for one in talk.reported if '"deltas"' in one.text]


async def test_dialogs_are_observed_without_their_text(stage: Stage) -> None:
    """§5.3: ``dialog`` says whose question is open and of which kind."""
    from zot.agent.config import FrontEnd
    from zot.features.extensions.dialogs import DialogAnswer, ExtensionDialog

    async def answer(question: Any) -> Any:
        assert isinstance(question, ExtensionDialog)
        return DialogAnswer(value=True)

    x, asking = stage.add("x"), stage.add("asking", uses=("dialogs",))
    front = FrontEnd(on_question=answer, question_kinds=frozenset({"dialog"}))
    async with stage.talk(front_end=front) as _:
        await x.subscribe("dialog")
        await asking.result("ui.ask", {"kind": "confirm", "title": "A secret?"})
        await x.frame("event", event="dialog", data={"state": "closed", "owner": "asking", "kind": "confirm"})
        assert [one["state"] for one in x.events("dialog")] == ["open", "closed"]
        assert "secret" not in str(x.events("dialog"))


async def test_first_edition_gets_no_late_event(stage: Stage) -> None:
    """ext2-002: a subscription of the first edition to a new name is one diagnostic and no frame."""
    x = stage.add(capabilities=())
    async with stage.talk(says("a")) as talk:
        x.send(type="subscribe", events=["prompt_start", "idle", "turn_end"])
        child = talk.host.children.find("x")
        assert child is not None
        async with asyncio.timeout(10):
            while "turn_end" not in child.events:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await talk.conversation.prompt("go")
        await x.frame("event", event="turn_end")
        assert _names(x) == ["turn_end"] and not any("data" in frame for frame in x.of("event"))
        assert len([one for one in talk.reported if "needs" in one.text and "edition2" in one.text]) == 1
