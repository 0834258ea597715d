"""The catalogue: built-in rows, the discovery cache and the user's models.json, with real files."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.http_server import FakeHttpServer
from tests.fakes.plain_user import plain_user
from zot.provider.catalog import CachedModel, Catalog, builtin_rows, read_cache, with_limits
from zot.provider.catalog_file import fetch_catalog
from zot.provider.http.pool import HttpPool
from zot.provider.messages import Usage
from zot.provider.model import Model
from zot.provider.providers import builtin_providers


def write(home: Path, name: str, value: Any) -> Path:
    path = home / name
    path.write_bytes(value if isinstance(value, bytes) else msgspec.json.encode(value))
    return path


def with_models(home: Path, **providers: Any) -> Catalog:
    write(home, "models.json", {"providers": {key.replace("__", "-"): value for key, value in providers.items()}})
    return Catalog(home)


def found(catalog: Catalog, model_id: str, provider: str = "") -> Model:
    row = catalog.find(model_id, provider)
    assert row is not None
    return row


def test_catalogue_begins_with_the_three_first_vendors(tmp_path: Path) -> None:
    """engine-094: the catalogue begins with the rows of the first three providers, and all others follow."""
    owners = [row.provider for row in Catalog(tmp_path).rows()]
    assert list(dict.fromkeys(owners))[:3] == ["anthropic", "openai", "kimi"]
    assert owners == sorted(owners, key=list(dict.fromkeys(owners)).index)


def test_every_built_in_row_has_a_window_and_an_output_limit() -> None:
    for row in builtin_rows():
        assert 0 < row.max_output <= row.context_window, row.id


def test_million_tokens_in_and_out_on_sonnet_cost_18_dollars(tmp_path: Path) -> None:
    """engine-095: a million tokens in and a million out on claude-sonnet-4-5 cost 18 dollars."""
    usage = found(Catalog(tmp_path), "claude-sonnet-4-5").priced(Usage(1_000_000, 1_000_000))
    assert usage.cost_usd == pytest.approx(18.0)


def test_an_unknown_id_is_not_found(tmp_path: Path) -> None:
    """engine-096: neither an unknown id nor a known id under the wrong provider is found."""
    catalog = Catalog(tmp_path)
    assert catalog.find("no-such-model") is None
    assert catalog.find("gpt-5", "anthropic") is None


def test_lookup_without_provider_returns_first_catalogue_row(tmp_path: Path) -> None:
    assert found(Catalog(tmp_path), "openai/gpt-oss-120b").provider == "groq"


def test_the_responses_route_shares_the_rows_of_openai(tmp_path: Path) -> None:
    row = found(Catalog(tmp_path), "gpt-5", "openai-responses")
    assert (row.provider, row.context_window) == ("openai-responses", 400_000)


def test_a_start_without_files_is_quick(tmp_path: Path) -> None:
    started = time.process_time()
    assert Catalog(tmp_path).rows()
    assert time.process_time() - started < 0.1


def test_models_json_adds_a_new_id_with_source_user(tmp_path: Path) -> None:
    """engine-097: an id that models.json adds is found with source `user` and its own limits."""
    catalog = with_models(tmp_path, openai={"models": [{"id": "gpt-mine", "contextWindow": 1000, "maxTokens": 100}]})
    row = found(catalog, "gpt-mine", "openai")
    assert (row.source, row.name, row.context_window, row.max_output) == ("user", "gpt-mine", 1000, 100)
    assert catalog.rows()[-1] == row
    assert catalog.problems == []


def test_override_preserves_fields_it_does_not_name(tmp_path: Path) -> None:
    """engine-098: an override of the context window preserves the catalogue's prices and all other fields."""
    catalog = with_models(tmp_path, openai={"models": [{"id": "gpt-5.5", "contextWindow": 9000}]})
    row = found(catalog, "gpt-5.5")
    assert (row.context_window, row.price_input, row.max_output, row.name) == (9000, 5, 128_000, "GPT-5.5")
    assert row.reasoning
    assert (row.source, row.speculative) == ("user", False)


