"""The events of a prompt, aborts, the queue and compaction."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import CallTools, Refuse, Say, Silent, Slow
from tests.protocol.test_rpc_process import alive, pid_in, sleeping_bash


def bash(command: str, **kwargs: Any) -> CallTools:
    return CallTools([("bash", {"command": command})], **kwargs)


def places(lines: list[dict[str, Any]], *types: str) -> list[int]:
    """Where each of the types stands first."""
    return [next(n for n, line in enumerate(lines) if line["type"] == type) for type in types]


def test_response_is_first_and_done_is_last_and_once(rpc, serve) -> None:
    """rpc-034, rpc-035, rpc-039, rpc-040, iface-051: the response comes first, `user_message` before the first turn,
    and one `done` last.
    """
    serve([Say("hello there")])
    lines = rpc().prompt("hi", id="1")
    assert lines[0] == {"type": "response", "id": "1", "command": "prompt", "success": True, "data": {"started": True}}
    assert [line["type"] for line in lines[1:3]] == ["user_message", "turn_start"]
    assert lines[2]["step"] == 1
    assert lines[-2:] == [{"type": "turn_end", "stop": "end_turn"}, {"type": "done"}]
    assert [line["type"] for line in lines].count("done") == 1


def test_usage_message_calls_turn_end_and_results_are_in_order(rpc, serve) -> None:
    """rpc-036, rpc-037, rpc-044, rpc-047: usage, message, calls, `turn_end` and results arrive in this order, with
    progress in between.
    """
    serve([bash("echo one; echo two", text="Let me look."), Say("ok")])
    lines = rpc().prompt("go")
    order = places(lines, "usage", "assistant_message", "tool_call", "turn_end", "tool_progress", "tool_result")
    assert order == sorted(order)
    result = lines[order[-1]]
    assert list(result) == ["type", "id", "is_error", "content"] and result["is_error"] is False
    assert lines[order[3]] == {"type": "turn_end", "stop": "tool_use"}


def test_the_deltas_are_the_visible_text(rpc, serve) -> None:
    """rpc-038: the deltas add up to the visible text, beyond ASCII too."""
    serve([Say("a few words, ünïcode too: 😀")])
    lines = rpc().prompt("hi")
    text = "".join(line["delta"] for line in lines if line["type"] == "text_delta")
    [message] = [line for line in lines if line["type"] == "assistant_message"]
    assert text == message["content"][0]["text"] == "a few words, ünïcode too: 😀"


def test_provider_error_is_reported_and_process_stays_usable(rpc, serve) -> None:
    """rpc-041: a provider's error gives `turn_end`, `error` and `done`, and the next prompt works."""
    serve([Refuse(400, '{"error":{"message":"no such thing"}}'), Say("fine")])
    client = rpc()
    lines = client.prompt("hi")
    assert [line["type"] for line in lines[-3:]] == ["turn_end", "error", "done"]
    assert "assistant_start" not in [line["type"] for line in lines]
    assert lines[-3]["stop"] == "error" and "no such thing" in lines[-3]["error"]
    assert "no such thing" in lines[-2]["message"]
    assert client.prompt("again")[-2]["stop"] == "end_turn"


def test_the_step_limit_is_an_error_and_done(rpc, serve) -> None:
    """rpc-042: reaching `--max-steps` gives `error` and then `done`."""
    serve([bash("true")], repeat=True)
    lines = rpc("--max-steps", "2").prompt("go")
    assert lines[-2:] == [{"type": "error", "message": "max steps (2) exceeded"}, {"type": "done"}]


def test_cumulative_usage_runs_over_prompts_and_compactions(rpc, serve) -> None:
    """rpc-043, rpc-067: cumulative usage adds up over prompts and compactions, and always names `reasoning`."""
    serve([Say("one", usage=(10, 5)), Say("summary", usage=(100, 50)), Say("two", usage=(20, 7))])
    client = rpc()
    client.prompt("hi")
    client.send("compact")
    client.until("compact_done")
    lines = client.prompt("again")
    [usage] = [line for line in lines if line["type"] == "usage"]
    assert (usage["input"], usage["output"]) == (20, 7)
    assert (usage["cumulative"]["input"], usage["cumulative"]["output"]) == (130, 62)
    assert usage["reasoning"] is None and usage["cumulative"]["reasoning"] is None


