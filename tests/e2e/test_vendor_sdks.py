"""issue 30: requests for each vendor's newest models are what the vendor's own SDK sends, field by field.

zot runs as a process against a recording server; the SDK then gets the same values as typed arguments and must send the
same body. The SDK's types are the list of known fields and values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast, get_args

import pytest
from pydantic import TypeAdapter

from tests.e2e.conftest import Zot
from tests.fakes.model_server import FakeModelServer, Say
from zot.provider.catalog import Catalog
from zot.provider.model import Model


@pytest.fixture
def server(zot: Zot) -> Iterator[FakeModelServer]:
    with FakeModelServer([Say("fine")], repeat=True) as running:
        zot.url = running.url
        yield running


def sent(server: FakeModelServer) -> Any:
    return [request for request in server.requests if request.method == "POST"][-1]


def asked(zot: Zot, server: FakeModelServer, provider: str, model: str, reasoning: str) -> dict[str, Any]:
    ran = zot("-p", "--provider", provider, "--model", model, "--reasoning", reasoning, "hi")
    assert (ran.code, ran.out) == (0, "fine\n"), ran.err
    return json.loads(sent(server).body)


def row_of(zot: Zot, provider: str, model: str) -> Model:
    found = Catalog(zot.home).find(model, provider)
    assert found is not None and not found.guessed
    return found


def extra_fields(value: dict[str, Any], kind: Any) -> set[str]:
    return (
        set(value)
        - set(kind.__annotations__)
        - {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}
    )


# -- Anthropic ------------------------------------------------------------------------------------------------------


def claude_models() -> list[str]:
    from anthropic.types import ModelParam

    return [name for name in get_args(get_args(ModelParam)[0]) if "mythos" not in name]  # not open to everyone


@pytest.mark.parametrize("model", ["claude-fable-5-2", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"])
@pytest.mark.parametrize("level", ["off", "low", "xhigh"])
def test_newest_claude_gets_what_the_sdk_sends(zot: Zot, server: FakeModelServer, model: str, level: str) -> None:
    import anthropic
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    assert model in claude_models()
    body = asked(zot, server, "anthropic", model, level)
    mine = sent(server)
    row = row_of(zot, "anthropic", model)
    if level == "off" and row.can_skip_reasoning:
        assert body["thinking"] == {"type": "disabled"} and "output_config" not in body
    else:
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["output_config"] == {"effort": row.reasoning_levels.get(level, "low")}
    assert body["max_tokens"] == row.max_output == 128_000 and "temperature" not in body
    assert row.context_window == 1_000_000 and row.is_priced

    client = anthropic.Anthropic(api_key="test-key", base_url=server.url, max_retries=0)
    list(cast(Any, client.messages).create(**body))
    theirs = sent(server)
    assert json.loads(theirs.body) == body and theirs.path == mine.path
    # the version that gateways and imitations know, with its header for keys; the SDK's version is a month old
    assert (mine.headers["anthropic-version"], mine.headers["x-api-key"]) == ("2023-06-01", "test-key")
    TypeAdapter(MessageCreateParamsStreaming).validate_python(body)
    assert not extra_fields(body, MessageCreateParamsStreaming)


def test_every_claude_of_the_sdk_has_a_row(zot: Zot) -> None:
    for model in claude_models():
        row = row_of(zot, "anthropic", model)
        assert row.context_window >= 200_000 and row.max_output and row.is_priced and row.reasoning_style


# -- OpenAI ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-astra", "gpt-6-luna"])
@pytest.mark.parametrize("level", ["off", "low", "max"])
def test_newest_gpt_gets_what_the_sdk_sends(zot: Zot, server: FakeModelServer, model: str, level: str) -> None:
    import openai
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    body = asked(zot, server, "openai-responses", model, level)
    mine, row = sent(server), row_of(zot, "openai", model)
    word = row.reasoning_levels.get(level, "low")  # one that always reasons gets its least for "off"
    assert body["reasoning"] == {"effort": word, "summary": "auto"}
    assert body["include"] == ["reasoning.encrypted_content"] and body["store"] is False
    assert body["max_output_tokens"] == row.max_output == 128_000
    assert row.is_priced and row.context_window >= 272_000

    client = openai.OpenAI(api_key="test-key", base_url=f"{server.url}/v1", max_retries=0)
    list(cast(Any, client.responses).create(**body))
    theirs = sent(server)
    assert json.loads(theirs.body) == body and theirs.path == mine.path
    assert theirs.headers["authorization"] == mine.headers["authorization"]
    TypeAdapter(ResponseCreateParamsStreaming).validate_python(body)
    assert not extra_fields(body, ResponseCreateParamsStreaming)


# -- Google ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["gemini-4-argon", "gemini-3.8-flash", "gemini-2.5-flash"])
@pytest.mark.parametrize("level", ["off", "low", "high"])
def test_newest_gemini_gets_what_the_sdk_sends(zot: Zot, server: FakeModelServer, model: str, level: str) -> None:
    from google import genai
    from google.genai import types

    body = asked(zot, server, "google", model, level)
    mine, row = sent(server), row_of(zot, "google", model)
    thinking = body["generationConfig"]["thinkingConfig"]
    if row.reasoning_style == "budget":
        assert thinking["thinkingBudget"] == int(row.reasoning_levels[level])
    else:
        assert thinking == {"thinkingLevel": row.reasoning_levels.get(level, "low"), "includeThoughts": True}
    assert body["generationConfig"]["maxOutputTokens"] == row.max_output == 65_536 and row.is_priced

    config = types.GenerateContentConfig.model_validate(
        {
            **body["generationConfig"],
            "systemInstruction": body["systemInstruction"],
            "tools": body["tools"],
        }
    )
    client = genai.Client(api_key="test-key", http_options=types.HttpOptions(base_url=server.url, api_version="v1beta"))
    list(client.models.generate_content_stream(model=model, contents=body["contents"], config=config))
    theirs = sent(server)
    assert _spelled_alike(json.loads(theirs.body)) == _spelled_alike(body)
    assert theirs.path == mine.path and theirs.headers["x-goog-api-key"] == mine.headers["x-goog-api-key"]


def _spelled_alike(body: dict[str, Any]) -> Any:
    """The API accepts a field in snake and in camel case, and a level in both cases; the SDK mixes them."""
    return json.loads(json.dumps(body, ensure_ascii=False).lower().replace("_", ""))
