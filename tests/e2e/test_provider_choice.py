"""A new user's run with one key in the environment and no setting: which provider, model and address it uses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import FakeModelServer, Say


def ask(zot: Zot, *flags: str) -> Any:
    return zot("-p", "hello", *flags, model=False)


@pytest.mark.parametrize(
    ("variable", "provider", "model"),
    [
        ("OPENROUTER", "openrouter", "anthropic/claude-sonnet-5.5"),
        ("MISTRAL", "mistral", "mistral-large-4"),
        ("GEMINI", "google", "gemini-4-argon"),
        ("DEEPSEEK", "deepseek", "deepseek-v4-pro"),
        ("GROQ", "groq", "openai/gpt-oss-120b"),
        ("XAI", "xai", "grok-4.7"),
    ],
)
def test_only_key_selects_its_provider(serve: Any, zot: Zot, variable: str, provider: str, model: str) -> None:
    """issue 29.8: any provider's key counts; issue 29.9: its base URL is used and named once."""
    server: FakeModelServer = serve([Say("hi")])
    zot.environment = {f"{variable}_API_KEY": "its-key", f"{variable}_BASE_URL": f"{server.url}/v1"}
    ran = ask(zot)
    assert (ran.code, ran.out) == (0, "hi\n")
    assert ran.err == f"zot: {variable}_BASE_URL: requests to {provider} go to 127.0.0.1\n"
    (request,) = server.requests
    assert model in str(request.json) + request.path
    assert "its-key" in "".join(request.headers.values())


def test_bearer_token_of_a_gateway_is_used(serve: Any, zot: Zot) -> None:
    """issue 29.8, 29.9: as Claude Code's users set it: a token and an address, no key; a key has priority."""
    server: FakeModelServer = serve([Say("hi")], repeat=True)
    zot.environment = {"ANTHROPIC_AUTH_TOKEN": "gateway-token", "ANTHROPIC_BASE_URL": server.url}
    assert (ask(zot).code, ask(zot).out) == (0, "hi\n")
    assert server.requests[0].headers["authorization"] == "Bearer gateway-token"
    assert "x-api-key" not in server.requests[0].headers and "anthropic-beta" not in server.requests[0].headers
    zot.environment["ANTHROPIC_API_KEY"] = "its-key"
    ask(zot)
    assert server.requests[-1].headers["x-api-key"] == "its-key" and "authorization" not in server.requests[-1].headers
    assert "ANTHROPIC_AUTH_TOKEN" in zot("auth", "list", model=False).out


def test_several_keys_take_the_first_then_the_last_used(serve: Any, zot: Zot) -> None:
    """issue 29.8: headless runs take the first of the documented order with one line, then the last used."""
    server: FakeModelServer = serve([Say("hi")], repeat=True)
    zot.environment = {"OPENAI_API_KEY": "a", "OPENAI_API_BASE": f"{server.url}/v1"}
    zot.environment |= {"GROQ_API_KEY": "b", "GROQ_BASE_URL": f"{server.url}/v1"}
    assert "using openai, the first of several credentials (openai, groq)" in ask(zot).err
    assert "several" not in ask(zot).err
    ask(zot, "--provider", "groq")
    ask(zot)
    assert [request.json["model"] for request in server.requests] == ["gpt-6.1-sol"] * 2 + ["openai/gpt-oss-120b"] * 2


def test_stored_key_is_not_sent_to_an_address_of_the_environment(serve: Any, zot: Zot) -> None:
    """issue 29.9: a key goes to no other host than its base URL; one given for this run may."""
    server: FakeModelServer = serve([Say("hi")])
    home = zot.home / "zot"
    home.mkdir()
    (home / "auth.json").write_text(json.dumps({"anthropic": {"api_key": "stored"}}))
    (home / "auth.json").chmod(0o600)
    zot.environment = {"ANTHROPIC_BASE_URL": server.url}
    ran = ask(zot)
    assert ran.code == 1 and "set ANTHROPIC_API_KEY or pass --api-key for 127.0.0.1" in ran.err
    assert server.requests == []
    assert ask(zot, "--api-key", "typed").out == "hi\n"
    assert "typed" in server.requests[0].headers.values()


def test_http_address_of_the_environment_needs_insecure(zot: Zot) -> None:
    """issue 29.9: a key is sent over http:// only to this machine."""
    zot.environment = {"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": "http://gateway.example/v1"}
    ran = ask(zot)
    assert ran.code == 1 and "OPENAI_BASE_URL: keys are not sent over http:// to gateway.example" in ran.err


def test_worker_uses_the_address_of_its_starter(serve: Any, zot: Zot) -> None:
    """issue 29.9: a worker's configuration has the address of the variable, and its key from the starter."""
    server: FakeModelServer = serve([Say("from the worker")])
    zot.environment = {"ANTHROPIC_API_KEY": "its-key", "ANTHROPIC_BASE_URL": server.url}
    ran = zot("swarm", "start", "--once", "--wait", "say it", model=False)
    assert (ran.code, "from the worker" in ran.out) == (0, True), ran
    (record,) = (zot.home / "zot" / "swarm").glob("agents/*/meta.json")
    config = json.loads(record.read_text())["order"]["config"]
    assert (config["base_url"], config["base_url_from"]) == (server.url, "ANTHROPIC_BASE_URL")
    assert "its-key" in server.requests[0].headers.values() and "its-key" not in record.read_text()
