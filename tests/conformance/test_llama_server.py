"""zot against a model server it did not write: llama.cpp's, with a real (tiny) model, in all three dialects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.llama_server import llama_server
from zot.errors import ContextTooLong
from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.http_client import HttpClient
from zot.provider.messages import user_message
from zot.provider.model import Model
from zot.provider.model_call import Request

pytestmark = pytest.mark.llama

# The tiny model cannot use tools, and its prompt reading is slow: keep what is sent short.
SHORT = ["--no-tools", "--system-prompt", "You answer briefly.", "--no-skills", "-nc"]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with llama_server() as url:
        yield url


@pytest.fixture
def zot(tmp_path: Path) -> Zot:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Zot(tmp_path / "home", tmp_path / "project")


def models_json(zot: Zot, server: str, api: str) -> None:
    home = zot.home / "zot"
    home.mkdir(exist_ok=True)
    model = {"id": "local", "contextWindow": 4096, "maxTokens": 24}
    provider = {"baseUrl": server, "api": api, "auth": "none", "models": [model]}
    (home / "models.json").write_text(json.dumps({"providers": {"mine": provider}}))


@pytest.mark.parametrize("api", ["openai", "anthropic", "openai-responses"])
def test_plain_text_is_returned_in_every_dialect(zot: Zot, server: str, api: str) -> None:
    models_json(zot, server, api)
    ran = zot("-p", "Say hello.", "--provider", "mine", "--model", "local", *SHORT)
    assert (ran.code, ran.out.strip() != "") == (0, True), ran.err


@pytest.mark.parametrize("api", ["openai", "anthropic", "openai-responses"])
def test_json_mode_streams_text_and_counts_tokens(zot: Zot, server: str, api: str) -> None:
    models_json(zot, server, api)
    ran = zot("--json", "Count to five.", "--provider", "mine", "--model", "local", *SHORT)
    assert ran.code == 0, ran.err
    said = "".join(event["delta"] for event in ran.events if event["type"] == "text_delta")
    message = next(event for event in ran.events if event["type"] == "assistant_message")
    usage = next(event for event in ran.events if event["type"] == "usage")
    assert said and message["content"][0]["text"] == said
    assert usage["input"] + usage["cache_read"] > 0 and usage["output"] > 0
    assert ran.events[-1]["type"] == "done"


def test_the_built_in_llama_cpp_provider_needs_only_an_address(zot: Zot, server: str) -> None:
    line = ["-p", "Say hello.", "--provider", "llama.cpp", "--model", "any", "--base-url", server]
    ran = zot(*line, "--temperature", "0", *SHORT)
    assert (ran.code, ran.out.strip() != "") == (0, True), ran.err


async def test_a_prompt_beyond_the_window_is_recognised(server: str) -> None:
    """engine-170 (recognition): llama.cpp's own words for it"""
    endpoint = Endpoint(provider="mine", base_url=server)
    client = HttpClient("mine", OpenAIChatDialect(), endpoint)
    model = Model(id="local", provider="mine", context_window=4096, max_output=24)
    try:
        with pytest.raises(ContextTooLong, match="exceed"):
            async for _ in client.stream(Request(model=model, messages=(user_message("word " * 6000),))):
                pass
    finally:
        await client.aclose()


def test_model_without_tool_calls_is_detected(zot: Zot, server: str) -> None:
    """The probe relies on a forced tool call, not on the chat template."""
    models_json(zot, server, "openai")
    flags = ["--tools", "read", "--max-steps", "1", "--no-skills", "-nc", "--permission-mode", "everything"]
    ran = zot("-p", "Say hello.", "--provider", "mine", "--model", "local", *flags)
    assert "local has no tool calling" in ran.err
    [kept] = json.loads((zot.home / "zot" / "tool-calls.json").read_text()).values()
    assert (kept["calls"], kept["grammar"]) == (False, True)
