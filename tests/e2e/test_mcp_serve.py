"""``zot mcp serve`` over stdio: another agent gives zot tasks, within what was fixed when the server started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.mcp_client import META, FakeMcpClient
from tests.fakes.model_server import Say

TOUCH = {"turns": [{"tool_calls": [{"name": "bash", "args": {"command": "touch made"}}]}, {"text": "done"}]}
FORMS = {"elicitation": {"form": {}}}
BOTH = pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])


def client(zot: Zot, script: Any, *args: str, **options: Any) -> FakeMcpClient:
    file = zot.home / "script.json"
    file.write_text(json.dumps(script))
    argv = zot.argv(["mcp", "serve", "--provider", "script", "--script", str(file), *args])
    return FakeMcpClient(argv, zot.env(), zot.project, **options)


def decide(decision: str) -> Any:
    return lambda method, params: {"action": "accept", "content": {"decision": decision}}


def running(command: str) -> list[int]:
    """Processes with this command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if command.encode() == b" ".join(words).strip():
            found.append(int(entry.name))
    return found


def wait_for(what: Any, seconds: float = 15.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


@BOTH
def test_a_prompt_and_its_continuation_are_one_session(zot: Zot, version: str) -> None:
    """issue 33.3: prompt and continue return the answer, the session, changed files and cost, with progress."""
    turns = [{"tool_calls": [{"name": "write", "args": {"path": "a.txt", "content": "1\n2\n"}}]}, {"text": "written"}]
    with client(zot, {"turns": turns, "repeat": True}, "--permission-mode", "everything", version=version) as other:
        first = other.call("prompt", {"progressToken": "p1"}, text="write it")["structuredContent"]
        assert first["answer"] == "written" and first["stop"] == "end" and first["steps"] == 2
        assert [(Path(row["path"]).name, row["added"]) for row in first["changed_files"]] == [("a.txt", 2)]
        told = [note["params"] for note in other.notes]
        assert [each["message"] for each in told] == ["step 1", "write a.txt", "step 2"]
        assert {each["progressToken"] for each in told} == {"p1"}
        assert [each["progress"] for each in told] == sorted({each["progress"] for each in told})
        second = other.call("continue", session=first["session_id"], text="again")["structuredContent"]
        assert second["session_id"] == first["session_id"]
        listed = other.call("sessions_list")["structuredContent"]["sessions"]
        assert [row["session_id"] for row in listed] == [first["session_id"]]
        page = other.call("session_read", session=first["session_id"], limit=2)["structuredContent"]
        assert page["entries"][0]["text"] == "write it" and page["next_offset"] == 2
        uri = other.request("resources/list")["resources"][0]["uri"]
        assert "written" in other.request("resources/read", uri=uri)["contents"][0]["text"]
        assert other.close() == 0


def test_it_only_reads_unless_a_mode_was_given(zot: Zot) -> None:
    with client(zot, TOUCH, capabilities=FORMS, answers=decide("allow")) as other:
        other.call("prompt", text="touch it")
        assert other.asked == []
    assert not (zot.project / "made").exists()


def test_a_limit_is_narrower_than_the_mode(zot: Zot) -> None:
    with client(zot, TOUCH, "--permission-mode", "everything", "--permission-limit", "plan") as other:
        assert "not change" in other.request("tools/list")["tools"][0]["description"]
        other.call("prompt", text="touch it")
    assert not (zot.project / "made").exists()


def test_a_session_with_more_rights_gets_those_of_the_server(zot: Zot) -> None:
    file = zot.home / "first.json"
    file.write_text(json.dumps({"turns": [{"text": "hello"}]}))
    assert zot("-p", "hi", "--provider", "script", "--script", str(file), "--permission-mode", "everything").code == 0
    with client(zot, TOUCH) as other:
        (session,) = other.call("sessions_list")["structuredContent"]["sessions"]
        other.call("continue", session=session["session_id"], text="touch it")
    assert not (zot.project / "made").exists()


@BOTH
@pytest.mark.parametrize(("decision", "made"), [("allow", True), ("deny", False)])
def test_the_user_of_the_client_approves(zot: Zot, version: str, decision: str, made: bool) -> None:
    options = {"version": version, "capabilities": FORMS, "answers": decide(decision)}
    with client(zot, TOUCH, "--permission-mode", "ask", **options) as other:
        other.call("prompt", text="touch it")
        assert [question["params"]["message"] for question in other.asked] == ["zot wants to run bash: touch made"]
    assert (zot.project / "made").exists() is made


@pytest.mark.parametrize(
    ("capabilities", "answer", "reason"),
    [
        ({}, {"action": "accept", "content": {"decision": "allow"}}, "has no forms (elicitation)"),
        ({"elicitation": {"url": {}}}, {"action": "accept", "content": {"decision": "allow"}}, "has no forms"),
        (FORMS, {"error": {"code": -1, "message": "no window"}}, "could not ask: no window"),
        (FORMS, {"action": "accept"}, "denied by the user"),
        (FORMS, {"action": "accept", "content": {"decision": True}}, "denied by the user"),
        (FORMS, {"action": "accept", "content": "allow"}, "denied by the user"),
        (FORMS, {"action": "decline", "content": {"decision": "allow"}}, "denied by the user"),
    ],
)
def test_what_is_not_an_approval_denies(zot: Zot, capabilities: Any, answer: Any, reason: str) -> None:
    """issue 33.3: a client that cannot ask, or lies about it, gets a denial with its reason."""
    options = {"capabilities": capabilities, "answers": lambda method, params: answer}
    with client(zot, TOUCH, "--permission-mode", "ask", **options) as other:
        session = other.call("prompt", text="touch it")["structuredContent"]["session_id"]
        page = other.call("session_read", session=session)["structuredContent"]
    assert reason in "".join(entry["text"] for entry in page["entries"])
    assert not (zot.project / "made").exists()


ASKED = {
    "turns": [
        {
            "tool_calls": [
                {
                    "name": "ask_user",
                    "args": {
                        "questions": [
                            {
                                "question": "Which one?",
                                "options": [{"label": "A", "description": "slow"}, {"label": "B"}],
                            },
                            {
                                "question": "Which of these?",
                                "multiple": True,
                                "options": [{"label": "C"}, {"label": "D"}],
                            },
                            {"question": "What name?"},
                        ]
                    },
                }
            ]
        },
        {"text": "done"},
    ]
}


@BOTH
def test_questions_of_the_model_are_forms(zot: Zot, version: str) -> None:
    """issue 33.3: `ask_user` asks the user of the client."""
    values = {"answer0": "B", "answer1_0": True, "answer1_1": False, "answer1_2": True, "answer2": "Ada"}

    def answers(method: str, params: Any) -> Any:
        own = "your own answer" in params["message"]
        return {"action": "accept", "content": {"answer1": "E"} if own else values}

    with client(zot, ASKED, version=version, capabilities=FORMS, answers=answers) as other:
        session = other.call("prompt", text="ask")["structuredContent"]["session_id"]
        form = other.asked[0]["params"]
        assert "Which one?" in form["message"] and "\n- A: slow\n" in form["message"]
        assert form["requestedSchema"]["properties"]["answer0"]["enum"] == ["A", "B", "something else"]
        said = json.dumps(other.call("session_read", session=session)["structuredContent"], ensure_ascii=False)
    assert "Which one? → B" in said and "What name? → Ada" in said
    assert "Which of these? → C; E (the user's own words)" in said


@pytest.mark.parametrize(
    ("capabilities", "answer", "reason"),
    [
        ({}, None, "no user is present to answer"),
        (FORMS, {"action": "decline"}, "the user declined to answer"),
        (FORMS, {"action": "accept", "content": {"answer0": 3, "answer1_0": "yes"}}, "Which one? → (no answer)"),
    ],
)
def test_questions_without_answers_go_on(zot: Zot, capabilities: Any, answer: Any, reason: str) -> None:
    with client(zot, ASKED, capabilities=capabilities, answers=lambda method, params: answer) as other:
        done = other.call("prompt", text="ask")["structuredContent"]
        said = json.dumps(
            other.call("session_read", session=done["session_id"])["structuredContent"], ensure_ascii=False
        )
    assert done["answer"] == "done" and reason in said


PLANNED = {
    "turns": [
        {"tool_calls": [{"name": "present_plan", "args": {"plan": "1. Do it"}}]},
        {"tool_calls": [{"name": "bash", "args": {"command": "touch made"}}]},
        {"text": "done"},
    ]
}


@BOTH
def test_plan_is_approved_up_to_a_named_limit(zot: Zot, version: str) -> None:
    """A limit that the starter names can be reached by the user's approval of a plan, and not beyond it."""
    flags = ("--permission-mode", "plan", "--permission-limit", "everything")
    with client(zot, PLANNED, *flags, version=version, capabilities=FORMS, answers=decide("everything")) as other:
        other.call("prompt", text="plan it")
        form = other.asked[0]["params"]
    assert "1. Do it" in form["message"] and (zot.project / "made").exists()
    assert form["requestedSchema"]["properties"]["decision"]["enum"] == ["ask", "accept-edits", "everything", "refuse"]


@pytest.mark.parametrize(
    ("flags", "decision"),
    [
        ((), "everything"),
        (("--permission-mode", "plan"), "everything"),
        (("--permission-limit", "accept-edits"), "everything"),
        (("--permission-limit", "everything"), "refuse"),
    ],
)
def test_plan_is_not_approved_beyond_the_limit(zot: Zot, flags: tuple[str, ...], decision: str) -> None:
    with client(zot, PLANNED, *flags, capabilities=FORMS, answers=decide(decision)) as other:
        other.call("prompt", text="plan it")
    assert not (zot.project / "made").exists()


def test_mistakes_are_answers_that_say_what_to_do(zot: Zot) -> None:
    (zot.project / "out").symlink_to(zot.home)
    with client(zot, TOUCH, "--model", "fixed") as other:
        assert other.refused("prompt", text="  ") == "text: it is empty"
        assert "outside" in other.refused("prompt", text="x", cwd="..")
        assert "outside" in other.refused("prompt", text="x", cwd="/")
        assert "outside" in other.refused("prompt", text="x", cwd="out")
        assert "no directory" in other.refused("prompt", text="x", cwd="missing")
        assert "sessions_list" in other.refused("prompt", text="x", session="0000")
        assert "sessions_list" in other.refused("continue", text="x", session="../../etc")
        assert "fixed only" in other.refused("prompt", text="x", model="dearer")
        assert "expected text, cwd, model, session" in other.refused("prompt", text="x", permission_mode="everything")
        assert "from 1 to 100" in other.refused("sessions_list", limit=0)
        assert "expected an object" in other.request("tools/call", name="prompt", arguments=[])["content"][0]["text"]
        answer = other.finish(other.begin("tools/call", name="rm", arguments={}))
        assert answer["error"]["code"] == -32602 and "prompt, continue" in answer["error"]["message"]
        answer = other.finish(other.begin("resources/read", uri="zot://session/none"))
        assert answer["error"]["code"] == -32002
        assert other.finish(other.begin("no/such"))["error"]["code"] == -32601
        assert other.close() == 0


def test_without_a_credential_the_answer_names_the_login(zot: Zot) -> None:
    argv = zot.argv(["mcp", "serve", "--provider", "anthropic"])
    with FakeMcpClient(argv, zot.env(), zot.project) as other:
        assert "`zot auth login`" in other.refused("prompt", text="x")


def test_malformed_messages_are_answered_and_an_oversize_one_ends_it(zot: Zot) -> None:
    with client(zot, TOUCH) as other:
        for line, code in (
            (b"{", -32700),
            (b"[]", -32600),
            (b'{"id": {}, "method": "ping"}', -32600),
            (b"\xff", -32700),
        ):
            other.write(line + b"\n")
            message = other.read()
            assert message is not None and message["error"]["code"] == code, message
        other.write(b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n')
        assert (other.read() or {})["error"]["code"] == -32600
        other.write(b"[" * 100_000 + b"\n")
        assert (other.read() or {})["error"]["code"] in (-32700, -32600)
        assert other.request("ping") == {}
        with suppress(BrokenPipeError):
            other.write(b"x" * (33 << 20))
        message = other.read()
        assert message is not None and "longer than 32 MiB" in message["error"]["message"]
        assert other.process.wait(10) == 1


def test_an_id_in_use_is_refused_and_the_first_request_goes_on(zot: Zot) -> None:
    with client(zot, {"turns": [{"text": "slow answer"}], "delay_ms": 300}) as other:
        id = other.begin("tools/call", name="prompt", arguments={"text": "x"})
        other.send({"id": id, "method": "ping"})
        message = other.read()
        assert message is not None and "another request has it" in message["error"]["message"]
        assert other.finish(id)["result"]["structuredContent"]["answer"] == "slow answer"


LONG = f"sleep 7531.{os.getpid()}"  # tests also run side by side
SLEEP = {"turns": [{"tool_calls": [{"name": "bash", "args": {"command": LONG}}]}, {"text": "woke"}]}


@pytest.mark.parametrize("how", ["close", "term", "ask"])
def test_a_client_that_vanishes_leaves_a_whole_session_and_no_process(zot: Zot, how: str) -> None:
    """issue 33.3: also while its user is asked."""
    mode = "ask" if how == "ask" else "everything"
    with client(zot, SLEEP, "--permission-mode", mode, capabilities=FORMS) as other:
        other.begin("tools/call", name="prompt", arguments={"text": "sleep"})
        if how == "ask":
            assert (other.read() or {})["method"] == "elicitation/create"
        else:
            wait_for(lambda: running(LONG))
        began = time.monotonic()
        if how == "term":
            other.process.send_signal(signal.SIGTERM)
        assert other.process.stdin is not None
        other.process.stdin.close()
        assert other.process.wait(5) == (143 if how == "term" else 0)
        assert time.monotonic() - began < 2 and not running(LONG)
    assert "sleep" in zot("sessions").out
    file = zot.home / "again.json"
    file.write_text(json.dumps({"turns": [{"text": "whole"}]}))
    assert zot("-p", "-c", "--provider", "script", "--script", str(file), "go on").out == "whole\n"


def test_a_cancelled_call_gets_no_answer_and_frees_its_session(zot: Zot) -> None:
    with client(zot, {**SLEEP, "repeat": True}, "--permission-mode", "everything") as other:
        id = other.begin("tools/call", name="prompt", arguments={"text": "sleep"})
        wait_for(lambda: running(LONG))
        for _ in range(2):  # twice does no harm
            other.notify("notifications/cancelled", requestId=id, reason="enough")
        wait_for(lambda: not running(LONG), 2)
        (session,) = other.call("sessions_list")["structuredContent"]["sessions"]
        id = other.begin("tools/call", name="continue", arguments={"session": session["session_id"], "text": "more"})
        wait_for(lambda: running(LONG))
        other.notify("notifications/cancelled", requestId=id)
        assert other.request("ping") == {}


def test_several_calls_run_at_once_up_to_a_limit(zot: Zot) -> None:
    command = "touch $$.started; while [ ! -e go ]; do sleep 0.05; done"
    turns = [{"tool_calls": [{"name": "bash", "args": {"command": command}}]}, {"text": "went"}]
    with client(zot, {"turns": turns}, "--permission-mode", "everything") as other:
        token = {"progressToken": "t"}
        ids = [other.begin("tools/call", token, name="prompt", arguments={"text": f"{n}"}) for n in range(6)]
        wait_for(lambda: len(list(zot.project.glob("*.started"))) == 4)
        time.sleep(0.5)
        assert len(list(zot.project.glob("*.started"))) == 4
        (zot.project / "go").touch()
        answers = {}
        while len(answers) < len(ids):
            message = other.read()
            assert message is not None
            if "id" in message:
                answers[message["id"]] = message["result"]["structuredContent"]
            else:
                other.notes.append(message)
        assert [answers[id]["answer"] for id in ids] == ["went"] * 6
        assert len({answer["session_id"] for answer in answers.values()}) == 6
        assert sum(note["params"]["message"] == "waiting for other calls" for note in other.notes) == 2


def test_one_session_is_used_by_one_call_at_a_time(zot: Zot) -> None:
    with client(zot, {"turns": [{"text": "slow slow slow"}], "delay_ms": 300}) as other:
        session = other.call("prompt", text="x")["structuredContent"]["session_id"]
        first = other.begin("tools/call", name="continue", arguments={"session": session, "text": "a"})
        second = other.begin("tools/call", name="continue", arguments={"session": session, "text": "b"})
        answers = {}
        while len(answers) < 2:
            message = other.read()
            assert message is not None
            answers[message["id"]] = message["result"]
        failed = [answers[id] for id in (first, second) if answers[id].get("isError")]
        assert len(failed) == 1 and "in use" in failed[0]["content"][0]["text"]


def test_a_text_is_no_slash_command_and_no_template(zot: Zot) -> None:
    templates = zot.home / "zot" / "templates"
    templates.mkdir(parents=True)
    (templates / "leak.md").write_text("secret template $ARGUMENTS\n")
    with client(zot, {"turns": [{"text": "ok"}], "repeat": True}) as other:
        session = other.call("prompt", text="/leak @/etc/passwd")["structuredContent"]["session_id"]
        page = json.dumps(other.call("session_read", session=session))
        assert "secret template" not in page and "root:" not in page and "/leak @/etc/passwd" in page


def test_a_worker_of_the_swarm_answers(zot: Zot) -> None:
    with client(zot, {"turns": [{"text": "from the worker"}]}) as other:
        result = other.call("swarm_run", {"progressToken": 1}, task="say it")
        assert result["structuredContent"]["answer"] == "from the worker", result
        assert other.notes
    zot("swarm", "stop", "--all")


def test_a_stateless_client_cannot_forge_or_reuse_a_state(zot: Zot) -> None:
    options = {"version": "2026-07-28", "capabilities": FORMS}
    with client(zot, TOUCH, "--permission-mode", "ask", **options) as other:
        asked = {"name": "prompt", "arguments": {"text": "touch it"}}
        result = other.finish(other.begin("tools/call", **asked))["result"]
        (key,) = result["inputRequests"]
        allow = {key: {"action": "accept", "content": {"decision": "allow"}}}
        for state in (result["requestState"] + "x", "", 7):
            answer = other.finish(other.begin("tools/call", **asked, requestState=state, inputResponses=allow))
            assert answer["error"]["code"] == -32602
        other_tool = {"name": "continue", "arguments": {}}
        given = {"requestState": result["requestState"], "inputResponses": allow}
        assert "error" in other.finish(other.begin("tools/call", **other_tool, **given))
        assert not (zot.project / "made").exists()
        assert other.finish(other.begin("tools/call", **asked, **given))["result"]["resultType"] == "complete"
        assert "error" in other.finish(other.begin("tools/call", **asked, **given))
    assert (zot.project / "made").exists()


def test_it_does_not_start_inside_itself(zot: Zot) -> None:
    zot.environment["ZOT_MCP_SERVE"] = "1"
    ran = zot("mcp", "serve", stdin="")
    assert ran.code == 1 and "started by itself" in ran.err and ran.out == ""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--http", "0.0.0.0:0"), "--token"),
        (("--http", "x"), "expected PORT or HOST:PORT"),
        (("--http",), "needs a value"),
        (("--token",), "only with --http"),
        (("--session", "1"), "clients name one"),
        (("hello",), "clients send the prompts"),
        (("--permission-mode", "wild"), "expected one of"),
        (("--nope",), "unknown flag"),
        (("--cwd", "/no/such"), "not a directory"),
    ],
)
def test_mistakes_at_the_start_are_one_line(zot: Zot, args: tuple[str, ...], said: str) -> None:
    ran = zot("mcp", "serve", *args, stdin="")
    assert ran.code in (1, 2) and said in ran.err and ran.out == "" and len(ran.err.splitlines()) == 1, ran.err


