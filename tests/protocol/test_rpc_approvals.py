"""``--no-yolo`` over RPC: the client is asked, and a call without an answer is denied."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import entry, own, specific
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient


def touch(path: Path, times: int = 1) -> CallTools:
    return CallTools([("bash", {"command": f"echo x >> {path}"})] * times)


def asking(rpc: Any, *flags: str) -> FakeRpcClient:
    client = rpc("--no-yolo", *flags)
    assert client.ask("hello", capabilities=["approvals"])["data"]["capabilities"] == ["approvals"]
    return client


def results(client: FakeRpcClient) -> list[dict[str, Any]]:
    return [event for event in client.events if event["type"] == "tool_result"]


def test_client_without_approvals_gets_denials_and_one_line(rpc, serve, tmp_path: Path) -> None:
    """rpc-014: a client that did not announce `approvals` gets refusals and a single line on stderr."""
    serve([touch(tmp_path / "ran", 2), Say("ok"), touch(tmp_path / "ran"), Say("ok")])
    client = rpc("--no-yolo")
    client.prompt("go")
    client.prompt("again")
    client.close()
    assert len(results(client)) == 3 and all(result["is_error"] for result in results(client))
    assert "approval_request" not in client.types and not (tmp_path / "ran").exists()
    assert client.stderr.count("\n") == 1 and "--no-yolo" in client.stderr


def test_client_with_approvals_is_asked_and_call_runs(rpc, serve, tmp_path: Path) -> None:
    """rpc-014: with the call's id, the arguments and a preview"""
    serve([touch(tmp_path / "ran"), Say("ok")])
    client = asking(rpc)
    client.send("prompt", message="go")
    request = client.until("approval_request")
    [call] = [event for event in client.events if event["type"] == "tool_call"]
    assert list(request) == ["type", "request_id", "tool_id", "name", "args", "preview"]
    assert (request["tool_id"], request["name"], request["args"]) == (call["id"], "bash", call["args"])
    assert request["preview"] == call["args"]["command"]
    assert not (tmp_path / "ran").exists()
    assert client.ask("approve", request_id=request["request_id"], decision="once")["success"]
    client.until("done")
    assert (tmp_path / "ran").exists() and client.stderr == ""


def test_a_refusal_reaches_the_model_with_its_reason(rpc, serve, tmp_path: Path) -> None:
    """rpc-014: a refusal reaches the model with the reason the client gave."""
    serve([touch(tmp_path / "ran"), Say("ok")])
    client = asking(rpc)
    client.send("prompt", message="go")
    request = client.until("approval_request")
    client.ask("approve", request_id=request["request_id"], decision="deny", reason="not in production")
    client.until("done")
    [result] = results(client)
    assert result["is_error"] and "not in production" in result["content"][0]["text"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("decision", "asked"), [("once", 3), ("tool", 1), ("all", 1)])
def test_a_yes_may_be_remembered(rpc, serve, tmp_path: Path, decision: str, asked: int) -> None:
    """rpc-014: a remembered yes covers the later calls of the run."""
    serve([touch(tmp_path / "ran", 3), Say("ok")])
    client = asking(rpc)
    client.send("prompt", message="go")
    while (line := client.next())["type"] != "done":
        if line["type"] == "approval_request":
            client.send("approve", request_id=line["request_id"], decision=decision)
    assert client.types.count("approval_request") == asked
    assert (tmp_path / "ran").read_text() == "x\n" * 3


def test_an_answer_to_no_question_fails_and_answers_nothing(rpc, serve, tmp_path: Path) -> None:
    """rpc-014: an answer without a pending question fails and has no effect on the next one."""
    serve([touch(tmp_path / "ran"), Say("ok")])
    client = asking(rpc)
    assert not client.ask("approve", request_id="approval-1", decision="all")["success"]
    client.send("prompt", message="go")
    request = client.until("approval_request")
    assert not client.ask("approve", request_id="other", decision="once")["success"]
    assert not (tmp_path / "ran").exists()
    client.send("approve", request_id=request["request_id"], decision="deny")
    client.send("approve", request_id=request["request_id"], decision="once")
    client.until("done")
    assert [line["success"] for line in client.seen if line.get("command") == "approve"][-2:] == [True, False]
    assert not (tmp_path / "ran").exists()


