"""issue 34: commands of clients with a screen: steering, the queue, files, frames, sessions, hashes of calls."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say, Slow
from tests.fakes.rpc_client import FakeRpcClient
from zot.wire.call_hash import call_hash

SLEEP = CallTools([("bash", {"command": "sleep 1"})])


def announced(rpc: Any, *capabilities: str, flags: tuple[str, ...] = ()) -> FakeRpcClient:
    client = rpc(*flags)
    assert client.ask("hello", capabilities=list(capabilities))["data"]["capabilities"] == sorted(capabilities)
    return client


def texts(client: FakeRpcClient) -> list[str]:
    messages = client.ask("get_messages")["data"]["messages"]
    return [each["content"][0]["text"] for each in messages if each["role"] == "user" and "text" in each["content"][0]]


# --- steering and the queue


def test_steer_joins_the_running_prompt(rpc, serve) -> None:
    serve([SLEEP, Say("ok")])
    client = rpc()
    client.send("prompt", message="go")
    client.until("tool_call")
    assert client.ask("steer", message="and be brief")["data"] == {"steered": True}
    client.until("done")
    assert texts(client) == ["go", "and be brief"] and client.types.count("done") == 1


def test_steer_when_idle_is_a_prompt(rpc, serve) -> None:
    serve([Say("ok")])
    client = rpc()
    assert client.ask("steer", message="go")["data"] == {"steered": False}
    client.until("done")
    assert texts(client) == ["go"]


def test_steer_during_the_answer_goes_before_the_queue(rpc, serve) -> None:
    serve([Slow(Say("one two three"), 0.1), Say("two"), Say("three")])
    client = rpc()
    client.send("prompt", message="go")
    client.until("text_delta")
    client.send("prompt", message="last")
    assert client.ask("steer", message="wait")["data"]["steered"]
    for _ in range(2):
        client.until("done")
    assert texts(client) == ["go", "wait", "last"]


def test_steer_left_by_an_abort_is_the_next_prompt(rpc, serve) -> None:
    serve([Slow(Say("one two three"), 0.2), Say("two"), Say("three")])
    client = announced(rpc, "queue")
    client.send("prompt", message="go")
    client.until("text_delta")
    client.send("prompt", message="last")
    client.ask("steer", message="wait")
    assert [each["text"] for each in client.ask("get_queue")["data"]["steering"]] == ["wait"]
    client.ask("abort")
    for _ in range(3):
        client.until("done")
    assert texts(client) == ["go", "wait", "last"]


def test_steer_without_words_is_refused(rpc, serve) -> None:
    serve([])
    assert not rpc().ask("steer", message=" ")["success"]


def test_queue_is_listed_and_a_prompt_removed(rpc, serve) -> None:
    serve([SLEEP, Say("ok"), Say("ok")])
    client = announced(rpc, "queue")
    client.send("prompt", message="go")
    client.until("tool_call")
    client.send("prompt", message="second", id="2")
    client.send("prompt", message="third", id="3")
    queue = client.ask("get_queue")["data"]
    assert [each["text"] for each in queue["queued"]] == ["second", "third"] and queue["steering"] == []
    assert client.ask("unqueue", index=queue["queued"][0]["index"])["data"] == {"text": "second"}
    removed = next(line for line in client.seen if line.get("id") == "2")
    assert not removed["success"] and "removed" in removed["error"]
    assert not client.ask("unqueue", index=queue["queued"][0]["index"])["success"]
    client.until("done")
    client.until("done")
    assert texts(client) == ["go", "third"]
    sizes = [len(line["queued"]) for line in client.events if line["type"] == "queue_changed"]
    assert sizes == [1, 2, 1, 0]


def test_queue_events_need_the_capability(rpc, serve) -> None:
    serve([SLEEP, Say("ok"), Say("ok")])
    client = rpc()
    client.send("prompt", message="go")
    client.send("prompt", message="second")
    client.ask("steer", message="third")
    client.until("done")
    client.until("done")
    assert "queue_changed" not in client.types and "session_changed" not in client.types


# --- sessions and state


def test_state_says_more_with_sessions(rpc, serve) -> None:
    serve([Say("one", usage=(812, 41))])
    client = announced(rpc, "sessions", flags=("--permission-mode", "ask"))
    client.prompt("hello  there\nmodel")
    state = client.ask("get_state")["data"]
    assert state["title"] == "hello there model" and state["context_tokens"] > 0
    assert state["context_window"] > 0 and "reasoning" in state and len(state["session_id"]) == 36
    assert state["permission_limit"] == "ask"


def test_clear_and_rewind_report_the_session(rpc, serve, zot) -> None:
    serve([Say("one"), Say("two")])
    client = announced(rpc, "sessions", flags=("--session-file", str(zot.home / "s.jsonl")))
    client.prompt("first")
    client.prompt("second")
    client.send("rewind", prompt=2, what="conversation")
    changed = client.until("session_changed")
    assert changed["action"] == "rewind" and changed["message_count"] == 2 and changed["title"] == "first"
    client.send("clear")
    changed = client.until("session_changed")
    assert changed["action"] == "clear" and changed["message_count"] == 0
    assert changed["session_id"] == client.ask("get_state")["data"]["session_id"]


def test_models_of_all_providers_and_a_switch(rpc, serve) -> None:
    serve([Say("one")])
    client = rpc(ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    own = client.ask("get_models")["data"]["models"]
    every = client.ask("get_models", all=True)["data"]["models"]
    assert {each["provider"] for each in every} >= {"anthropic", "openai"} > {each["provider"] for each in own}
    wanted = next(each for each in every if each["provider"] == "openai")["id"]
    assert client.ask("set_model", model=wanted, provider="openai")["data"] == {"model": wanted, "provider": "openai"}
    assert client.ask("get_state")["data"]["provider"] == "openai"
    assert not client.ask("set_model", model=wanted, provider="no-such")["success"]


# --- approvals


def test_approval_is_bound_to_its_call(rpc, serve, tmp_path: Path) -> None:
    serve([CallTools([("bash", {"command": f"touch {tmp_path}/ran"})]), Say("ok")])
    client = announced(rpc, "approvals", "call_hash", flags=("--no-yolo",))
    client.send("prompt", message="go")
    request = client.until("approval_request")
    assert list(request)[-1] == "call_hash"
    text = json.dumps([request["name"], request["args"], []], sort_keys=True, separators=(",", ":"))
    assert request["call_hash"] == hashlib.sha256(text.encode()).hexdigest()
    wrong = client.ask("approve", request_id=request["request_id"], decision="once", call_hash="0" * 64)
    assert not wrong["success"] and not (tmp_path / "ran").exists()
    right = {"request_id": request["request_id"], "decision": "once", "call_hash": request["call_hash"]}
    assert client.ask("approve", **right)["success"]
    client.until("done")
    assert (tmp_path / "ran").exists()


def test_call_hash_differs_for_each_part() -> None:
    hashes = {
        call_hash("bash", {"command": "ls"}),
        call_hash("bash", {"command": "ls "}),
        call_hash("bash", {"command": "ls", "timeout": 1}),
        call_hash("write", {"command": "ls"}),
        call_hash("bash", {"command": "ls"}, ({"access": "network"},)),
        call_hash("bash", {"command": "ls\udcff"}),
    }
    assert len(hashes) == 6
    assert call_hash("x", {"a": 1, "b": {"d": 2, "c": 3}}) == call_hash("x", {"b": {"c": 3, "d": 2}, "a": 1})


# --- files


@pytest.fixture
def project(zot) -> Path:
    for name in ("src/deep/prices.py", "src/app.py", "docs/price list.md", ".git/HEAD", "ignored.log"):
        path = zot.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    (zot.project / ".gitignore").write_text("*.log\n")
    return zot.project


def test_files_are_found_as_the_terminal_finds_them(rpc, serve, project: Path) -> None:
    serve([])
    client = rpc()
    found = client.ask("find_files", query="price")["data"]["files"]
    assert {each["path"] for each in found} == {"src/deep/prices.py", "docs/price list.md"}
    listed = client.ask("find_files", query="src/")["data"]["files"]
    assert {"path": "src/deep/", "kind": "directory"} in listed
    top = {each["path"] for each in client.ask("find_files", query="")["data"]["files"]}
    assert {"src/", "docs/"} <= top and not top & {"ignored.log", ".git/"}
    assert len(client.ask("find_files", query="p", limit=1)["data"]["files"]) == 1
    for odd in ("\0", "../" * 400, "a" * 100_000, "[", "\\"):
        assert client.ask("find_files", query=odd)["success"]


def test_mentioned_file_is_attached_with_commands(rpc, serve, project: Path) -> None:
    serve([Say("ok"), Say("ok")])
    client = announced(rpc, "commands")
    client.prompt("look at @src/app.py, please, and at @no/such")
    assert [line["message"] for line in client.events if line["type"] == "diagnostic"] == [
        "attached src/app.py (1 line)"
    ]
    assert '<file path="src/app.py">\nx = 1\n</file>' in texts(client)[0]
    client.ask("hello", capabilities=[])
    client.prompt("look at @src/app.py")
    assert texts(client)[1] == "look at @src/app.py"


# --- frames of extensions


def test_frames_are_sent_while_watched(rpc, serve, tmp_path: Path) -> None:
    body = """