def test_zot_is_a_client_of_zot(zot: Zot) -> None:
    """issue 33.3: another zot delegates."""
    file = zot.home / "inner.json"
    file.write_text(json.dumps({"turns": [{"text": "from the inner zot"}]}))
    inner = zot.argv(["mcp", "serve", "--provider", "script", "--script", str(file)])
    assert zot("mcp", "add", "--env", f"ZOT_HOME={zot.home / 'inner'}", "other", "--", *inner).code == 0
    tested = zot("mcp", "test", "other")
    assert tested.code == 0 and "2026-07-28" in tested.out and "prompt:" in tested.out, tested.err
    outer = zot.home / "outer.json"
    call = {"name": "mcp__other__prompt", "args": {"text": "hello"}}
    found = {"name": "mcp_search", "args": {"query": "prompt"}}
    outer.write_text(json.dumps({"turns": [{"tool_calls": [found]}, {"tool_calls": [call]}, {"text": "done"}]}))
    ran = zot("--json", "hi", "--provider", "script", "--script", str(outer))
    assert ran.code == 0 and "from the inner zot" in ran.out, ran.err + ran.out[-2000:]


def test_facts_of_a_stateless_client_are_required(zot: Zot) -> None:
    with client(zot, TOUCH, version="2026-07-28") as other:
        found = other.request("server/discover")
        assert found["supportedVersions"] == ["2026-07-28"] and "tools" in found["capabilities"]
        for meta, code in (
            ({f"{META}protocolVersion": "2099-01-01"}, -32022),
            ({f"{META}clientCapabilities": None}, -32602),
            ({f"{META}protocolVersion": 3}, -32602),
        ):
            assert other.finish(other.begin("tools/list", meta))["error"]["code"] == code
        assert other.finish(other.begin("initialize"))["error"]["code"] == -32601
        assert os.path.exists(zot.project)


