"""Models that cannot call tools, held by a grammar: to everything above the provider they are models like any other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say

ANSWER = Say('{"tool": "final", "answer": "Done."}')
FREE = ("--permission-mode", "everything")


def entry(**changes: Any) -> dict[str, Any]:
    return {"baseUrl": "http://127.0.0.1:9/v1", "auth": "none", "models": [{"id": "tiny"}], **changes}


def run(zot: Zot, *args: str, **changes: Any) -> Any:
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": entry(**changes)}}))
    return zot(*args, "--provider", "mine", "--model", "tiny")


@pytest.mark.parametrize(
    "changes",
    [
        {"tool_calls": "grammar"},
        {"toolCalls": "grammar"},
        {"api": "grammar"},
        {"models": [{"id": "tiny", "tool_calls": "grammar"}]},
    ],
)
def test_models_json_says_which_models_are_held_by_a_grammar(zot: Zot, serve, changes: dict[str, Any]) -> None:
    server = serve([ANSWER])
    ran = run(zot, "-p", "hello", *FREE, **changes)
    assert (ran.code, ran.out, ran.err) == (0, "Done.\n", "")
    sent = server.requests[0].json
    assert "tools" not in sent and sent["grammar"].startswith("root ::= ")


def test_an_action_is_a_tool_call_and_its_result_comes_back_as_text(zot: Zot, serve) -> None:
    action = '{"tool": "write", "path": "a.py"}\n```python\nx = 1\n```'
    server = serve([Say(action), ANSWER])
    ran = run(zot, "--json", "Write a.py.", *FREE, tool_calls="grammar")
    assert (zot.project / "a.py").read_text() == "x = 1\n"
    calls = [event for event in ran.events if event["type"] == "tool_call"]
    assert [(call["name"], call["args"]) for call in calls] == [("write", {"path": "a.py", "content": "x = 1\n"})]
    first, second = server.requests[0].json["messages"], server.requests[1].json["messages"]
    assert second[: len(first)] == first  # the server's cache holds
    assert second[len(first)] == {"role": "assistant", "content": action}


def test_such_a_model_gets_a_brief_prompt_the_tools_that_search_and_the_names_of_files(zot: Zot, serve) -> None:
    (zot.project / "src").mkdir()
    (zot.project / "src" / "main.c").write_text("")
    (zot.project / "AGENTS.md").write_text("Be kind.\n" + "x" * 5000)
    server = serve([ANSWER])
    run(zot, "-p", "hello", *FREE, tool_calls="grammar")
    system = server.requests[0].json["messages"][0]["content"]
    assert "Files: AGENTS.md, src/main.c" in system and "Be kind." in system and len(system) < 4000
    for tool in ("read", "write", "edit", "bash", "glob", "grep"):
        assert f'{{"tool": "{tool}"' in system


def test_a_mistake_in_models_json_is_told(zot: Zot, serve) -> None:
    serve([ANSWER], repeat=True)
    ran = run(zot, "-p", "hello", *FREE, models=[{"id": "tiny", "tool_calls": "magic"}])
    assert "providers.mine.models[0]: toolCalls: invalid enum value 'magic'" in ran.err