hello(); send(type="register_command", name="go", description="goes"); ready()
serve(command_invoked=lambda f: send(type="command_response", id=f["id"], action="display", text="x" * 100_000))
"""
    serve([])
    directory = write_extension(tmp_path / "extensions", "frames", body)
    client = announced(rpc, "commands", flags=("-e", str(directory)))
    client.ask("run_command", name="go")
    assert "ext_frame" not in client.types
    client.ask("watch_frames", on=True)
    client.ask("run_command", name="go")
    out, back = [line for line in client.events if line["type"] == "ext_frame"][:2]
    assert out["direction"] == "out" and out["frame"]["type"] == "command_invoked" and out["extension"] == "frames"
    assert back["direction"] == "in" and back["cut"] and len(back["text"]) == 64 * 1024 and "frame" not in back
    assert back["latency"] >= 0 and back["t"] >= out["t"]
    client.ask("watch_frames", on=False)
    before = client.types.count("ext_frame")
    client.ask("run_command", name="go")
    assert client.types.count("ext_frame") == before


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001000501a5f645400000000049454e44ae426082"
)


def test_images_of_messages_and_results_are_read(rpc, serve, project: Path) -> None:
    (project / "dot.png").write_bytes(PNG)
    serve([CallTools([("read", {"path": "dot.png"}, "call-1")]), Say("a dot")])
    client = rpc()
    data = base64.b64encode(PNG).decode()
    client.send(type="prompt", message="look", images=[{"mime_type": "image/png", "data": data}])
    client.until("done")
    for place in ({"message": 0}, {"tool_id": "call-1"}):
        assert client.ask("get_image", **place)["data"] == {"mime_type": "image/png", "data": data}
    for place in ({"message": 1}, {"message": -1}, {"message": 99}, {"tool_id": "call-2"}, {"message": 0, "index": 1}):
        assert client.ask("get_image", **place)["error"].startswith("no image")
