"""issue 30.4: an optional field that a model rejects is omitted and remembered; an unknown model has a fallback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import FakeModelServer, Refuse, Say
from tests.fakes.rpc_client import FakeRpcClient

WARM = ("--model", "claude-sonnet-4-5", "--temperature", "0.5")


def refusal(message: str, status: int = 400, **more: str) -> Refuse:
    return Refuse(status, {"type": "error", "error": {"type": "invalid_request_error", "message": message, **more}})


def bodies(server: FakeModelServer) -> list[dict[str, Any]]:
    return [request.json for request in server.requests if request.method == "POST"]


NO_TEMPERATURE = refusal("`temperature` is deprecated for this model.")


def test_rejected_option_is_omitted_and_remembered(zot: Zot, serve: Any) -> None:
    """The next process does not send it either; another model gets it."""
    server = serve([NO_TEMPERATURE, Say("one"), Say("two"), Say("three")])
    first = zot("-p", *WARM, "hi")
    assert (first.code, first.out) == (0, "one\n")
    assert first.err == "zot: claude-sonnet-4-5 rejected the option temperature; sent without it from now on\n"
    second = zot("-p", *WARM, "hi")
    assert (second.out, second.err) == ("two\n", "")
    zot("-p", "--model", "claude-haiku-4-5", "--temperature", "0.5", "hi")
    assert ["temperature" in body for body in bodies(server)] == [True, False, False, True]


def test_programs_get_the_notice_as_a_diagnostic(zot: Zot, serve: Any) -> None:
    serve([NO_TEMPERATURE, Say("one")])
    ran = zot("--json", *WARM, "hi")
    [notice] = [event for event in ran.events if event["type"] == "diagnostic"]
    assert notice["source"] == "provider" and "temperature" in notice["message"]
    assert ran.events[-1] == {"type": "done", "reason": "end_turn", "exit_code": 0}


@pytest.mark.parametrize(
    ("flags", "message", "gone", "stays"),
    [
        (
            ["--provider", "openai", "--model", "gpt-5", "--reasoning", "low"],
            "Unrecognized request argument supplied: reasoning_effort",
            "reasoning_effort",
            "messages",
        ),
        (
            ["--provider", "google", "--model", "gemini-2.5-pro", "--reasoning", "low"],
            'Invalid JSON payload received. Unknown name "thinking_config": Cannot find field.',
            "thinkingConfig",
            "maxOutputTokens",
        ),
        (
            ["--reasoning", "high"],
            "thinking: Extra inputs are not permitted",
            "thinking",
            "max_tokens",
        ),
    ],
    ids=["openai", "google", "anthropic"],
)
def test_each_dialect_omits_the_named_option(
    zot: Zot, serve: Any, flags: list[str], message: str, gone: str, stays: str
) -> None:
    server = serve([refusal(message), Say("fine")])
    assert zot("-p", *flags, "hi").out == "fine\n"
    first, second = (json.dumps(body) for body in bodies(server))
    assert f'"{gone}"' in first and f'"{gone}"' not in second and f'"{stays}"' in second


@pytest.mark.parametrize(
    "message",
    ["temperature: range: 0..1", "messages: at least one message is required", "max_tokens is not supported"],
)
def test_other_refusals_are_not_retried(zot: Zot, serve: Any, message: str) -> None:
    """A wrong value is the user's to fix, and a required field is never omitted."""
    server = serve([refusal(message), Say("never")])
    ran = zot("-p", *WARM, "hi")
    assert ran.code == 1 and message in ran.err and len(bodies(server)) == 1


def test_option_rejected_again_is_an_error(zot: Zot, serve: Any) -> None:
    server = serve([NO_TEMPERATURE, NO_TEMPERATURE, Say("never")])
    ran = zot("-p", *WARM, "hi")
    assert ran.code == 1 and "deprecated" in ran.err and len(bodies(server)) == 2


def test_damaged_file_of_rejected_options_is_replaced(zot: Zot, serve: Any) -> None:
    path = zot.home / "zot" / "rejected-options.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{not json")
    serve([NO_TEMPERATURE, Say("one")])
    assert zot("-p", *WARM, "hi").out == "one\n"


NO_MODEL = Refuse(404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-sonnet-4-5"}})


def test_unknown_model_goes_to_the_fallback_model(zot: Zot, serve: Any) -> None:
    server = serve([NO_MODEL, Say("hello")])
    ran = zot("-p", "--model", "claude-sonnet-4-5", "--fallback-model", "claude-haiku-4-5", "hi")
    assert (ran.code, ran.out) == (0, "hello\n") and "continuing with anthropic/claude-haiku-4-5" in ran.err
    assert [body["model"] for body in bodies(server)] == ["claude-sonnet-4-5", "claude-haiku-4-5"]


def test_unknown_model_without_fallback_names_the_list(zot: Zot, serve: Any) -> None:
    serve([NO_MODEL])
    ran = zot("-p", "hi")
    assert ran.code == 1 and "--list-models" in ran.err


def test_rpc_client_hears_of_a_rejected_option(zot: Zot, serve: Any) -> None:
    serve([NO_TEMPERATURE, Say("one")])
    client = FakeRpcClient(zot.argv(["rpc", *WARM, *zot.endpoint(True)]), zot.env(), zot.project)
    events = client.prompt("hi")
    assert any(event["type"] == "diagnostic" and "temperature" in event["message"] for event in events)
    assert client.close() == 0


def test_temperature_of_a_model_without_one_is_reported(zot: Zot, serve: Any) -> None:
    server = serve([Say("one")])
    ran = zot("-p", "--model", "claude-opus-5-5", "--temperature", "0.5", "hi")
    assert ran.err == "zot: --temperature is ignored: claude-opus-5-5 does not accept one\n"
    assert "temperature" not in bodies(server)[0]