def test_unknown_tool_is_an_error_result_and_run_continues(rpc, serve) -> None:
    """rpc-046: an unknown tool gives an error result, and the run continues."""
    serve([CallTools([("frobnicate", {})]), Say("sorry")])
    lines = rpc().prompt("go")
    [result] = [line for line in lines if line["type"] == "tool_result"]
    assert result["is_error"] is True and "frobnicate" in result["content"][0]["text"]
    assert lines[-2] == {"type": "turn_end", "stop": "end_turn"}


def test_only_the_tool_family_carries_an_id(rpc, serve) -> None:
    """rpc-048: no event outside the tool family carries an `id`."""
    serve([bash("echo x", text="look"), Say("ok")])
    lines = rpc().prompt("go", id="mine")
    with_id = {line["type"] for line in lines if "id" in line}
    assert with_id == {
        *("response", "tool_use_start", "tool_use_args", "tool_use_end"),
        *("tool_call", "tool_progress", "tool_result"),
    }


# --- abort


def test_abort_when_idle_succeeds(rpc, serve) -> None:
    """rpc-049: abort while idle succeeds and emits nothing."""
    serve([])
    client = rpc()
    assert client.ask("abort", id="2") == {"type": "response", "id": "2", "command": "abort", "success": True}
    assert client.is_silent(0.1)


def test_abort_while_streaming_ends_turn_and_keeps_text(rpc, serve) -> None:
    """rpc-050, rpc-052, rpc-076, iface-053: abort while streaming ends the turn with usage and the partial text, then
    `done`; the next prompt works.
    """
    serve([Slow(Say("word " * 1000), 0.01), Say("fine")])
    client = rpc()
    client.send("prompt", message="hi")
    client.until("text_delta")
    client.until("text_delta")
    started = time.monotonic()
    client.send("abort")
    client.until("done")
    assert time.monotonic() - started < 2
    assert client.types[-4:] == ["usage", "assistant_message", "turn_end", "done"]
    assert "error" not in client.types
    assert client.events[-2]["stop"] == "aborted"
    assert "word" in client.events[-3]["content"][0]["text"]
    assert client.prompt("again")[-2] == {"type": "turn_end", "stop": "end_turn"}


def test_abort_while_connecting_ends_the_turn(rpc, serve) -> None:
    """rpc-050 (OP-6): abort before the first byte of the answer ends the turn as aborted."""
    serve([Silent(Say("x"))])
    client = rpc()
    client.send("prompt", message="hi")
    client.until("turn_start")
    client.send("abort")
    client.until("done")
    assert client.types[-2:] == ["turn_end", "done"]
    assert client.events[-2]["stop"] == "aborted"


def test_abort_during_a_wait_for_a_retry_ends_it(rpc, serve) -> None:
    """rpc-050: whatever is running"""
    serve([Refuse(529, "{}", headers={"retry-after": "30"})], repeat=True)
    client = rpc()
    client.send("prompt", message="hi")
    client.until("retry_wait")
    assert client.events[-1] == {
        "type": "retry_wait",
        "attempt": 2,
        "attempts": 3,
        "wait_s": 30.0,
        "reason": "overloaded",
    }
    started = time.monotonic()
    client.send("abort")
    client.until("done")
    assert time.monotonic() - started < 2
    assert client.events[-2] | {"error": ""} == {"type": "turn_end", "stop": "aborted", "error": ""}


def test_abort_during_a_tool_kills_it_and_later_calls_do_not_run(rpc, serve, tmp_path: Path) -> None:
    """rpc-051: abort during a tool kills it, and the later calls of that message do not run but have results."""
    calls = [
        ("bash", {"command": f"echo $$ > {tmp_path}/pid; sleep 60"}),
        ("bash", {"command": f"touch {tmp_path}/ran"}),
        ("write", {"path": f"{tmp_path}/written", "content": "x"}),
    ]
    serve([CallTools(calls)])
    client = rpc()
    client.send("prompt", message="go")
    child = pid_in(tmp_path / "pid")
    started = time.monotonic()
    client.send("abort")
    client.until("done")
    assert time.monotonic() - started < 2
    results = [event for event in client.events if event["type"] == "tool_result"]
    assert len(results) == 3 and all(result["is_error"] for result in results)
    assert "error" not in client.types and client.types.count("turn_end") == 1
    assert not alive(child)
    assert not (tmp_path / "ran").exists() and not (tmp_path / "written").exists()
    messages = client.ask("get_messages")["data"]["messages"]
    assert [block["type"] for block in messages[-1]["content"]] == ["tool_result"] * 3


