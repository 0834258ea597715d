"""``--fallback-model``: checked at start, takes over once when the first model fails, and prints one line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Cut, FakeModelServer, Refuse, Say, StreamError
from tests.fakes.rpc_client import FakeRpcClient
from tests.terminal.scripts import configure, rows, two_providers

WRONG_KEY = Refuse(401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}})


def models(server: FakeModelServer) -> list[str]:
    """Which model each request was for."""
    return [request.json["model"] for request in server.requests if request.method == "POST"]


@pytest.mark.parametrize("named", ["claude-haiku-4-5", "anthropic/claude-haiku-4-5"])
def test_fallback_model_answers_and_stderr_has_the_reason(zot: Zot, serve: Any, named: str) -> None:
    server = serve([WRONG_KEY, CallTools([("bash", {"command": "echo $ZOT_MODEL"})]), Say("hello")])
    ran = zot("-p", "--fallback-model", named, "hi")
    assert (ran.code, ran.out) == (0, "hello\n")
    [line] = ran.err.splitlines()
    assert line.startswith("zot: model anthropic/claude-sonnet-5-5 failed: anthropic: http 401:")
    assert line.endswith("; continuing with anthropic/claude-haiku-4-5")
    assert models(server) == ["claude-sonnet-5-5", "claude-haiku-4-5", "claude-haiku-4-5"]
    assert "claude-haiku-4-5" in str(server.requests[-1].json["messages"][-1])  # what bash was told


def test_programs_see_one_prompt_and_one_done(zot: Zot, serve: Any) -> None:
    serve([WRONG_KEY, Say("hello")])
    ran = zot("--json", "--fallback-model", "claude-haiku-4-5", "hi")
    assert [t for t in ran.types if t in ("user_message", "turn_start", "turn_end", "error", "done")] == [
        *("user_message", "turn_start", "turn_end", "turn_start", "turn_end", "done")
    ]
    assert ran.events[-1] == {"type": "done", "reason": "end_turn", "exit_code": 0}


def test_rpc_client_is_notified_of_fallback(zot: Zot, serve: Any) -> None:
    server = serve([WRONG_KEY, Say("hello")])
    argv = zot.argv(["rpc", "--fallback-model", "claude-haiku-4-5", *zot.endpoint(True)])
    client = FakeRpcClient(argv, zot.env(), zot.project)
    client.prompt("hi")
    assert models(server) == ["claude-sonnet-5-5", "claude-haiku-4-5"]
    client.wait_until_stderr_says("continuing with anthropic/claude-haiku-4-5")
    assert client.ask("get_state")["data"]["model"] == "claude-haiku-4-5"
    assert client.close() == 0


def test_session_records_the_answering_model(zot: Zot, serve: Any) -> None:
    server = serve([WRONG_KEY, Say("hello"), Say("again")])
    assert zot("-p", "--fallback-model", "claude-haiku-4-5", "hi").code == 0
    [path] = zot.sessions
    assert [row["meta"]["model"] for row in rows(path, "meta")] == ["claude-sonnet-5-5", "claude-haiku-4-5"]
    assert zot("-p", "-c", "--fallback-model", "claude-haiku-4-5", "hi").err == ""
    assert models(server)[-1] == "claude-haiku-4-5"


def test_fallback_to_other_provider_omits_first_key(zot: Zot, serve: Any) -> None:
    with FakeModelServer([Say("from beta")]) as good:
        two_providers(zot, good.url)
        configure(zot, retry_wait_s=0.01)
        serve([Refuse(503, "down")], repeat=True)
        ran = zot("-p", "--provider", "alpha", "--model", "alpha-one", "--fallback-model", "beta-one", "hi")
        assert ran.out == "from beta\n" and "alpha/alpha-one failed" in ran.err and "beta/beta-one" in ran.err
        assert "test-key" not in str(good.requests[0].headers)


OVERLOADED = Refuse(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


@pytest.mark.parametrize(("flags", "tries"), [([], 3), (["--retries", "1"], 2)], ids=["usual", "fewer were asked for"])
def test_fallback_starts_after_three_tries_with_its_own_retries(
    zot: Zot, serve: Any, flags: list[str], tries: int
) -> None:
    configure(zot, retry_wait_s=0.01)
    later = 5 if tries == 3 else 1
    server = serve([*[OVERLOADED] * (tries + later), Say("hello")])
    ran = zot.patiently("--json", *flags, "--fallback-model", "claude-haiku-4-5", "hi")
    assert ran.code == 0 and "continuing with anthropic/claude-haiku-4-5" in ran.err
    assert models(server) == [*["claude-sonnet-5-5"] * tries, *["claude-haiku-4-5"] * (later + 1)]
    waits = [(event["attempt"], event["attempts"]) for event in ran.events if event["type"] == "retry_wait"]
    assert waits[: tries - 1] == [(number, tries) for number in range(2, tries + 1)]


def test_fallback_equal_to_model_has_all_retries(zot: Zot, serve: Any) -> None:
    configure(zot, retry_wait_s=0.01)
    server = serve([*[OVERLOADED] * 5, Say("hello")])
    ran = zot.patiently("-p", "--model", "claude-haiku-4-5", "--fallback-model", "claude-haiku-4-5", "hi")
    assert ran.out == "hello\n" and len(models(server)) == 6


def test_fallback_is_tried_once(zot: Zot, serve: Any) -> None:
    server = serve([WRONG_KEY, WRONG_KEY, Say("never")])
    ran = zot("--json", "--fallback-model", "claude-haiku-4-5", "hi")
    assert ran.code == 1 and ran.events[-1]["reason"] == "error" and ran.types.count("done") == 1
    assert len(models(server)) == 2


@pytest.mark.parametrize(
    "failure",
    [
        Refuse(400, "a malformed request"),
        Refuse(413, "too large"),
        Cut(Say("half of an answer that is long enough"), 700),
        StreamError(after=Say("some words")),
    ],
    ids=["bad request", "too large", "cut in mid-answer", "failed in mid-answer"],
)
def test_request_error_does_not_trigger_fallback(zot: Zot, serve: Any, failure: Any) -> None:
    server = serve([failure], repeat=True)
    ran = zot("-p", "--fallback-model", "claude-haiku-4-5", "hi")
    assert ran.code == 1 and "going on" not in ran.err
    assert set(models(server)) == {"claude-sonnet-5-5"}


def test_unknown_fallback_model_is_an_error_at_start(zot: Zot, serve: Any) -> None:
    server = serve([])
    zot.url = ""
    zot.environment["ANTHROPIC_API_KEY"] = "k"
    for typed in ("nonsense", "anthropic/nonsense"):
        ran = zot("-p", "--fallback-model", typed, "hi")
        assert ran.code == 1 and ran.err.startswith(f'zot: --fallback-model {typed}: unknown model "nonsense"')
    assert server.requests == [] and zot.sessions == []


def test_a_model_without_a_credential_is_an_error_at_the_start(zot: Zot, serve: Any) -> None:
    server = serve([])
    ran = zot("-p", "--fallback-model", "openai/gpt-5", "hi")
    assert ran.code == 1 and ran.err.startswith("zot: --fallback-model openai/gpt-5: no credential for openai")
    assert server.requests == []


def test_rpc_continues_with_fallback_model(zot: Zot, serve: Any) -> None:
    serve([WRONG_KEY, Say("hello"), Say("again")])
    lines = '{"type":"prompt","message":"hi"}\n{"type":"prompt","message":"more"}\n{"type":"get_state"}\n'
    ran = zot("rpc", "--fallback-model", "claude-haiku-4-5", stdin=lines)
    assert ran.code == 0 and ran.types.count("done") == 2 and "error" not in ran.types
    assert [line for line in ran.err.splitlines() if "continuing with" in line] == ran.err.splitlines()
    assert len(ran.err.splitlines()) == 1


def test_a_name_with_a_slash_belongs_to_a_provider_that_has_it(zot: Zot, serve: Any) -> None:
    """Ids of OpenRouter look like ``provider/id``."""
    server = serve([WRONG_KEY, Say("hello")])
    ran = zot("-p", "--provider", "openrouter", "--fallback-model", "meta-llama/llama-9", "hi")
    assert ran.out == "hello\n" and models(server)[-1] == "meta-llama/llama-9"
    assert "continuing with openrouter/meta-llama/llama-9" in ran.err