def test_end_of_input_denies_pending_and_later_calls(rpc, serve, tmp_path: Path) -> None:
    """rpc-008, rpc-014: there is no silent default to allow, and no hang"""
    serve([touch(tmp_path / "ran", 2), Say("understood")])
    client = asking(rpc)
    client.send("prompt", message="go")
    client.until("approval_request")
    assert client.close() == 0
    lines = client.rest()
    assert lines[-1] == {"type": "done"}
    assert [line["is_error"] for line in lines if line["type"] == "tool_result"] == [True, True]
    assert client.types.count("approval_request") == 1 and not (tmp_path / "ran").exists()


def test_abort_ends_the_wait(rpc, serve, tmp_path: Path) -> None:
    """rpc-051: abort ends the wait for an approval at once, and the tool does not run."""
    serve([touch(tmp_path / "ran"), Say("ok")])
    client = asking(rpc)
    client.send("prompt", message="go")
    request = client.until("approval_request")
    started = time.monotonic()
    client.send("abort")
    client.until("done")
    assert time.monotonic() - started < 2
    assert not client.ask("approve", request_id=request["request_id"], decision="once")["success"]
    assert not (tmp_path / "ran").exists()


def test_approval_shows_the_arguments_that_will_run(rpc, serve, tmp_path: Path) -> None:
    """rpc-014: the arguments shown for approval are the final ones after interception."""
    serve([touch(tmp_path / "ran"), Say("ok")])
    body = 'hello(); subscribe(intercept=["tool_call"]); ready()\n'
    body += 'serve(event_intercept=lambda f: answer(f, modified_args={"command": "echo harmless"}))'
    client = asking(rpc, "--ext", str(write_extension(tmp_path / "extensions", "tame", body)))
    client.send("prompt", message="go")
    request = client.until("approval_request")
    assert request["args"] == {"command": "echo harmless"}
    client.send("approve", request_id=request["request_id"], decision="once")
    client.until("done")
    assert "harmless" in results(client)[0]["content"][0]["text"] and not (tmp_path / "ran").exists()


# --- modes

WRITE = CallTools([("write", {"path": "made.txt", "content": "x"})])


def test_client_may_narrow_mode_and_restore_it(rpc, serve, zot) -> None:
    server = serve([WRITE, Say("a plan"), WRITE, Say("ok")])
    client = rpc()
    assert client.ask("get_state")["data"]["permission_mode"] == "everything"
    assert client.ask("set_permission_mode", permission_mode="plan")["data"] == {"permission_mode": "plan"}
    client.prompt("go")
    assert "plan mode" in results(client)[0]["content"][0]["text"] and not (zot.project / "made.txt").exists()
    assert "switched to plan mode" in str(server.requests[0].json["messages"])
    assert client.ask("set_permission_mode", permission_mode="yolo")["data"] == {"permission_mode": "everything"}
    client.prompt("now")
    assert (zot.project / "made.txt").exists()


@pytest.mark.parametrize(
    ("flags", "mode", "may"),
    [
        (("--no-yolo",), "accept-edits", False),
        (("--no-yolo",), "everything", False),
        (("--permission-mode", "plan"), "ask", False),
        (("--permission-mode", "plan", "--permission-limit", "ask"), "ask", True),
        (("--permission-mode", "plan", "--permission-limit", "ask"), "everything", False),
        (("--permission-mode", "ask", "--permission-limit", "everything"), "everything", True),
        (("--permission-mode", "ask"), "plan", True),
        ((), "nonsense", False),
    ],
)
def test_client_cannot_widen_mode_without_launcher_consent(
    rpc, serve, flags: tuple[str, ...], mode: str, may: bool
) -> None:
    serve([])
    client = rpc(*flags)
    before = client.ask("get_state")["data"]["permission_mode"]
    answer = client.ask("set_permission_mode", permission_mode=mode)
    assert answer["success"] is may
    assert client.ask("get_state")["data"]["permission_mode"] == (mode if may else before)