def test_abort_in_the_same_breath_as_its_prompt_is_not_lost(rpc, serve) -> None:
    """rpc-050: an abort sent right behind its prompt is not lost."""
    serve([Say("fine")])
    client = rpc()
    client.write(b'{"type":"prompt","message":"hi"}\n{"type":"abort"}\n')
    client.until("done")
    assert client.types == ["user_message", "done"]
    assert client.prompt("again")[-2] == {"type": "turn_end", "stop": "end_turn"}


def test_a_second_abort_changes_nothing(rpc, serve) -> None:
    """rpc-049: a second abort of the same turn changes nothing."""
    server = serve([Silent(Say("x"), after_bytes=400), Say("fine")])
    client = rpc()
    client.send("prompt", message="hi")
    server.wait_for_requests()
    client.write(b'{"type":"abort"}\n' * 5)
    client.until("done")
    assert client.types.count("done") == 1
    assert client.prompt("again")[-2] == {"type": "turn_end", "stop": "end_turn"}


# --- the queue


def test_a_second_prompt_is_answered_after_the_first_ones_done(rpc, serve) -> None:
    """rpc-053, iface-052, rpc-065: a prompt sent during another is answered only after the first one's `done`."""
    serve([Slow(Say("one and more"), 0.02), Say("two")])
    client = rpc()
    client.send("prompt", message="a", id="a")
    client.send("prompt", message="b", id="b")
    client.until("done")
    first = client.seen[:]
    assert [line.get("id") for line in first if line["type"] == "response"] == ["a"]
    assert client.next() == {
        "type": "response",
        "id": "b",
        "command": "prompt",
        "success": True,
        "data": {"started": True},
    }
    client.until("done")


def test_abort_leaves_queued_prompts_in_the_queue(rpc, serve) -> None:
    """rpc-054: abort ends the running prompt and leaves the queued ones in the queue."""
    server = serve([Silent(Say("x")), Silent(Say("y")), Say("three")])
    client = rpc()
    for id in ("a", "b", "c"):
        client.send("prompt", message=id, id=id)
    server.wait_for_requests()
    client.send("abort")
    client.until("done")
    assert client.until("response", command="prompt")["id"] == "b"
    assert client.ask("get_state")["data"]["busy"] is True
    server.wait_for_requests(2)
    client.send("abort")
    client.until("done")
    client.until("done")
    assert client.events[-2] == {"type": "turn_end", "stop": "end_turn"}


# --- compaction


def test_compact_ends_with_compact_done_and_leaves_one_message(rpc, serve) -> None:
    """rpc-055, iface-054: compact ends with `compact_done` and leaves one message, the summary with the last prompt
    verbatim.
    """
    serve([Say("one"), Say("## Goal\nwin")])
    client = rpc()
    client.prompt("fix the failing test")
    start = len(client.seen)
    client.send("compact", id="3")
    client.until("compact_done")
    assert client.seen[start:] == [
        {"type": "response", "id": "3", "command": "compact", "success": True, "data": {"started": True}},
        {"type": "compact_done", "summary": "## Goal\nwin"},
    ]
    assert client.is_silent(0.1)
    [message] = client.ask("get_messages")["data"]["messages"]
    text = message["content"][0]["text"]
    assert message["role"] == "user"
    assert text.startswith("## Context Summary (compacted)\n\n## Goal\nwin") and text.endswith("fix the failing test")


def test_compact_of_nothing_is_an_error_and_done(rpc, serve) -> None:
    """rpc-056: compacting an empty transcript gives `error` and `done`."""
    serve([])
    client = rpc()
    client.send("compact")
    client.until("done")
    assert client.events == [{"type": "error", "message": "nothing to compact"}, {"type": "done"}]
    assert client.ask("get_messages")["data"]["messages"] == []