def test_an_override_can_turn_reasoning_off(tmp_path: Path) -> None:
    catalog = with_models(tmp_path, openai={"models": [{"id": "gpt-5", "reasoning": False}]})
    assert not found(catalog, "gpt-5").reasoning


def test_alias_keys_override_the_provider_they_mean(tmp_path: Path) -> None:
    """engine-099: the aliases of models.json, such as openai-codex and moonshot, change the provider they stand for."""
    catalog = with_models(
        tmp_path,
        openai__codex={"models": [{"id": "a"}]},
        openai__responses={"models": [{"id": "b"}]},
        anthropic__messages={"models": [{"id": "c"}]},
        moonshot={"models": [{"id": "d"}]},
        kimi__code={"models": [{"id": "e"}]},
    )
    owners = [found(catalog, name).provider for name in "abcde"]
    assert owners == ["openai", "openai", "anthropic", "kimi", "kimi"]


def test_malformed_models_json_is_one_line_and_left_unchanged(tmp_path: Path) -> None:
    """engine-100: invalid JSON does not prevent the start; it is reported with its line, and the file is left alone."""
    text = b'{\n  "providers": {\n    "openai" {}\n  }\n}\n'
    path = write(tmp_path, "models.json", text)
    catalog = Catalog(tmp_path)
    assert len(catalog.rows()) == len(builtin_rows())
    (problem,) = catalog.problems
    assert f"{path}: line 3, column 14" in problem
    assert path.read_bytes() == text


