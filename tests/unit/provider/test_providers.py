"""The provider table and the names derived from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.provider.catalog import builtin_rows
from zot.provider.dialects import DIALECTS
from zot.provider.providers import (
    Provider,
    alias_target,
    base_url_of,
    builtin_providers,
    canonical_id,
    credential_variables,
    is_loopback,
    is_url,
    key_variable,
    missing_in_address,
)

PROVIDERS = builtin_providers()
CLOUD = {
    "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/",
    "AWS_REGION": "eu-west-1",
    "GOOGLE_CLOUD_PROJECT": "my-project",
}


def test_ollama_answers_on_its_usual_port_and_needs_no_key() -> None:
    """engine-077: ollama's base URL is http://localhost:11434, and it needs no key."""
    ollama = PROVIDERS["ollama"]
    assert ollama.base_url == "http://localhost:11434"
    assert not ollama.needs_key


def test_kimi_uses_its_coding_url() -> None:
    """engine-079: kimi's base URL is https://api.kimi.com/coding/v1, in the provider and in its model row."""
    assert PROVIDERS["kimi"].base_url == "https://api.kimi.com/coding/v1"
    row = next(row for row in builtin_rows() if row.id == "kimi-for-coding")
    assert row.base_url == "https://api.kimi.com/coding/v1"


def test_provider_with_key_has_a_variable_and_a_url() -> None:
    for provider in PROVIDERS.values():
        assert provider.env or not provider.needs_key or not provider.key_login, provider.id
        assert is_url(base_url_of(provider, CLOUD)) or provider.api in ("script", "local"), provider.id


def test_every_default_model_is_in_the_catalogue() -> None:
    known = {(row.provider, row.id) for row in builtin_rows()}
    for provider in PROVIDERS.values():
        if provider.default_model and provider.api != "script":
            assert (provider.rows_of or provider.id, provider.default_model) in known, provider.id


@pytest.mark.parametrize(
    ("key", "provider"),
    [
        ("openai-codex", "openai"),
        ("openai-responses", "openai"),
        ("anthropic-messages", "anthropic"),
        ("moonshot", "kimi"),
        ("moonshot-ai", "kimi"),
        ("kimi-code", "kimi"),
        ("mistral", "mistral"),
        ("my-own", "my-own"),
    ],
)
def test_alias_keys_of_models_json_map_to_their_provider(key: str, provider: str) -> None:
    """engine-099: every alias key of models.json maps to its provider."""
    assert alias_target(key) == provider


def test_a_typed_name_that_is_an_id_is_never_taken_for_an_alias() -> None:
    assert canonical_id("openai-responses") == "openai-responses"
    assert canonical_id("moonshot") == "kimi"


def test_credential_variables_cover_providers_bots_and_rpc_token() -> None:
    names = credential_variables([Provider(id="my-co", name="My Co", api="openai", env=("MY_CO_API_KEY",))])
    assert {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_OAUTH_TOKEN",
        "OPENAI_API_KEY",
        "KIMI_API_KEY",
        "MOONSHOT_API_KEY",
        "OPENROUTER_API_KEY",
        "ZOTCORE_RPC_TOKEN",
        "TELEGRAM_BOT_TOKEN",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "VERTEX_ACCESS_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_AD_TOKEN",
        "MY_CO_API_KEY",
    } <= names
    assert "PATH" not in names


def test_custom_provider_key_variable_is_its_id_in_capitals() -> None:
    assert key_variable("my-company.2") == "MY_COMPANY_2_API_KEY"


@pytest.mark.parametrize(
    ("provider", "more", "url"),
    [
        ("azure", {}, "https://mine.openai.azure.com/openai/v1"),
        ("bedrock", {}, "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        (
            "vertex",
            {},
            "https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/publishers/google",
        ),
        (
            "vertex-anthropic",
            {"GOOGLE_CLOUD_LOCATION": "us-east5"},
            "https://us-east5-aiplatform.googleapis.com/v1/projects/my-project/locations/us-east5/publishers/anthropic",
        ),
    ],
)
def test_the_address_in_a_cloud_is_made_of_variables(provider: str, more: dict[str, str], url: str) -> None:
    assert base_url_of(PROVIDERS[provider], CLOUD | more) == url
    assert missing_in_address(PROVIDERS[provider], CLOUD | more) == ""
    assert base_url_of(PROVIDERS[provider], {}) == ""
    assert missing_in_address(PROVIDERS[provider], {}).startswith(("A", "GOOGLE_CLOUD_PROJECT"))


def test_llama_cpp_takes_its_address_from_the_environment() -> None:
    llama = PROVIDERS["llama.cpp"]
    assert base_url_of(llama, {"LLAMA_BASE_URL": "http://box:9/v1"}) == "http://box:9/v1"
    assert base_url_of(llama, {}) == llama.base_url


@pytest.mark.parametrize(
    "url",
    ["http://localhost:1", "http://127.0.0.1:8080/v1", "https://[::1]:1/", "http://a.localhost", "HTTP://LOCALHOST"],
)
def test_addresses_on_this_machine_are_recognised(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url", ["https://localhost.example.com", "http://127.example", "http://localhost@evil.example/", "http://10.0.0.1"]
)
def test_remote_urls_are_not_local(url: str) -> None:
    assert is_url(url)
    assert not is_loopback(url)


@pytest.mark.parametrize("text", ["", "localhost:8080", "ftp://x", "http://", "https:///v1"])
def test_invalid_base_url_is_rejected(text: str) -> None:
    assert not is_url(text)


def test_guide_lists_providers_with_variable_default_and_url() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "providers.md").read_text(encoding="utf-8")
    table = [line for line in guide.splitlines() if line.startswith("| `")]
    for provider in PROVIDERS.values():
        if provider.api == "script":
            continue
        (row,) = [line for line in table if f"`{provider.id}`" in line.split("|")[1]]
        wanted = [*provider.env, provider.default_model] if provider.needs_key else [provider.base_url]
        assert all(f"`{word}`" in row for word in wanted if word), provider.id


def test_every_provider_speaks_a_dialect_of_the_table() -> None:
    for provider in PROVIDERS.values():
        assert {provider.api, provider.oauth_api} <= {*DIALECTS, "local", "script", ""}, provider.id
