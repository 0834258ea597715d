"""Events sent to subscribers (extension-protocol.md §9, §22.5)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.fakes.client import Pause, calls, falls_silent, says
from tests.fakes.extension_host import Kit, until
from tests.fakes.extensions import events_seen, seen_of
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.tools import FakeTool
from zot.core.interceptors import ToolVerdict, TurnVerdict
from zot.core.permission_gate import Answer, ApprovalQuestion, PermissionGate
from zot.errors import AuthFailed, CompactionFailed
from zot.provider.messages import Message, TextBlock
from zot.provider.model_call import TextDelta
from zot.wire import extension_frames, limits

ALL = (*extension_frames.CLASSIC_EVENTS, *extension_frames.LATER_EVENTS)


def watching(events: tuple[str, ...] = ALL) -> str:
    return f"hello(); subscribe({list(events)!r}); ready(); serve()"


async def watched(kit: Kit, events: tuple[str, ...] = ALL) -> Any:
    directory = kit.add("w", watching(events))
    await kit.start()
    return directory


async def heard(kit: Kit, directory: Any) -> list[dict[str, Any]]:
    """All events; stopping delivers what is queued."""
    await kit.host.stop()
    return seen_of(directory, "event")


async def test_session_start_is_sent_once_and_not_after_reload(kit: Kit) -> None:
    """ext-067: `session_start` arrives once, after readiness, and not again after a reload."""
    directory = await watched(kit, ("session_start",))
    kit.session_started()
    await kit.host.reload()
    assert [event["event"] for event in await heard(kit, directory)] == ["session_start"]


async def test_only_subscribed_events_are_delivered_and_in_order(kit: Kit) -> None:
    """ext-068, ext-069, ext-070, ext-071: a child receives its subscribed events, in order and with the original
    arguments.
    """
    directory = await watched(kit, extension_frames.CLASSIC_EVENTS)
    agent, _ = kit.agent(
        calls(("bash", {"command": "ls"}), ("nope", {}), text="Let me."),
        says("All ", "fine."),
        tools=[FakeTool("bash")],
    )
    agent.interceptors.append(FakeInterceptor(tool=ToolVerdict(args={"command": "pwd"})))
    await agent.prompt("go")
    events = await heard(kit, directory)
    kept = [{k: v for k, v in e.items() if k not in ("type", "session_id", "cwd", "sequence")} for e in events]
    assert kept == [
        {"event": "turn_start", "step": 1},
        {"event": "assistant_message", "text": "Let me."},
        {"event": "tool_call", "tool_id": "t1", "tool_name": "bash", "tool_args": {"command": "ls"}},
        {"event": "tool_call", "tool_id": "t2", "tool_name": "nope", "tool_args": {}},
        {"event": "turn_end", "stop": "tool_use"},
        {"event": "turn_start", "step": 2},
        {"event": "assistant_message", "text": "All fine."},
        {"event": "turn_end", "stop": "end_turn"},
    ]


async def test_failed_and_blocked_turns_carry_the_reason(kit: Kit) -> None:
    """§9: turn_end carries the reason"""
    directory = await watched(kit, ("turn_start", "turn_end"))
    agent, _ = kit.agent([AuthFailed("fake: http 401: no")])
    await agent.prompt("go")
    agent.interceptors.append(FakeInterceptor(turn=TurnVerdict(False, "closed")))
    await agent.prompt("go")
    ends = [event for event in await heard(kit, directory) if event["event"] == "turn_end"]
    assert [(end["stop"], end["error"]) for end in ends] == [("error", "fake: http 401: no"), ("error", "closed")]


async def test_an_aborted_turn_ends_as_aborted(kit: Kit) -> None:
    directory = await watched(kit, ("turn_end",))
    pause, silent = falls_silent(TextDelta("half"))
    agent, _ = kit.agent(silent)
    async with asyncio.TaskGroup() as group:
        group.create_task(agent.prompt("go"))
        await pause.reached.wait()
        agent.abort()
    assert [event["stop"] for event in await heard(kit, directory)] == ["aborted"]


async def test_sequence_grows_and_the_session_is_named(kit: Kit) -> None:
    """ext-129: `sequence` grows strictly, and every event names the same session."""
    directory = await watched(kit)
    kit.session_started()
    agent, _ = kit.agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash")])
    await agent.prompt("go")
    kit.session_ended("shutdown")
    events = await heard(kit, directory)
    numbers = [event["sequence"] for event in events]
    assert numbers == sorted(set(numbers)) and {event["session_id"] for event in events} == {"s1"}
    assert {event["cwd"] for event in events} == {str(kit.cwd)}
    assert [event["event"] for event in events] == [
        "session_start",
        *("user_prompt_submit", "turn_start", "assistant_message", "tool_call", "turn_end"),
        *("permission_decision", "tool_result", "turn_start", "assistant_message", "turn_end", "session_end"),
    ]


async def test_tool_result_event_has_arguments_status_and_result(kit: Kit) -> None:
    """§22.5: effective arguments, status, executed, result"""
    directory = await watched(kit, ("tool_result",))

    async def fails(args: dict[str, Any], context: Any) -> Any:
        raise ValueError("boom")

    tools = [FakeTool("bash"), FakeTool("bad", fails)]
    agent, _ = kit.agent(
        calls(("bash", {"a": 1}), ("bad", {}), ("none", {}), ("bash", "{oops")), says("ok"), tools=tools
    )
    agent.interceptors.append(
        FakeInterceptor(tool=lambda call: ToolVerdict(args={"a": 2} if call.name == "bash" else None))
    )
    await agent.prompt("go")
    rows = await heard(kit, directory)
    facts = [(e["tool_name"], e["status"], e["executed"], e["result"]["is_error"]) for e in rows]
    assert facts == [
        ("bash", "completed", True, False),
        ("bad", "failed", True, True),
        ("none", "failed", False, True),
        ("bash", "failed", False, True),
    ]
    assert rows[0]["tool_args"] == {"a": 2} and rows[3]["tool_args_raw"] == "{oops" and "tool_args" not in rows[3]
    assert rows[0]["result"]["content"] == [{"type": "text", "text": "bash ok"}]


async def test_a_long_result_is_cut_for_observers_only(kit: Kit) -> None:
    """§22.5: observers get a long result cut at 256 KiB, between characters; the model gets all of it."""
    directory = await watched(kit, ("tool_result",))

    async def long(args: dict[str, Any], context: Any) -> Any:
        from zot.core.tool import text_result

        return text_result("ä" * 300_000)

    agent, _ = kit.agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash", long)], compact_at=0)
    await agent.prompt("go")
    (event,) = await heard(kit, directory)
    assert event["result"]["truncated"] and event["result"]["content"][0]["text"] == "ä" * (128 * 1024)
    assert len(agent.messages[2].tool_results()[0].content[0].text) == 300_000  # pyright: ignore


async def test_a_refused_call_is_denied_by_policy_and_blocked(kit: Kit) -> None:
    """ext-130: a refused call is reported as `denied` by policy and as `blocked`, not executed."""
    directory = await watched(kit, ("permission_decision", "tool_result"))
    agent, _ = kit.agent(calls(("bash", {})), says("ok"), tools=[FakeTool("bash")])
    agent.interceptors.append(FakeInterceptor(tool=ToolVerdict(False, "no")))
    await agent.prompt("go")
    decision, result = await heard(kit, directory)
    assert (decision["decision"], decision["source"], decision["stage"], decision["reason"]) == (
        *("denied", "policy", "pre_execution"),
        "no",
    )
    assert (result["status"], result["executed"]) == ("blocked", False)


async def test_approval_events_are_sent_in_order(kit: Kit) -> None:
    """§22.5: requested, decided, executed; nothing is requested under a remembered yes"""
    directory = await watched(kit, ("tool_confirmation_requested", "permission_decision", "tool_result"))
    answers = [Answer("deny", "not now"), Answer("tool")]

    async def confirm(question: ApprovalQuestion) -> Answer:
        return answers.pop(0)

    call = ("bash", {"command": "ls -l"})
    agent, _ = kit.agent(
        calls(call), calls(call), calls(call), says("ok"), tools=[FakeTool("bash")], gate=PermissionGate(confirm)
    )
    await agent.prompt("go")
    rows = [
        (e["event"], e.get("decision"), e.get("source"), e.get("tool_preview")) for e in await heard(kit, directory)
    ]
    asked, result = ("tool_confirmation_requested", None, None, "ls -l"), ("tool_result", None, None, None)
    assert rows == [
        *(asked, ("permission_decision", "denied", "user", None), result),
        *(asked, ("permission_decision", "approved", "user", None), result),
        *(("permission_decision", "approved", "remembered", None), result),
    ]


async def test_a_prompt_is_announced_once_even_when_it_was_queued(kit: Kit) -> None:
    """§22.5: user_prompt_submit"""
    directory = await watched(kit, ("user_prompt_submit",))
    agent, _ = kit.agent(says("one"), says("two"))
    agent.enqueue("later")
    await agent.prompt("now")
    queued = agent.take_queued()
    assert queued is not None
    await agent.prompt(queued.text, queued.images, queued=True)
    rows = await heard(kit, directory)
    assert [(row["text"], row.get("queued", False)) for row in rows] == [("later", True), ("now", False)]


@pytest.mark.parametrize(("answer", "status"), [(says("summary"), "completed"), (says(""), "failed")])
async def test_every_compaction_that_begins_ends(kit: Kit, answer: Any, status: str) -> None:
    """ext-131: each `pre_compact` has one `post_compact` with its id, even when compaction fails."""
    directory = await watched(kit, ("pre_compact", "post_compact"))
    agent, _ = kit.agent(
        answer, messages=[Message("user", (TextBlock("x" * 400),)), Message("assistant", (TextBlock("y"),))]
    )
    try:
        await agent.compact()
    except CompactionFailed:
        assert status == "failed"
    before, after = await heard(kit, directory)
    assert before["compaction_id"] == after["compaction_id"] and after["status"] == status
    assert before["message_count"] == 2 and before["token_estimate"] > 90
    assert ("error" in after) is (status == "failed")


async def test_session_end_is_delivered_before_shutdown(kit: Kit) -> None:
    """ext-132: `session_end` arrives before `shutdown`."""
    directory = await watched(kit, ("session_start", "session_end"))
    kit.session_started()
    kit.session_ended("shutdown")
    await kit.host.stop()
    rows = [(frame["type"], frame.get("reason")) for frame in _frames(directory)][-2:]
    assert rows == [("event", "shutdown"), ("shutdown", None)]


def _frames(directory: Any) -> list[dict[str, Any]]:
    from tests.fakes.extensions import seen

    return seen(directory)


async def test_a_switch_of_session_ends_one_and_starts_another(kit: Kit) -> None:
    """§22.5: a switch of the session ends one and starts the other, each with its own id."""
    directory = await watched(kit, ("session_start", "session_end"))
    kit.session_started()
    kit.session_ended("session_switch")
    kit.session_id = "s2"
    kit.session_started()
    kit.session_ended("shutdown")
    rows = [(row["event"], row["session_id"], row.get("reason")) for row in await heard(kit, directory)]
    assert rows == [
        *(("session_start", "s1", None), ("session_end", "s1", "session_switch")),
        *(("session_start", "s2", None), ("session_end", "s2", "shutdown")),
    ]


async def test_child_that_does_not_read_is_disconnected(kit: Kit) -> None:
    """ext-072, ext-133: a child that does not read delays no other and is disconnected in the end."""
    kit.add("deaf", 'hello(); subscribe(["turn_start", "assistant_message"]); ready(); time.sleep(60)')
    reader = kit.add("reader", watching(("turn_start",)))
    host = await kit.start()
    agent, _ = kit.agent(*(says("x" * 2000) for _ in range(400)))
    slowest = 0.0
    for _ in range(400):
        began = time.monotonic()
        await agent.prompt("go")
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 0.5
    assert "does not read its stdin: 256 frames" in await until(lambda: "".join(kit.surface.faults))
    await until(lambda: len(events_seen(reader)) == 400)
    assert host.statuses()[1].state == "ready"


async def test_write_blocked_for_five_seconds_disconnects(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """§22.7: one blocking write may take 5 s"""
    monkeypatch.setattr(limits, "WRITE_DEADLINE", 0.2)
    kit.add("deaf", 'hello(); subscribe(["assistant_message"]); ready(); time.sleep(60)')
    await kit.start()
    agent, _ = kit.agent(says("x" * 200_000), compact_at=0)
    await agent.prompt("go")
    await until(lambda: "did not read its stdin for 0.2 s" in "".join(kit.surface.faults))


async def test_events_of_a_pausing_model_are_not_delayed(kit: Kit) -> None:
    """Delivery does not wait for the turn's end."""
    directory = await watched(kit, ("turn_start",))
    pause, silent = falls_silent()
    agent, _ = kit.agent(silent)
    assert isinstance(pause, Pause)
    async with asyncio.TaskGroup() as group:
        group.create_task(agent.prompt("go"))
        await until(lambda: events_seen(directory) == ["turn_start"])
        agent.abort()
