"""The model's list of steps as an event, in the state, and over resume, fork and compaction (issue 32.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_questions import TOOLS, results, rpc
from tests.fakes.model_server import CallTools, Say
from zot.sdk import Runtime, Todo, Todos

__all__ = ["rpc"]

FIRST = [{"text": "read", "status": "in_progress"}, {"text": "write", "status": "pending"}]
SECOND = [{"text": "read", "status": "done"}, {"text": "write", "status": "in_progress"}]


def todo(items: Any) -> CallTools:
    return CallTools([("todo", {"items": items})])


def test_list_is_an_event_of_json(zot: Zot, serve: Any) -> None:
    server = serve([todo(FIRST), todo(SECOND), Say("ok")])
    ran = zot("--json", *TOOLS, "go")
    assert [event["items"] for event in ran.events if event["type"] == "todos"] == [FIRST, SECOND]
    assert results(server) == ["saved: 0 of 2 done", "saved: 1 of 2 done"]


def test_list_is_one_line_of_stream(zot: Zot, serve: Any) -> None:
    serve([todo(FIRST), todo([]), Say("ok")])
    ran = zot("--stream", *TOOLS, "go")
    assert ran.out == "ok\n" and ran.err == "zot: [todos] 0 of 2 done; now: read\nzot: [todos] cleared\n"


def test_list_follows_the_session(zot: Zot, serve: Any) -> None:
    """issue 32.2: kept over resume; `/todos` shows it, and a resumed run sends it as its first event."""
    serve([todo(FIRST), Say("ok"), Say("on")])
    assert zot("-p", *TOOLS, "go").code == 0
    assert zot("-p", "-c", "/todos").out == "0 of 2 done\n- [>] read\n- [ ] write\n"
    events = zot("--json", "-c", "on").events
    assert events[0] == {"type": "todos", "items": FIRST}
    assert zot("-p", "/todos").out == "the model keeps no list of steps in this session\n"


def test_list_survives_a_compaction_and_ends_with_clear(rpc: Any, serve: Any) -> None:
    """issue 32.2: the summary has the list for the model."""
    server = serve([todo(FIRST), Say("one"), todo(SECOND), Say("two"), Say("summary"), Say("three")])
    client = rpc()
    client.prompt("first")
    client.prompt("second")
    assert client.ask("get_state")["data"]["todos"] == SECOND
    client.send("compact")
    client.until("compact_done")
    assert client.ask("get_state")["data"]["todos"] == SECOND
    client.prompt("third")
    assert "## Todo list\\n\\n- [x] read\\n- [>] write" in server.requests[-1].body.decode()
    assert client.ask("clear")["success"]
    assert [line for line in client.events if line["type"] == "todos"][-1]["items"] == []
    assert client.ask("get_state")["data"]["todos"] == []


def test_rewind_restores_the_earlier_list(zot: Zot, rpc: Any, serve: Any) -> None:
    serve([todo(FIRST), Say("one"), todo(SECOND), Say("two")])
    client = rpc(args=(*TOOLS, "--session-file", str(zot.home / "s.jsonl")))
    client.prompt("first")
    client.prompt("second")
    assert client.ask("rewind", prompt=2, what="conversation")["success"]
    assert client.ask("get_state")["data"]["todos"] == FIRST
    assert [line["items"] for line in client.events if line["type"] == "todos"] == [FIRST, SECOND, FIRST]


@pytest.mark.parametrize(
    ("items", "reason"),
    [([{"text": "s"}] * 10_000, "10,000 items; at most 100"), ([{"text": ""}], 'item 1: expected a "text"')],
)
def test_list_with_wrong_items_changes_nothing(zot: Zot, serve: Any, items: Any, reason: str) -> None:
    server = serve([todo(FIRST), todo(items), Say("ok")])
    ran = zot("--json", *TOOLS, "go")
    assert [event["items"] for event in ran.events if event["type"] == "todos"] == [FIRST]
    assert reason in results(server)[1]


async def test_list_is_an_event_of_the_sdk(zot: Zot, serve: Any) -> None:
    server = serve([todo(FIRST), Say("ok")])
    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "k", "cwd": zot.project}
    async with Runtime(home=zot.home / "zot", allowed_tools=["todo"], **options) as runtime:
        events = [event async for event in runtime.prompt("go")]
        steps = (Todo(text="read", status="in_progress"), Todo(text="write", status="pending"))
        assert Todos(items=steps) in events and runtime.state().todos == steps


def test_tool_can_be_switched_off(zot: Zot, serve: Any) -> None:
    (zot.home / "zot").mkdir(parents=True, exist_ok=True)
    (zot.home / "zot" / "config.json").write_text('{"tools_off": ["todo"]}')
    server = serve([Say("ok")])
    assert zot("-p", "go").code == 0
    more = next(tool for tool in server.requests[0].json["tools"] if tool["name"] == "more_tools")
    assert "todo" not in more["description"] and "ask_user" in more["description"]


def test_recorded_run_with_a_list_replays(zot: Zot, serve: Any) -> None:
    """A replay runs no feature: the event and the kept list come from the recording."""
    serve([todo(FIRST), Say("ok")])
    recording = zot.home / "run.zotrec"
    assert zot("-p", *TOOLS, "--record", str(recording), "go").code == 0
    ran = zot("replay", "--verify", str(recording), model=False)
    assert ran.code == 0 and "no difference" in ran.out