@pytest.mark.parametrize("content", [b"[]", b'{"providers": []}', b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}'])
def test_a_models_json_of_another_shape_is_reported_and_ignored(tmp_path: Path, content: bytes) -> None:
    """engine-100: valid JSON of the wrong shape is reported once and otherwise ignored."""
    write(tmp_path, "models.json", content)
    catalog = Catalog(tmp_path)
    assert catalog.find("gpt-5") is not None
    assert len(catalog.problems) == 1


def test_a_wrong_entry_costs_only_itself(tmp_path: Path) -> None:
    catalog = with_models(
        tmp_path,
        openai={"models": [{"id": "good"}, {"id": "bad", "contextWindow": "many"}, {"name": "no id"}]},
    )
    assert catalog.find("good")
    assert not catalog.find("bad")
    assert "providers.openai.models[1]: contextWindow: expected `int`" in catalog.problems[0]
    assert "providers.openai.models[2]: object missing required field `id`" in catalog.problems[1]


def test_an_unknown_key_is_named_and_ignored(tmp_path: Path) -> None:
    catalog = with_models(tmp_path, openai={"models": [{"id": "m", "context_window": 5}]})
    assert catalog.find("m")
    (problem,) = catalog.problems
    assert "'context_window' is ignored" in problem
    assert "contextWindow" in problem


def test_rows_keep_the_order_of_the_file(tmp_path: Path) -> None:
    catalog = with_models(
        tmp_path, zeta={"baseUrl": "http://z/v1", "models": [{"id": "z"}]}, openai={"models": [{"id": "a"}]}
    )
    assert [row.id for row in catalog.rows()[-2:]] == ["z", "a"]


def test_an_unknown_provider_with_an_address_becomes_a_provider(tmp_path: Path) -> None:
    catalog = with_models(
        tmp_path,
        my__co={
            "name": "My Co",
            "baseUrl": "https://llm.example/v1",
            "api": "anthropic",
            "headers": {"x-team": "a"},
            "keyHeader": "X-Key",
            "models": [{"id": "m", "reasoning": True, "reasoningLevelMap": {"low": "a bit"}, "input": ["text"]}],
        },
    )
    provider = catalog.providers()["my-co"]
    assert (provider.name, provider.api, provider.env) == ("My Co", "anthropic", ("MY_CO_API_KEY",))
    assert (provider.headers, provider.needs_key, provider.any_model) == ({"x-team": "a"}, True, True)
    assert provider.key_header == "x-key"
    row = found(catalog, "m", "my-co")
    assert (row.reasoning_levels, row.input) == ({"low": "a bit"}, ("text",))


def test_auth_none_and_addresses_on_this_machine_need_no_key(tmp_path: Path) -> None:
    catalog = with_models(
        tmp_path,
        lan={"baseUrl": "http://10.0.0.5:8000/v1", "auth": "none"},
        here={"baseUrl": "http://127.0.0.1:9/v1"},
        guarded={"baseUrl": "http://127.0.0.1:9/v1", "auth": "key"},
    )
    needs = {name: catalog.providers()[name].needs_key for name in ("lan", "here", "guarded")}
    assert needs == {"lan": False, "here": False, "guarded": True}


def test_a_known_provider_can_be_moved_to_another_address(tmp_path: Path) -> None:
    catalog = with_models(tmp_path, ollama={"baseUrl": "http://box:11434"})
    ollama = catalog.providers()["ollama"]
    assert (ollama.base_url, ollama.user_endpoint, ollama.needs_key) == ("http://box:11434", True, False)


@pytest.mark.parametrize(
    ("key", "entry", "words"),
    [
        ("mine", {"models": [{"id": "m"}]}, 'needs "baseUrl"'),
        ("mine", {"baseUrl": "localhost:8000"}, "expected http"),
        (
            "mine",
            {"baseUrl": "http://x", "api": "cohere"},
            'unknown api "cohere"; known: anthropic, openai, openai-responses, gemini, bedrock',
        ),
        ("script", {"baseUrl": "http://x"}, "not a valid provider id"),
        ("a b", {"baseUrl": "http://x"}, "not a valid provider id"),
        ("openai", {"models": [{"id": "m", "baseUrl": "nowhere"}]}, "expected http"),
        ("openai", {"models": [{"id": "m", "reasoningLevelMap": {"huge": "x"}}]}, "unknown level 'huge'"),
        ("openai", 5, "expected `object`"),
    ],
)
def test_a_provider_that_cannot_work_is_a_problem(tmp_path: Path, key: str, entry: Any, words: str) -> None:
    write(tmp_path, "models.json", {"providers": {key: entry}})
    catalog = Catalog(tmp_path)
    assert catalog.find("m") is None
    (problem,) = catalog.problems
    assert f"providers.{key}" in problem
    assert words in problem


def test_cache_confirms_models_and_preserves_prices(tmp_path: Path) -> None:
    """engine-105: a model seen live is no longer marked as speculative, and its prices stay."""
    models = [{"provider": "openai", "id": "gpt-5.5", "display_name": "GPT-5.5 (live)"}]
    write(tmp_path, "models-cache.json", {"fetched_at": "2020-01-01T00:00:00Z", "models": models})
    row = found(Catalog(tmp_path), "gpt-5.5")
    assert (row.name, row.speculative, row.price_input, row.source) == ("GPT-5.5 (live)", False, 5, "cache")


def test_cache_accepts_reference_key_casing(tmp_path: Path) -> None:
    models = [{"Provider": "openai", "ID": "gpt-9", "DisplayName": "", "ContextWindow": 0, "Speculative": False}]
    write(tmp_path, "models-cache.json", {"fetched_at": "2020-01-01T00:00:00Z", "models": models})
    row = found(Catalog(tmp_path), "gpt-9", "openai")
    assert (row.name, row.source) == ("gpt-9", "cache")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"models": [3]}', b'{"models": 3}', b'{"models":[{"id":5}]}'])
def test_a_corrupt_cache_is_an_empty_one(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "models-cache.json", content)
    assert read_cache(tmp_path).models == []
    assert len(Catalog(tmp_path).rows()) == len(builtin_rows())


def test_user_rows_win_over_the_cache(tmp_path: Path) -> None:
    """engine-102: a row of the user's models.json wins over the same row in the cache."""
    models = [{"provider": "openai", "id": "gpt-5", "display_name": "live name"}]
    write(tmp_path, "models-cache.json", {"models": models})
    catalog = with_models(tmp_path, openai={"models": [{"id": "gpt-5", "name": "mine"}]})
    assert found(catalog, "gpt-5").name == "mine"


