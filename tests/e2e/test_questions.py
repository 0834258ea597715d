"""Questions of the model in modes without a screen: none there, RPC, the Python client, the SDK (issue 32.2)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.fakes.rpc_client import FakeRpcClient
from zot.client import Client
from zot.sdk import QuestionRequest, Runtime

TOOLS = ("--tools", "read,bash,ask_user,todo")
WHICH = {"question": "which?", "header": "DB", "options": [{"label": "a", "description": "the first"}, {"label": "b"}]}
ASK = ("ask_user", {"questions": [WHICH]})


def results(server: FakeModelServer) -> list[str]:
    """Texts of the tool results in the last request."""
    found: list[str] = []
    for message in server.requests[-1].json["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                content = block["content"]
                found.append(content if isinstance(content, str) else "".join(part["text"] for part in content))
    return found


@pytest.fixture
def rpc(zot: Zot) -> Iterator[Callable[..., FakeRpcClient]]:
    clients: list[FakeRpcClient] = []

    def start(*capabilities: str, args: tuple[str, ...] = TOOLS) -> FakeRpcClient:
        clients.append(FakeRpcClient(zot.argv(["rpc", *args, *zot.endpoint(True)]), zot.env(), zot.project))
        assert clients[-1].ask("hello", capabilities=list(capabilities))["success"]
        return clients[-1]

    yield start
    for client in clients:
        client.kill()


# --- no user


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
def test_without_a_user_the_model_decides(zot: Zot, serve: Any, mode: str) -> None:
    """issue 32.2: the tool answers at once and says what to do."""
    server = serve([CallTools([ASK]), Say("done it")])
    ran = zot(mode, *TOOLS, "go")
    assert ran.code == 0 and "done it" in ran.out
    assert results(server)[0].startswith("no user is present to answer. Decide yourself")


def test_model_finds_the_tool_by_name(zot: Zot, serve: Any) -> None:
    """issue 32.2: outside plan mode only its name is in the request; it is described once the model asks."""
    server = serve([CallTools([("more_tools", {"names": ["ask_user"]})]), CallTools([ASK]), Say("ok")])
    assert zot("-p", "go").out == "ok\n"
    tools = [{tool["name"]: tool for tool in request.json["tools"]} for request in server.requests]
    assert "ask_user" not in tools[0] and "ask_user" in tools[0]["more_tools"]["description"]
    assert "options" in json.dumps(tools[1]["ask_user"]) and "no user is present" in results(server)[-1]


def test_wrong_questions_are_errors_for_the_model(zot: Zot, serve: Any) -> None:
    many = {"questions": [{**WHICH, "options": [{"label": str(n)} for n in range(50)]}]}
    server = serve([CallTools([("ask_user", many), ("ask_user", {})]), Say("ok")])
    assert zot("-p", *TOOLS, "go").code == 0
    assert "50 options; expected 2 to 6" in results(server)[0] and "a list of 1 to 4" in results(server)[1]


def test_extension_cannot_ask_in_the_models_name(zot: Zot, serve: Any, tmp_path: Path) -> None:
    code = """
hello(); send(type="register_command", name="go", description="goes"); ready()
def run(f): send(type="command_response", id=f["id"], action="tool_prompt", prompt="x", tool_name="ask_user",
                 tool_args={"questions": ["who?"]})
