"""Models that cannot call tools, held by a grammar: to everything above the provider they are models like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.extension_kit import BROKEN, install
from tests.e2e.conftest import Zot
from tests.fakes.model_server import Refuse, Say
from tests.fakes.rpc_client import FakeRpcClient

ANSWER = Say('{"tool": "final", "answer": "Done."}')
GUARD = Path(__file__).parents[2] / "examples" / "extensions" / "guard"
FREE = ("--permission-mode", "everything")


def entry(**changes: Any) -> dict[str, Any]:
    return {"baseUrl": "http://127.0.0.1:9/v1", "auth": "none", "models": [{"id": "tiny"}], **changes}


def run(zot: Zot, *args: str, model: str = "tiny", **changes: Any) -> Any:
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": entry(**changes)}}))
    return zot(*args, "--provider", "mine", "--model", model)


@pytest.mark.parametrize(
    "changes",
    [
        {"tool_calls": "grammar"},
        {"toolCalls": "grammar"},
        {"api": "grammar"},
        {"models": [{"id": "tiny", "tool_calls": "grammar"}]},
    ],
)
def test_models_json_selects_grammar_models(zot: Zot, serve, changes: dict[str, Any]) -> None:
    server = serve([ANSWER])
    ran = run(zot, "-p", "hello", *FREE, **changes)
    assert (ran.code, ran.out, ran.err) == (0, "Done.\n", "")
    sent = server.requests[0].json
    assert "tools" not in sent and sent["grammar"].startswith("root ::= ")


def test_grammar_action_is_a_tool_call_with_text_result(zot: Zot, serve) -> None:
    action = '{"tool": "write", "path": "a.py"}\n```python\nx = 1\n```'
    server = serve([Say(action), ANSWER])
    ran = run(zot, "--json", "Go on with a.py.", *FREE, tool_calls="grammar")
    assert (zot.project / "a.py").read_text() == "x = 1\n"
    calls = [event for event in ran.events if event["type"] == "tool_call"]
    assert [(call["name"], call["args"]) for call in calls] == [("write", {"path": "a.py", "content": "x = 1\n"})]
    first, second = server.requests[0].json["messages"], server.requests[1].json["messages"]
    assert second[: len(first)] == first  # the server's cache holds
    assert second[len(first)] == {"role": "assistant", "content": action}


def test_file_content_is_requested_in_separate_prompt(zot: Zot, serve) -> None:
    (zot.project / "a.py").write_text("x = 1\n")
    read = Say('{"tool": "read", "path": "a.py"}')
    server = serve([read, Say("```python\nx = 2\n```"), Say("I changed x.")])
    ran = run(zot, "--json", "Set x in a.py to 2.", *FREE, tool_calls="grammar")
    assert (zot.project / "a.py").read_text() == "x = 2\n"
    calls = [(event["name"], event["args"]) for event in ran.events if event["type"] == "tool_call"]
    assert calls == [("read", {"path": "a.py"}), ("write", {"path": "a.py", "content": "x = 2\n"})]
    _, asked = server.requests[1].json["messages"]
    assert asked["content"].startswith("a.py:\n```\nx = 1\n```\n\nSet x in a.py to 2.")
    assert ran.events[-1]["type"] == "done" and ran.events[-1]["reason"] == "end_turn"


def test_grammar_model_gets_short_prompt_search_tools_and_files(zot: Zot, serve) -> None:
    (zot.project / "src").mkdir()
    (zot.project / "src" / "main.c").write_text("")
    (zot.project / "AGENTS.md").write_text("Be kind.\n" + "x" * 5000)
    server = serve([ANSWER])
    run(zot, "-p", "hello", *FREE, tool_calls="grammar")
    system = server.requests[0].json["messages"][0]["content"]
    assert "Files: AGENTS.md, src/main.c" in system and "Be kind." in system and len(system) < 4000
    for tool in ("read", "write", "edit", "bash", "glob", "grep"):
        assert f'{{"tool": "{tool}"' in system


def test_models_json_mistake_is_reported(zot: Zot, serve) -> None:
    serve([ANSWER], repeat=True)
    ran = run(zot, "-p", "hello", *FREE, models=[{"id": "tiny", "tool_calls": "magic"}])
    assert "providers.mine.models[0]: toolCalls: invalid enum value 'magic'" in ran.err


# --- extensions


def test_extension_tools_are_grammar_actions(zot: Zot, serve, tmp_path: Path) -> None:
    sample = install(BROKEN / "good.py", tmp_path / "sample")
    server = serve([Say('{"tool": "echo"}\n```\none two\n```'), ANSWER])
    ran = run(zot, "--json", "Echo it.", *FREE, "--ext", str(sample), tool_calls="grammar")
    assert ran.code == 0, ran.err
    [call] = [event for event in ran.events if event["type"] == "tool_call"]
    [result] = [event for event in ran.events if event["type"] == "tool_result"]
    assert (call["name"], call["args"]["text"].strip()) == ("echo", "one two") and not result["is_error"]
    first, second = (request.json for request in server.requests)
    assert "echo" in first["grammar"] and '{"tool": "echo"} + block text' in first["messages"][0]["content"]
    assert "one two" in second["messages"][-1]["content"]


def test_guard_denies_calls_of_grammar_model(zot: Zot, serve) -> None:
    (zot.project / "kept").mkdir()
    server = serve([Say('{"tool": "bash", "command": "rm -rf kept"}'), ANSWER])
    ran = run(zot, "--json", "Remove it.", *FREE, "--ext", str(GUARD), tool_calls="grammar")
    assert ran.code == 0, ran.err
    [result] = [event for event in ran.events if event["type"] == "tool_result"]
    assert result["is_error"] and (zot.project / "kept").is_dir()
    assert len(server.requests) == 2


# --- another model in mid-session


LOOK = Say('{"tool": "bash", "command": "echo looked > looked"}')


def rpc(zot: Zot, server: Any, model: str, *args: str) -> FakeRpcClient:
    both = {"baseUrl": f"{server.url}/v1", "models": [{"id": "large"}, {"id": "tiny", "tool_calls": "grammar"}]}
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": entry(**both)}}))
    argv = zot.argv(["rpc", "--provider", "mine", "--model", model, *args])
    client = FakeRpcClient(argv, zot.env(), zot.project)
    client.ask("hello", capabilities=["approvals"])
    return client


def calls_of(server: Any) -> list[Any]:
    """Without the questions for its list of models."""
    return [request for request in server.requests if request.method == "POST"]


def tools_of(request: Any) -> set[str]:
    """Offered tools: from ``tools``, or from the actions in the prompt."""
    if "tools" in request.json:
        return {tool["function"]["name"] for tool in request.json["tools"]}
    system = request.json["messages"][0]["content"].partition("Example:")[0]
    return {word.partition('"')[0] for word in system.split('{"tool": "')[1:]} - {"final"}


def mode(client: FakeRpcClient) -> str:
    return client.ask("get_state")["data"]["permission_mode"]


def test_a_small_model_takes_over_in_mid_session_and_gives_back(zot: Zot, serve, tmp_path) -> None:
    server = serve([Say("one"), LOOK, ANSWER, Say("three")])
    client = rpc(zot, server, "large", "--record", str(tmp_path / "run.zotrec"))
    client.prompt("first")
    assert mode(client) == "everything"
    client.ask("set_model", model="tiny")
    assert mode(client) == "accept-edits"
    client.send("prompt", message="second")
    asked = client.until("approval_request")
    assert asked["name"] == "bash" and not (zot.project / "looked").exists()
    assert client.ask("approve", request_id=asked["request_id"], decision="once")["success"]
    client.until("done")
    client.ask("set_model", model="large")
    assert mode(client) == "everything"
    client.prompt("third")
    assert client.close() == 0
    requests = calls_of(server)
    large, tiny, _, again = map(tools_of, requests)
    assert {"read", "write", "edit", "bash", "glob", "grep"} < large == again
    assert tiny == {"read", "write", "edit", "bash", "glob", "grep"}
    assert "grammar" in requests[1].json and "grammar" not in requests[3].json
    assert requests[3].json["messages"][0] == requests[0].json["messages"][0]
    assert zot("replay", "--verify", str(tmp_path / "run.zotrec"), model=False).code == 0


def test_chosen_mode_stays_after_small_model_is_replaced(zot: Zot, serve) -> None:
    client = rpc(zot, serve([]), "large")
    client.ask("set_model", model="tiny")
    client.ask("set_permission_mode", permission_mode="plan")
    client.ask("set_model", model="large")
    assert mode(client) == "plan"
    client.ask("set_permission_mode", permission_mode="everything")
    client.ask("set_model", model="tiny")
    assert mode(client) == "accept-edits"
    client.ask("set_permission_mode", permission_mode="everything")
    client.ask("set_model", model="large")
    client.ask("set_model", model="tiny")
    assert mode(client) == "everything"  # it was opened for this model by hand
    assert client.close() == 0


def test_safeguards_for_small_model_stay_during_the_run(zot: Zot, serve) -> None:
    server = serve([ANSWER, Say("two")])
    client = rpc(zot, server, "tiny")
    client.prompt("first")
    client.ask("set_model", model="large")
    client.prompt("second")
    assert mode(client) == "accept-edits"
    assert client.close() == 0
    first, second = map(tools_of, calls_of(server))
    assert {"glob", "grep"} <= first < second


def test_named_tools_stay_the_ones_that_were_named(zot: Zot, serve) -> None:
    server = serve([Say("one"), ANSWER])
    client = rpc(zot, server, "large", "--tools", "read,write")
    client.prompt("first")
    client.ask("set_model", model="tiny")
    client.prompt("second")
    assert client.close() == 0
    assert [tools_of(request) for request in calls_of(server)] == [{"read", "write"}] * 2


def test_fallback_to_small_model_without_a_user_is_jailed(zot: Zot, serve) -> None:
    server = serve([Refuse(529, "overloaded")] * 3 + [Say('{"tool": "bash", "command": "touch ../out in"}'), ANSWER])
    models = [{"id": "large"}, {"id": "tiny", "tool_calls": "grammar"}]
    ran = run(zot, "-p", "go", "--fallback-model", "tiny", model="large", baseUrl=f"{server.url}/v1", models=models)
    assert ran.out == "Done.\n", ran.err
    assert {"glob", "grep"} <= tools_of(calls_of(server)[-1])
    assert (zot.project / "in").exists() and not (zot.project.parent / "out").exists()
