"""Plan mode with an end: printed without a user, decided by RPC clients and programs (issue 32.2)."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_questions import results, rpc
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say
from zot.client import Client, PlanDecision
from zot.sdk import PlanRequest, Runtime

__all__ = ["rpc"]

PLAN = "# Add a cache\n\n1. Change `a.py`"
PRESENT = CallTools([("present_plan", {"plan": PLAN})])
WRITE = CallTools([("write", {"path": "a.py", "content": "x = 1\n"})])
PLANNING = ("--permission-mode", "plan", "--permission-limit", "accept-edits")


def plans(zot: Zot) -> list[Path]:
    return sorted((zot.home / "zot" / "plans").glob("*.md"))


# --- no user


@pytest.mark.parametrize("mode", ["-p", "--stream"])
def test_plan_is_printed_without_a_user(zot: Zot, serve: Any, mode: str) -> None:
    """issue 32.2: headless, the plan is the answer; nothing is approved, and no further model call is made."""
    server = serve([PRESENT, Say("never")])
    ran = zot(mode, "--permission-mode", "plan", "go")
    assert (ran.code, ran.out, len(server.requests)) == (0, f"{PLAN}\n", 1)
    [file] = plans(zot)
    assert file.read_text() == f"{PLAN}\n" and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"plan saved in {file}; nothing was approved" in ran.err


def test_plan_is_an_event_of_json(zot: Zot, serve: Any) -> None:
    serve([PRESENT])
    ran = zot("--json", "--permission-mode", "plan", "go")
    assert {"type": "ext_display", "extension": "plan", "text": PLAN} in ran.events
    assert ran.events[-1] == {"type": "done", "reason": "end_turn", "exit_code": 0}


def test_tools_of_plan_mode_are_offered_there_only(zot: Zot, serve: Any) -> None:
    """issue 32.2: `present_plan` and `ask_user` are offered directly in plan mode."""
    server = serve([Say("a"), Say("b")])
    zot("-p", "--permission-mode", "plan", "go")
    zot("-p", "--permission-mode", "ask", "go")
    names = [{tool["name"] for tool in request.json["tools"]} for request in server.requests]
    assert {"present_plan", "ask_user"} <= names[0] and not {"present_plan", "ask_user"} & names[1]


@pytest.mark.parametrize(("plan", "reason"), [("", "the whole plan"), ("x" * 1_000_000, "at most 100,000 are allowed")])
def test_empty_and_huge_plans_go_back_to_the_model(zot: Zot, serve: Any, plan: str, reason: str) -> None:
    server = serve([CallTools([("present_plan", {"plan": plan})]), Say("ok")])
    assert zot("-p", "--permission-mode", "plan", "go").out == "ok\n"
    assert reason in results(server)[0] and plans(zot) == []


# --- RPC


def test_client_approves_and_the_mode_changes(zot: Zot, rpc: Any, serve: Any) -> None:
    server = serve([PRESENT, WRITE, Say("carried out")])
    client = rpc("plans", args=PLANNING)
    client.send("prompt", message="go")
    asked = client.until("plan_request")
    assert (asked["plan"], asked["modes"], asked["mode"]) == (PLAN, ["ask", "accept-edits"], "ask")
    id = asked["request_id"]
    assert "invalid mode" in client.ask("answer_plan", request_id=id, decision="approve", mode="everything")["error"]
    assert client.ask("answer_plan", request_id=id, decision="approve", mode="accept-edits")["success"]
    client.until("done")
    assert (zot.project / "a.py").exists()
    assert results(server)[0].startswith("the user approved the plan; the permission mode is now accept-edits.")
    assert client.ask("get_state")["data"]["permission_mode"] == "accept-edits"


def test_client_that_may_not_leave_plan_mode_is_not_asked(rpc: Any, serve: Any) -> None:
    """issue 32.2: without --permission-limit a client cannot widen the mode, so it cannot approve a plan."""
    server = serve([PRESENT, Say("the plan")])
    client = rpc("plans", "approvals", args=("--permission-mode", "plan"))
    client.prompt("go")
    assert "plan_request" not in client.types and "no user can approve a plan here" in results(server)[0]
    assert client.ask("get_state")["data"]["permission_mode"] == "plan"


def test_client_without_the_capability_is_not_asked(rpc: Any, serve: Any) -> None:
    serve([PRESENT, Say("the plan")])
    client = rpc("approvals", "questions", args=PLANNING)
    client.prompt("go")
    assert "plan_request" not in client.types
    assert not client.ask("answer_plan", request_id="plan-1", decision="approve")["success"]


def test_refusal_with_a_comment_goes_to_the_model(rpc: Any, serve: Any) -> None:
    server = serve([PRESENT, PRESENT, Say("never")])
    client = rpc("plans", args=PLANNING)
    client.send("prompt", message="go")
    id = client.until("plan_request")["request_id"]
    client.ask("answer_plan", request_id=id, decision="refuse", comment="use redis")
    second = client.until("plan_request")
    assert results(server)[0].endswith("The user says: use redis")
    client.ask("answer_plan", request_id=second["request_id"], decision="refuse")
    client.until("done")
    assert len(server.requests) == 2  # without a comment the user says next what to do


def test_edited_and_emptied_plans(zot: Zot, rpc: Any, serve: Any) -> None:
    """issue 32.2: a plan edited into nothing counts as refused; an edited one replaces the model's."""
    server = serve([PRESENT, PRESENT, Say("ok")])
    client = rpc("plans", args=PLANNING)
    client.send("prompt", message="go")
    id = client.until("plan_request")["request_id"]
    client.ask("answer_plan", request_id=id, decision="approve", plan=" \n")
    id = client.until("plan_request")["request_id"]
    assert "emptied the plan" in results(server)[0]
    client.ask("answer_plan", request_id=id, decision="approve", plan="# Other\n\nUse redis")
    client.until("done")
    assert results(server)[1].endswith("this text applies:\n\n# Other\n\nUse redis")
    [file] = plans(zot)
    assert file.read_text() == "# Other\n\nUse redis\n"