serve(command_invoked=run)
"""
    server = serve([Say("ok")])
    extension = write_extension(tmp_path, "mine", code)
    assert zot("-p", *TOOLS, "--ext", str(extension), "/go").code == 0
    assert results(server) == ["ask_user: only the model can call it; extensions have `ui.ask`"]


# --- RPC


def test_client_answers_a_question(rpc: Any, serve: Any) -> None:
    server = serve([CallTools([ASK]), Say("ok")])
    client = rpc("questions")
    client.send("prompt", message="go")
    asked = client.until("question_request")
    assert asked["questions"] == [WHICH] and asked["tool_id"]
    id = asked["request_id"]
    assert "expected 1 lists" in client.ask("answer_questions", request_id=id, answers=[])["error"]
    assert "allows one answer" in client.ask("answer_questions", request_id=id, answers=[["a", "b"]])["error"]
    assert client.ask("answer_questions", request_id=id, answers=[["b"]])["success"]
    client.until("request_closed", request_id=id)
    client.until("done")
    assert results(server) == ["the user answered:\n- which? → b"]
    assert "no question request" in client.ask("answer_questions", request_id=id, answers=[["b"]])["error"]


def test_client_declines_with_a_comment(rpc: Any, serve: Any) -> None:
    server = serve([CallTools([ASK]), Say("ok")])
    client = rpc("questions")
    client.send("prompt", message="go")
    id = client.until("question_request")["request_id"]
    assert client.ask("answer_questions", request_id=id, declined=True, comment="later")["success"]
    client.until("done")
    assert results(server)[0].startswith("the user declined to answer: later.")


def test_client_without_the_capability_is_not_asked(rpc: Any, serve: Any) -> None:
    server = serve([CallTools([ASK]), Say("ok")])
    client = rpc("approvals")
    client.prompt("go")
    assert "question_request" not in client.types and "no user is present" in results(server)[0]
    assert "questions" in client.ask("answer_questions", request_id="question-1", answers=[["b"]])["error"]


def test_abort_closes_the_question(rpc: Any, serve: Any) -> None:
    """issue 32.2: abort works while the user is asked, and the client reads that the question is over."""
    serve([CallTools([ASK]), Say("never")])
    client = rpc("questions")
    client.send("prompt", message="go")
    id = client.until("question_request")["request_id"]
    started = time.monotonic()
    client.send("abort")
    client.until("request_closed", request_id=id)
    client.until("done")
    assert time.monotonic() - started < 5


def test_unanswered_question_ends_after_its_time(zot: Zot, rpc: Any, serve: Any) -> None:
    """issue 32.2: a question nobody answers, with the setting `question_timeout_s`."""
    (zot.home / "zot").mkdir(parents=True, exist_ok=True)
    (zot.home / "zot" / "config.json").write_text('{"question_timeout_s": 0.5}')
    server = serve([CallTools([ASK]), Say("ok")])
    client = rpc("questions")
    client.send("prompt", message="go")
    client.until("question_request")
    client.until("request_closed")
    client.until("done")
    assert "did not answer within 0.5 s" in results(server)[0]


def test_vanished_client_ends_the_question(rpc: Any, serve: Any) -> None:
    serve([CallTools([ASK]), Say("ok")])
    client = rpc("questions")
    client.send("prompt", message="go")
    client.until("question_request")
    assert client.close() == 0


def test_two_calls_ask_one_after_the_other(rpc: Any, serve: Any) -> None:
    """issue 32.2: two calls in one message; the second question follows the first answer."""
    server = serve([CallTools([ASK, ("ask_user", {"questions": ["name?"]})]), Say("ok")])
    client = rpc("questions")
    client.send("prompt", message="go")
    for answer in ("a", "zot"):
        id = client.until("question_request")["request_id"]
        assert client.ask("answer_questions", request_id=id, answers=[[answer]])["success"]
    client.until("done")
    assert [text.rpartition(" ")[2] for text in results(server)] == ["a", "zot"]


# --- programs


async def test_program_answers_with_a_function(zot: Zot, serve: Any) -> None:
    server = serve([CallTools([ASK]), Say("ok"), CallTools([ASK]), Say("ok")])
    seen: list[QuestionRequest] = []

    def answer(request: QuestionRequest) -> list[str] | None:
        seen.append(request)
        return ["b"] if len(seen) == 1 else None

    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "k", "cwd": zot.project}
    tools = ["read", "ask_user"]
    async with Runtime(home=zot.home / "zot", on_ask_user=answer, allowed_tools=tools, **options) as runtime:
        assert await runtime.ask("go") == "ok" and results(server)[-1].endswith("which? → b")
        assert await runtime.ask("go") == "ok" and results(server)[-1].startswith("the user declined")
    assert seen[0].questions[0].options[0].description == "the first"


@pytest.mark.parametrize(
    ("answers", "expected"), [([["a"]], "which? → a"), ([], "the user declined to answer: answers:")]
)
async def test_python_client_answers_with_a_function(zot: Zot, serve: Any, answers: Any, expected: str) -> None:
    """Answers that do not fit decline, so that the model does not wait."""
    server = serve([CallTools([ASK]), Say("ok")])
    args = [*TOOLS, *zot.endpoint(True)]
    env = zot.env()
    async with Client(args=args, env=env, cwd=zot.project, on_ask_user=lambda request: answers) as client:
        assert await client.ask("go") == "ok"
    assert expected in results(server)[0]