def test_refresh_preserves_user_rows_and_builtin_table(tmp_path: Path) -> None:
    """engine-102: a refresh preserves the user's rows and never changes the built-in table."""
    catalog = with_models(tmp_path, openai={"models": [{"id": "gpt-5", "name": "mine"}, {"id": "own"}]})
    catalog.learn([CachedModel(provider="openai", id=name, display_name="L") for name in ("gpt-5", "gpt-5.5", "gpt-9")])
    assert found(catalog, "gpt-5").name == "mine"
    assert found(catalog, "own").source == "user"
    assert found(catalog, "gpt-9").source == "live"
    assert builtin_rows() == Catalog(tmp_path / "other").rows()


@pytest.mark.parametrize(
    ("provider", "model_id", "window", "output"),
    [
        ("openai", "gpt-5-next", 400_000, 128_000),
        ("anthropic", "claude-next-9", 1_000_000, 128_000),
        ("ollama", "qwen3", 32_768, 8_192),
        ("lmstudio", "qwen3", 32_768, 4_096),
        ("mistral", "something", 128_000, 16_384),
        ("openrouter", "openai/gpt-4o-2099", 128_000, 16_384),
    ],
)
def test_model_without_limits_gets_defaults_of_its_kind(
    tmp_path: Path, provider: str, model_id: str, window: int, output: int
) -> None:
    """engine-106: a model of unknown limits gets the usual ones of its kind, so `max_tokens: 0` is never sent."""
    write(tmp_path, "models-cache.json", {"models": [{"provider": provider, "id": model_id}]})
    row = found(Catalog(tmp_path), model_id, provider)
    assert (row.context_window, row.max_output) == (window, output)


def test_a_small_window_leaves_room_for_the_prompt(tmp_path: Path) -> None:
    catalog = with_models(tmp_path, ollama={"models": [{"id": "tiny", "contextWindow": 2048}]})
    assert found(catalog, "tiny").max_output == 1024


def test_reload_sees_an_edited_file(tmp_path: Path) -> None:
    catalog = with_models(tmp_path, openai={"models": [{"id": "one"}]})
    assert catalog.find("one")
    with_models(tmp_path, openai={"models": [{"id": "two"}]})
    catalog.reload()
    assert catalog.find("two")
    assert not catalog.find("one")


def test_an_unreadable_models_json_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, "models.json", {}).chmod(0)
    with plain_user(tmp_path):
        (problem,) = Catalog(tmp_path).problems
    assert "cannot be read" in problem


@pytest.mark.parametrize(
    ("provider", "model", "limits"),
    [
        ("bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", (200_000, 64_000, True)),
        ("bedrock", "openai.gpt-oss-20b-1:0", (131_072, 32_768, True)),
        ("google", "gemini-9-flash", (1_048_576, 65_536, True)),
        ("google", "gemini-2.0-flash", (1_048_576, 8_192, False)),
    ],
)
def test_unlisted_cloud_models_have_family_limits(provider: str, model: str, limits: tuple[int, int, bool]) -> None:
    row = with_limits(Model(id=model, provider=provider), builtin_providers()[provider])
    assert (row.context_window, row.max_output, row.reasoning) == limits


# More rows for the catalogue, of a file or of an address.

NEW = {"id": "claude-next", "provider": "anthropic", "context_window": 500_000, "max_output": 9, "price_input": 2}


def keep(home: Path, *rows: Any) -> None:
    (home / "catalog.json").write_text(json.dumps(rows))


def test_file_rows_are_added_and_replace_same_model(tmp_path: Path) -> None:
    keep(tmp_path, NEW, {"id": "gpt-5", "provider": "openai", "context_window": 7, "max_output": 3, "price_input": 9})
    catalog = Catalog(tmp_path)
    added, replaced = catalog.find("claude-next"), catalog.find("gpt-5", "openai")
    assert added is not None and (added.context_window, added.price_input, added.source) == (500_000, 2, "catalog")
    assert replaced is not None and (replaced.context_window, replaced.price_input) == (7, 9)
    assert catalog.problems == []
    assert catalog.rows()[0].provider == "anthropic"