def test_fresh_context_is_a_new_session_with_the_plan(zot: Zot, rpc: Any, serve: Any) -> None:
    """issue 32.2: the new session begins with the plan and the files read; the old one is its parent."""
    (zot.project / "a.py").write_text("x = 0\n")
    read = CallTools([("read", {"path": "a.py"})])
    server = serve([read, PRESENT, Say("carried out")])
    first = zot.home / "s.jsonl"
    client = rpc("plans", args=(*PLANNING, "--session-file", str(first)))
    client.send("prompt", message="go")
    id = client.until("plan_request")["request_id"]
    client.ask("answer_plan", request_id=id, decision="approve", mode="ask", fresh=True)
    client.until("assistant_message", content=[{"type": "text", "text": "carried out"}])
    client.until("done")
    [message] = [message for message in server.requests[-1].json["messages"] if message["role"] == "user"]
    text = json.dumps(message["content"])
    assert "Carry out this plan" in text and "Add a cache" in text and "- a.py" in text and "x = 0" not in text
    old, new = (json.loads(path.read_text().splitlines()[0])["meta"] for path in (first, *zot.sessions))
    assert new["parent"] == old["id"]


def test_abort_closes_the_request(rpc: Any, serve: Any) -> None:
    serve([PRESENT, Say("never")])
    client = rpc("plans", args=PLANNING)
    client.send("prompt", message="go")
    client.until("plan_request")
    client.send("abort")
    client.until("request_closed")
    client.until("done")
    assert client.ask("get_state")["data"]["permission_mode"] == "plan"


# --- not the user


def test_extension_cannot_present_or_approve_a_plan(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """issue 32.2: a call of an extension is refused; no interceptor or extension switches the mode."""
    code = """
hello(); send(type="register_command", name="go", description="goes"); ready()
def run(f): send(type="command_response", id=f["id"], action="tool_prompt", prompt="x", tool_name="present_plan",
                 tool_args={"plan": "# p"})
serve(command_invoked=run)
"""
    server = serve([Say("ok")])
    extension = write_extension(tmp_path, "mine", code)
    ran = zot("-p", "--permission-mode", "plan", "--ext", str(extension), "/go")
    assert ran.out == "ok\n" and results(server) == ["present_plan: only the model can present a plan"]


def test_hook_of_claude_reads_the_plan(zot: Zot, serve: Any) -> None:
    """A hook for ExitPlanMode may refuse a plan; allowing it approves nothing."""
    hooks = {
        "PreToolUse": [{"matcher": "ExitPlanMode", "hooks": [{"type": "command", "command": "cat >> seen; exit 2"}]}]
    }
    (zot.home / "zot").mkdir(parents=True, exist_ok=True)
    (zot.home / "zot" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    serve([PRESENT, Say("ok")])
    assert zot("-p", "--permission-mode", "plan", "go").out == "ok\n"
    seen = json.loads((zot.project / "seen").read_text())
    assert seen["tool_name"] == "ExitPlanMode" and seen["tool_input"] == {"plan": PLAN}


# --- programs


async def test_program_decides_with_a_function(zot: Zot, serve: Any) -> None:
    server = serve([PRESENT, WRITE, Say("ok")])
    seen: list[PlanRequest] = []

    def decide(request: PlanRequest) -> PlanDecision:
        seen.append(request)
        return PlanDecision(True, mode="accept-edits")

    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "k", "cwd": zot.project}
    async with Runtime(home=zot.home / "zot", on_plan=decide, permission_mode="plan", **options) as runtime:
        assert await runtime.ask("go") == "ok" and runtime.permission_mode == "accept-edits"
    assert seen[0].plan == PLAN and (zot.project / "a.py").exists()


async def test_program_without_a_function_gets_the_plan_as_answer(zot: Zot, serve: Any) -> None:
    server = serve([PRESENT, Say(PLAN)])
    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "k", "cwd": zot.project}
    async with Runtime(home=zot.home / "zot", permission_mode="plan", **options) as runtime:
        assert await runtime.ask("go") == PLAN and runtime.permission_mode == "plan"


async def test_program_gets_the_answer_of_the_new_session(zot: Zot, serve: Any) -> None:
    server = serve([PRESENT, Say("carried out")])
    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "k", "cwd": zot.project}
    fresh = PlanDecision(True, fresh=True)
    async with Runtime(home=zot.home / "zot", permission_mode="plan", on_plan=lambda _: fresh, **options) as runtime:
        assert await runtime.ask("go") == "carried out" and len(runtime.messages()) == 2


async def test_python_client_decides_with_a_function(zot: Zot, serve: Any) -> None:
    serve([PRESENT, Say("ok")])
    args = [*PLANNING, *zot.endpoint(True)]
    async with Client(args=args, env=zot.env(), cwd=zot.project, on_plan=lambda request: True) as client:
        assert await client.ask("go") == "ok" and (await client.state()).permission_mode == "ask"