def test_a_yes_to_everything_does_not_end_planning(rpc, serve, zot, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.txt").write_text("x")
    serve([CallTools([("read", {"path": str(tmp_path / "elsewhere.txt")})]), WRITE, Say("ok")])
    client = rpc("--permission-mode", "plan")
    client.ask("hello", capabilities=["approvals"])
    client.send("prompt", message="go")
    request = client.until("approval_request")
    client.send("approve", request_id=request["request_id"], decision="all")
    client.until("done")
    assert [result["is_error"] for result in results(client)] == [False, True]
    assert not (zot.project / "made.txt").exists()


def test_a_beginning_may_be_allowed_where_the_question_names_one(rpc, serve, zot) -> None:
    commands = ["touch a", "touch b", "touch c; chmod 600 c"]
    serve([CallTools([("bash", {"command": command}) for command in commands]), Say("ok")])
    client = rpc("--permission-mode", "ask")
    client.ask("hello", capabilities=["approvals"])
    client.send("prompt", message="go")
    request = client.until("approval_request")
    assert request["prefix"] == "touch"
    client.send("approve", request_id=request["request_id"], decision="prefix")
    second = client.until("approval_request")
    assert second["preview"] == "touch c; chmod 600 c" and "prefix" not in second and "prefixes" not in second
    client.send("approve", request_id=second["request_id"], decision="deny")
    client.until("done")
    assert sorted(path.name for path in zot.project.iterdir()) == ["a", "b"]


def test_joined_commands_are_allowed_by_a_prefix_each(rpc, serve, zot: Zot) -> None:
    """issue 29.4: the decision `prefix` covers each part, and later only commands made of these parts."""
    commands = ["touch a && mkdir d", "mkdir e | touch b", "touch c && rmdir d"]
    serve([CallTools([("bash", {"command": command}) for command in commands]), Say("ok")])
    client = rpc("--permission-mode", "ask")
    client.ask("hello", capabilities=["approvals"])
    client.send("prompt", message="go")
    request = client.until("approval_request")
    assert request["prefixes"] == ["touch", "mkdir"] and "prefix" not in request
    client.send("approve", request_id=request["request_id"], decision="prefix")
    second = client.until("approval_request")
    assert second["preview"] == commands[2]
    client.send("approve", request_id=second["request_id"], decision="deny")
    client.until("done")
    assert sorted(path.name for path in zot.project.iterdir()) == ["a", "b", "d", "e"]


def test_no_yolo_asks_about_reading_and_the_mode_ask_does_not(rpc, serve, zot) -> None:
    (zot.project / "a.txt").write_text("x")
    read = CallTools([("read", {"path": "a.txt"})])
    serve([read, Say("ok"), read, Say("ok")])
    for flags, asked in ((("--no-yolo",), 1), (("--permission-mode", "ask"), 0)):
        client = rpc(*flags)
        client.ask("hello", capabilities=["approvals"])
        client.send("prompt", message="go")
        while (line := client.next())["type"] != "done":
            if line["type"] == "approval_request":
                client.send("approve", request_id=line["request_id"], decision="once")
        assert client.types.count("approval_request") == asked


@pytest.mark.parametrize("flags", [(), ("--permission-mode", "ask")], ids=["everything", "ask"])
def test_hook_that_asks_sends_one_request_with_reason(rpc, serve, zot: Zot, flags: tuple[str, ...]) -> None:
    """issue 29.5: a hook's `ask` reaches the client in every mode, once, with its reason."""
    own(zot, PreToolUse=[entry(specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="look"))])
    serve([CallTools([("bash", {"command": "touch ran"})]), Say("ok")])
    client = rpc(*flags)
    client.ask("hello", capabilities=["approvals"])
    client.send("prompt", message="go")
    request = client.until("approval_request")
    assert request["reason"] == "look" and "prefix" not in request and not (zot.project / "ran").exists()
    client.ask("approve", request_id=request["request_id"], decision="once")
    client.until("done")
    assert client.types.count("approval_request") == 1 and (zot.project / "ran").exists()