def test_models_json_overrides_everything(tmp_path: Path) -> None:
    keep(tmp_path, NEW)
    mine = {"providers": {"anthropic": {"models": [{"id": "claude-next", "priceInput": 1}]}}}
    (tmp_path / "models.json").write_text(json.dumps(mine))
    row = Catalog(tmp_path).find("claude-next")
    assert row is not None and (row.price_input, row.source) == (1, "user")


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "x"},
        {"id": "", "provider": "openai"},
        {"id": "x", "provider": "openai", "price_input": -1},
        {"id": "x", "provider": "openai", "context_window": "large"},
        7,
    ],
)
def test_a_wrong_row_costs_itself_alone(tmp_path: Path, wrong: Any) -> None:
    keep(tmp_path, wrong, NEW)
    catalog = Catalog(tmp_path)
    assert catalog.find("claude-next") is not None and catalog.find("x") is None
    (problem,) = catalog.problems
    assert problem.startswith(f"{tmp_path / 'catalog.json'}: models[0]: ")


@pytest.mark.parametrize("text", ["", "{", "7", '{"models": 7}', "\x00"])
def test_invalid_catalogue_file_is_one_line_and_harmless(tmp_path: Path, text: str) -> None:
    (tmp_path / "catalog.json").write_text(text)
    catalog = Catalog(tmp_path)
    assert catalog.find("gpt-5") is not None
    (problem,) = catalog.problems
    assert "catalog.json" in problem and problem.endswith("its models are ignored")


def test_catalogue_cannot_change_base_urls(tmp_path: Path) -> None:
    keep(tmp_path, NEW | {"base_url": "https://elsewhere.example", "source": "user"})
    row = Catalog(tmp_path).find("claude-next")
    assert row is not None and (row.base_url, row.source) == ("", "catalog")


class Address:
    """A server on loopback that answers with the given content."""

    def __init__(self, body: str, status: int = 200) -> None:
        self.body, self.status, self.asked = body, status, 0

    async def fetched(self, home: Path) -> bool:
        async def answer(reader: Any, writer: Any) -> None:
            await reader.readuntil(b"\r\n\r\n")
            self.asked += 1
            data = self.body.encode()
            head = f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(data)}\r\nlocation: http://127.0.0.1:1/\r\n\r\n"
            writer.write(head.encode() + data)
            await writer.drain()
            writer.close()

        pool = HttpPool(environ={})
        async with FakeHttpServer(handler=answer) as server:
            try:
                return await fetch_catalog(pool, f"{server.url}/models.json", home)
            finally:
                await pool.aclose()


async def test_catalogue_url_is_cached_for_six_hours(tmp_path: Path) -> None:
    address = Address(json.dumps({"models": [NEW]}))
    assert await address.fetched(tmp_path)
    assert Catalog(tmp_path).find("claude-next") is not None
    assert not await address.fetched(tmp_path)
    os.utime(tmp_path / "catalog.json", (0, 0))
    assert await address.fetched(tmp_path)
    assert address.asked == 2
    assert (tmp_path / "catalog.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("body", "status"), [("<html>", 200), ("[]", 200), ('[{"id": 1}]', 200), (json.dumps([NEW]), 302), ("no", 500)]
)
async def test_invalid_catalogue_is_not_cached(tmp_path: Path, body: str, status: int) -> None:
    keep(tmp_path, NEW)
    os.utime(tmp_path / "catalog.json", (0, 0))
    assert not await Address(body, status).fetched(tmp_path)
    assert Catalog(tmp_path).find("claude-next") is not None


async def test_insecure_catalogue_url_is_not_requested(tmp_path: Path) -> None:
    assert not await fetch_catalog(HttpPool(environ={}), "http://models.example/list.json", tmp_path)
    assert not (tmp_path / "catalog.json").exists()