def test_a_failed_compact_leaves_the_transcript(rpc, serve) -> None:
    """rpc-056, iface-054: a compact that fails ends with `error` and `done` and leaves the transcript unchanged."""
    serve([Say("one"), Refuse(400, '{"error":{"message":"no"}}')])
    client = rpc()
    client.prompt("hi")
    before = client.ask("get_messages")["data"]
    client.send("compact")
    client.until("done")
    assert client.types[-2:] == ["error", "done"]
    assert client.ask("get_messages")["data"] == before


def test_an_aborted_compact_ends_in_done_alone(rpc, serve) -> None:
    """rpc-050, iface-054: a compact that is aborted ends with `done` alone."""
    serve([Say("one"), Silent(Say("x"), after_bytes=300)])
    client = rpc()
    client.prompt("hi")
    start = len(client.events)
    client.send("compact")
    client.response("compact")
    assert client.ask("get_state")["data"]["busy"] is True
    client.send("abort")
    client.until("done")
    assert client.events[start:] == [{"type": "done"}]
    assert len(client.ask("get_messages")["data"]["messages"]) == 2


def test_prompt_after_compact_starts_after_compact_done(rpc, serve) -> None:
    """rpc-057, rpc-077: a prompt queued behind a compact starts after `compact_done`, with no `done` in between."""
    serve([Say("one"), Slow(Say("the summary"), 0.02), Say("two")])
    client = rpc()
    client.prompt("hi")
    start = len(client.seen)
    client.send("compact")
    client.send("prompt", message="next")
    client.until("done")
    kinds = [line["type"] for line in client.seen[start:]]
    assert kinds[:4] == ["response", "compact_done", "response", "user_message"]
    assert kinds.count("done") == 1


# --- the same events as --json


@pytest.mark.parametrize(
    "turns",
    [
        [Say("hello there")],
        [bash("echo one", text="Let me look."), Say("ok")],
        [Refuse(400, '{"error":{"message":"no"}}')],
    ],
)
def test_json_mode_writes_the_same_events(rpc, serve, zot, turns: list[Any]) -> None:
    """rpc-060: `--json` prints the same events as rpc sends, and ends in `done`."""
    server = serve(turns * 2)
    ours = [line for line in rpc().prompt("hi") if line["type"] != "response"]
    theirs = zot("--json", "hi").events
    assert server.requests
    assert [_timeless(event) for event in ours[:-1]] == [_timeless(event) for event in theirs[:-1]]
    assert theirs[-1]["type"] == ours[-1]["type"] == "done"


def _timeless(event: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in event.items() if key != "time"}
    text = json.dumps(kept).split("Took")[0]
    return {"text": text}


def test_nested_calls_and_auxiliary_usage_pass_the_encoder() -> None:
    """rpc-068, rpc-069 (at the encoder): ids of the form parent/n, and ``auxiliary`` only when true"""
    from zot.core import events
    from zot.provider.messages import TextBlock, ToolCallBlock, Usage
    from zot.wire.events import encode

    call = encode(events.ToolCall(ToolCallBlock("toolu_1/2", "read", "{}")))
    assert call == b'{"type":"tool_call","id":"toolu_1/2","name":"read","args":{}}'
    result = encode(events.ToolResultEvent("toolu_1/2", False, (TextBlock("x"),)))
    assert result == (
        b'{"type":"tool_result","id":"toolu_1/2","is_error":false,"content":[{"type":"text","text":"x"}]}'
    )
    plain = encode(events.UsageEvent(Usage(1, 2), Usage(1, 2)))
    extra = encode(events.UsageEvent(Usage(1, 2), Usage(1, 2), auxiliary=True))
    assert plain is not None and b"auxiliary" not in plain
    assert extra is not None and extra.endswith(b',"auxiliary":true}')


def test_sleeping_tool_ends_at_end_of_input_or_signal(rpc, serve, tmp_path: Path) -> None:
    """rpc-008: the end of input waits for the tool; the signal does not"""
    serve([sleeping_bash(tmp_path / "pid")])
    client = rpc()
    client.send("prompt", message="go")
    child = pid_in(tmp_path / "pid")
    client.end_input()
    assert client.ended is False
    client.signal(signal.SIGTERM)
    assert client.exit_code() == 143
    assert not alive(child)