def test_a_cost_limit_holds_for_all_calls_together(zot: Zot, serve: Any) -> None:
    """issue 33.3: no number of calls at once, new or continued, spends more than one conversation could."""
    dear = (100_000, 10_000)  # $0.45 with claude-sonnet-4-5
    zot.model_id = "claude-sonnet-4-5"
    server = serve([Say("answer", usage=dear)], repeat=True)
    argv = zot.argv(["mcp", "serve", "--max-cost", "1", *zot.endpoint(True)])
    with FakeMcpClient(argv, zot.env(), zot.project) as other:
        ids = [other.begin("tools/call", name="prompt", arguments={"text": f"{n}"}) for n in range(6)]
        answers = [other.finish(id)["result"] for id in ids]
        assert sum(request.method == "POST" for request in server.requests) == 3
        assert [bool(answer.get("isError")) for answer in answers] == [False] * 3 + [True] * 3
        assert "cost limit of $1 reached ($1.3500 spent)" in answers[-1]["content"][0]["text"]
        session = answers[0]["structuredContent"]["session_id"]
        assert "cost limit" in other.refused("continue", session=session, text="more")
        assert "cost limit" in other.refused("swarm_run", task="more")


def test_piped_requests_are_answered_before_it_ends(zot: Zot) -> None:
    requests = [{"id": 1, "method": "initialize", "params": {}}, {"id": 2, "method": "tools/list"}]
    ran = zot("mcp", "serve", stdin="".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in requests))
    assert ran.code == 0 and [json.loads(line)["id"] for line in ran.out.splitlines()] == [1, 2]


def test_a_worker_ends_with_the_client_that_started_it(zot: Zot) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=zot.project, env=zot.env(), check=True)
    with client(zot, SLEEP, "--permission-mode", "everything", "--tools", "bash") as other:
        other.begin("tools/call", {"progressToken": 1}, name="swarm_run", arguments={"task": "sleep"})
        wait_for(lambda: running(LONG) or other.process.poll() is not None)
        began = time.monotonic()
        assert other.process.stdin is not None
        other.process.stdin.close()
        assert other.process.wait(5) == 0 and time.monotonic() - began < 3
        wait_for(lambda: not running(LONG), 2)
    zot("swarm", "stop", "--all")
