"""Model discovery against a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.catalog import Cache, CachedModel, Catalog, read_cache
from zot.provider.discovery import DiscoveryTarget, find_local_servers, refresh, refresh_due, targets
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider, builtin_providers

PROVIDERS = builtin_providers()

Answer = Callable[[str, dict[str, str]], "tuple[int, Any]"]


class ModelListServer:
    """Answers GET with the result of ``answer`` for the target and headers; a None body never answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answer: Answer = lambda target, headers: (200, {"data": []})
        self.base = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        target = lines[0].split()[1]
        self.requests.append((target, headers))
        status, body = self.answer(target, headers)
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n".encode())
            writer.write(data)
            await writer.drain()
            writer.close()
        else:
            await reader.read()
            writer.close()


@pytest.fixture
async def server() -> AsyncGenerator[ModelListServer]:
    lists = ModelListServer()
    listening = await asyncio.start_server(lists.serve, "127.0.0.1", 0)
    lists.base = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield lists


@pytest.fixture
async def pool() -> AsyncGenerator[HttpPool]:
    shared = HttpPool(environ={})
    yield shared
    await shared.aclose()


def ids(models: list[CachedModel] | None) -> list[str]:
    return [model.id for model in models or []]


def listing(*names: str) -> dict[str, Any]:
    return {"data": [{"id": name} for name in names]}


def write_cache(home: Path, age_s: float, *models: CachedModel, **stamps: float) -> None:
    def stamp(age: float) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age))

    cache = Cache(
        fetched_at=stamp(age_s), providers={key: stamp(age) for key, age in stamps.items()}, models=list(models)
    )
    (home / "models-cache.json").write_bytes(msgspec.json.encode(cache))


async def test_anthropic_list_is_paged_with_after_id(tmp_path: Path, server: ModelListServer, pool: HttpPool) -> None:
    """engine-103: the model list is paged with `after_id` until `has_more` is false."""
    pages = {
        "/v1/models?limit=1000": {"data": [{"id": "a", "display_name": "A"}], "has_more": True, "last_id": "a"},
        "/v1/models?limit=1000&after_id=a": {"data": [{"id": "b"}], "has_more": True, "last_id": "b"},
        "/v1/models?limit=1000&after_id=b": {"data": [{"id": "c"}], "has_more": False, "last_id": "c"},
    }
    server.answer = lambda target, headers: (200, pages[target])
    found = await refresh(pool, [DiscoveryTarget(PROVIDERS["anthropic"], server.base, "key")], tmp_path)
    assert ids(found) == ["a", "b", "c"]
    assert [target for target, _ in server.requests] == list(pages)
    headers = server.requests[0][1]
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("key", "2023-06-01")
    assert "authorization" not in headers


async def test_endless_paging_stops_at_a_limit(tmp_path: Path, server: ModelListServer, pool: HttpPool) -> None:
    server.answer = lambda target, headers: (200, {"data": [{"id": "x"}], "has_more": True, "last_id": "x"})
    await refresh(pool, [DiscoveryTarget(PROVIDERS["anthropic"], server.base, "key")], tmp_path)
    assert len(server.requests) == 20


async def test_openai_keeps_chat_models_only(tmp_path: Path, server: ModelListServer, pool: HttpPool) -> None:
    """engine-104: embedding, speech, transcription and image models are dropped from OpenAI's list."""
    keep = ["gpt-5", "o3-mini", "o4", "o5-next", "chatgpt-4o-latest", "o1"]
    drop = [
        "text-embedding-3-large",
        "tts-1",
        "gpt-4o-mini-tts",
        "gpt-4o-transcribe",
        "whisper-1",
        "gpt-image-1",
        "dall-e-3",
    ]
    server.answer = lambda target, headers: (200, listing(*keep, *drop))
    found = await refresh(pool, [DiscoveryTarget(PROVIDERS["openai"], server.base, "key")], tmp_path)
    assert ids(found) == keep
    ((target, headers),) = server.requests
    assert target == "/v1/models"
    assert headers["authorization"] == "Bearer key"
    assert headers["user-agent"].startswith("zot/")


async def test_kimi_is_queried_at_its_path_without_prefix_filter(
    tmp_path: Path, server: ModelListServer, pool: HttpPool
) -> None:
    server.answer = lambda target, headers: (200, listing("kimi-for-coding", "kimi-k3"))
    found = await refresh(pool, [DiscoveryTarget(PROVIDERS["kimi"], f"{server.base}/coding/v1", "k")], tmp_path)
    assert ids(found) == ["kimi-for-coding", "kimi-k3"]
    assert server.requests[0][0] == "/coding/v1/models"


async def test_fresh_cache_prevents_discovery_and_old_one_does_not(
    tmp_path: Path, server: ModelListServer, pool: HttpPool
) -> None:
    """engine-101, engine-252: a cache younger than six hours sends no request; an older one is refreshed."""
    server.answer = lambda target, headers: (200, listing("gpt-9"))
    target = DiscoveryTarget(PROVIDERS["openai"], server.base, "key")
    write_cache(tmp_path, 5 * 3600, CachedModel(provider="openai", id="gpt-8"))
    assert await refresh(pool, [target], tmp_path) is None
    assert server.requests == []
    write_cache(tmp_path, 7 * 3600, CachedModel(provider="openai", id="gpt-8"))
    assert ids(await refresh(pool, [target], tmp_path)) == ["gpt-9"]
    assert ids(await refresh(pool, [target], tmp_path)) == []
    assert len(server.requests) == 1


def test_each_provider_has_its_own_age() -> None:
    now = 1_800_000_000.0
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 60))
    cache = Cache(fetched_at=stamp, providers={"openai": stamp})
    assert not refresh_due(cache, "openai", now)
    assert refresh_due(cache, "groq", now)
    assert not refresh_due(Cache(fetched_at=stamp), "groq", now)  # written by the reference: one age for all
    assert refresh_due(Cache(), "groq", now)
    assert refresh_due(Cache(fetched_at="nonsense"), "groq", now)
    assert refresh_due(Cache(fetched_at="2999-01-01T00:00:00Z"), "groq", now)


async def test_failing_provider_keeps_cached_models(tmp_path: Path, server: ModelListServer, pool: HttpPool) -> None:
    write_cache(tmp_path, 7 * 3600, CachedModel(provider="kimi", id="old"), CachedModel(provider="openai", id="gpt-8"))
    server.answer = lambda target, headers: (500, {}) if target.startswith("/kimi") else (200, listing("gpt-9"))
    asked = [
        DiscoveryTarget(PROVIDERS["kimi"], f"{server.base}/kimi/v1", "k"),
        DiscoveryTarget(PROVIDERS["openai"], server.base, "k"),
    ]
    assert ids(await refresh(pool, asked, tmp_path)) == ["old", "gpt-9"]
    cache = read_cache(tmp_path)
    assert refresh_due(cache, "kimi")
    assert not refresh_due(cache, "openai")


async def test_the_cache_is_private_and_readable_by_the_next_run(
    tmp_path: Path, server: ModelListServer, pool: HttpPool
) -> None:
    entries = [{"id": "gpt-9", "display_name": "GPT-9", "context_window": 1000, "max_completion_tokens": 50}]
    server.answer = lambda target, headers: (200, {"data": entries})
    await refresh(pool, [DiscoveryTarget(PROVIDERS["openai"], server.base, "k")], tmp_path)
    path = tmp_path / "models-cache.json"
    assert path.stat().st_mode & 0o777 == 0o600
    row = Catalog(tmp_path).find("gpt-9", "openai")
    assert row is not None
    assert (row.name, row.context_window, row.max_output, row.source) == ("GPT-9", 1000, 50, "cache")


async def test_user_overrides_survive_a_refresh(tmp_path: Path, server: ModelListServer, pool: HttpPool) -> None:
    """engine-102: a refresh neither overwrites nor removes the user's own rows."""
    mine = {"providers": {"openai": {"models": [{"id": "gpt-5", "name": "mine"}, {"id": "own"}]}}}
    (tmp_path / "models.json").write_text(json.dumps(mine))
    catalog = Catalog(tmp_path)
    server.answer = lambda target, headers: (200, listing("gpt-5", "gpt-9"))
    catalog.learn(await refresh(pool, [DiscoveryTarget(PROVIDERS["openai"], server.base, "k")], tmp_path) or [])
    names = {row.id: row.name for row in catalog.rows() if row.provider == "openai"}
    assert (names["gpt-5"], names["own"], names["gpt-9"]) == ("mine", "own", "gpt-9")


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"not json"),
        (200, b"[]"),
        (200, {"data": "none"}),
        (200, {"data": [5, {"id": 7}, {"id": "\x1b[2J"}]}),
        (401, listing("gpt-9")),
        (302, listing("gpt-9")),
    ],
)
async def test_a_useless_answer_changes_nothing(
    tmp_path: Path, server: ModelListServer, pool: HttpPool, answer: tuple[int, Any]
) -> None:
    server.answer = lambda target, headers: answer
    assert await refresh(pool, [DiscoveryTarget(PROVIDERS["openai"], server.base, "k")], tmp_path) is None
    assert not (tmp_path / "models-cache.json").exists()


async def test_unreachable_server_is_silent(tmp_path: Path, pool: HttpPool) -> None:
    assert await refresh(pool, [DiscoveryTarget(PROVIDERS["openai"], "http://127.0.0.1:1", "k")], tmp_path) is None


async def test_silent_server_does_not_delay_the_others(tmp_path: Path, server: ModelListServer, pool: HttpPool) -> None:
    server.answer = lambda target, headers: (200, None) if target.startswith("/slow") else (200, listing("gpt-9"))
    asked = [
        DiscoveryTarget(PROVIDERS["kimi"], f"{server.base}/slow/v1", "k"),
        DiscoveryTarget(PROVIDERS["openai"], server.base, "k"),
    ]
    assert ids(await refresh(pool, asked, tmp_path, budget_s=1.0)) == ["gpt-9"]


async def test_cancelling_a_refresh_passes(tmp_path: Path, server: ModelListServer, pool: HttpPool) -> None:
    asked = asyncio.Event()

    def never(target: str, headers: dict[str, str]) -> tuple[int, Any]:
        asked.set()
        return 200, None

    server.answer = never
    running = asyncio.ensure_future(refresh(pool, [DiscoveryTarget(PROVIDERS["openai"], server.base, "k")], tmp_path))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_only_providers_with_a_key_are_queried(tmp_path: Path) -> None:
    """engine-252, engine-101: a provider without a credential is not queried for its models."""
    store = AuthStore(tmp_path)
    store.set_api_key("groq", "g")
    found = targets(PROVIDERS.values(), store, {"OPENAI_API_KEY": "o"})
    assert {(t.provider.id, t.key) for t in found} == {("openai", "o"), ("openai-responses", "o"), ("groq", "g")}
    assert targets(PROVIDERS.values(), AuthStore(tmp_path / "none"), {}) == []


def test_targets_have_valid_plans_but_no_expired_login(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_oauth("openai", OAuthToken(access_token="at"))
    store.set_oauth("copilot", OAuthToken(access_token="tid", base_url="https://api.individual.githubcopilot.com"))
    store.set_oauth("anthropic", OAuthToken(access_token="at", expiry="2020-01-01T00:00:00Z", refresh_token="r"))
    found = {target.provider.id: (target.base_url, target.oauth) for target in targets(PROVIDERS.values(), store, {})}
    assert found == {
        "openai": ("https://api.openai.com/v1", True),
        "copilot": ("https://api.individual.githubcopilot.com", True),
    }


def test_login_at_an_own_address_is_not_used_for_lists(tmp_path: Path) -> None:
    entry = {"baseUrl": "https://mine.test/v1", "oauth": {"client_id": "c"}}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"openai": entry}}))
    store = AuthStore(tmp_path)
    store.set_oauth("openai", OAuthToken(access_token="at"))
    assert targets(Catalog(tmp_path).providers().values(), store, {}) == []


def test_local_server_is_queried_if_configured_or_active(tmp_path: Path) -> None:
    mine = {
        "providers": {
            "lan": {"baseUrl": "http://10.0.0.9/v1", "auth": "none", "discover": True},
            "quiet": {"baseUrl": "http://10.0.0.9/v1", "auth": "none"},
            "lmstudio": {"baseUrl": "http://localhost:9999/v1"},
        }
    }
    (tmp_path / "models.json").write_text(json.dumps(mine))
    providers = Catalog(tmp_path).providers().values()
    store = AuthStore(tmp_path)
    assert [t.provider.id for t in targets(providers, store, {})] == ["lmstudio", "lan"]
    assert [t.provider.id for t in targets(providers, store, {}, in_use="ollama")] == ["ollama", "lmstudio", "lan"]


def test_flag_key_is_sent_only_to_the_active_provider(tmp_path: Path) -> None:
    found = targets(PROVIDERS.values(), AuthStore(tmp_path), {}, in_use="groq", api_key="k")
    assert [(t.provider.id, t.key) for t in found] == [("groq", "k")]
    assert "k'" not in repr(found)


async def test_custom_provider_gets_windows_from_server(
    tmp_path: Path, server: ModelListServer, pool: HttpPool
) -> None:
    mine = Provider(id="mine", name="Mine", api="openai", discover=True, needs_key=False, headers={"X-Team": "a"})
    entry = {"providers": {"mine": {"baseUrl": f"{server.base}/v1", "discover": True}}}
    (tmp_path / "models.json").write_text(json.dumps(entry))
    server.answer = lambda target, headers: (200, {"data": [{"id": "big", "max_model_len": 65536}, {"id": "plain"}]})
    await refresh(pool, [DiscoveryTarget(mine, f"{server.base}/v1")], tmp_path)
    rows = {row.id: (row.context_window, row.max_output) for row in Catalog(tmp_path).rows() if row.provider == "mine"}
    assert rows == {"big": (65536, 4096), "plain": (32768, 4096)}
    headers = server.requests[0][1]
    assert headers["x-team"] == "a"
    assert "authorization" not in headers


async def test_local_servers_are_found_on_their_ports(server: ModelListServer, pool: HttpPool) -> None:
    server.answer = lambda target, headers: (200, listing("qwen3", "nomic-embed-text"))
    here = [
        msgspec.structs.replace(PROVIDERS["ollama"], base_url=server.base.replace("127.0.0.1", "localhost")),
        msgspec.structs.replace(PROVIDERS["vllm"], base_url="http://localhost:1/v1"),
        PROVIDERS["openai"],
    ]
    (found,) = await find_local_servers(pool, 10, here)
    assert (found.provider, found.base_url, found.models) == ("ollama", server.base, ("qwen3",))


async def test_server_without_models_is_not_found(server: ModelListServer, pool: HttpPool) -> None:
    server.answer = lambda target, headers: (404, {"error": "what?"})
    vllm = msgspec.structs.replace(PROVIDERS["vllm"], base_url=f"{server.base}/v1")
    assert await find_local_servers(pool, 10, [vllm]) == []
    assert len(server.requests) == 1


async def test_local_servers_are_found_through_their_variable(server: ModelListServer, pool: HttpPool) -> None:
    server.answer = lambda target, headers: (200, {"data": [{"id": "qwen3"}]})
    (found,) = await find_local_servers(
        pool, 10, [PROVIDERS["llama.cpp"]], {"LLAMA_BASE_URL": f"{server.base}/v1", "OTHER": "x"}
    )
    assert (found.provider, found.base_url) == ("llama.cpp", f"{server.base}/v1")


LISTED = {"data": [{"id": "small"}, {"id": "large"}]}
SHOWN = {
    "parameters": "temperature 1\nnum_ctx                        6144",
    "model_info": {"qwen3.context_length": 40960},
}
LOCAL_ANSWERS: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    (
        "llama.cpp",
        {"/v1/models": {"data": [{"id": "small", "meta": {"n_ctx_train": 131072, "n_ctx": 4096}}]}},
        {"small": 4096},
    ),
    (
        "llama.cpp",
        {"/v1/models": LISTED, "/props": {"default_generation_settings": {"n_ctx": 8192}}},
        {"small": 8192, "large": 8192},
    ),
    (
        "lmstudio",
        {
            "/v1/models": LISTED,
            "/api/v0/models": {
                "data": [
                    {"id": "small", "max_context_length": 32768, "loaded_context_length": 4096},
                    {"id": "large", "max_context_length": 65536},
                ]
            },
        },
        {"small": 4096, "large": 65536},
    ),
    (
        "ollama",
        {
            "/v1/models": LISTED,
            "/api/ps": {"models": [{"name": "small", "model": "small", "context_length": 4096}]},
            "/api/show": SHOWN,
        },
        {"small": 4096, "large": 6144},
    ),
    (
        "ollama",
        {"/v1/models": LISTED, "/api/show": {"model_info": {"gemma.context_length": 8192}}},
        {"small": 8192, "large": 8192},
    ),
    ("ollama", {"/v1/models": LISTED, "/api/show": {"model_info": {"q.context_length": 262144}}}, {"small": 0}),
    ("vllm", {"/v1/models": {"data": [{"id": "small", "max_model_len": 16384}]}}, {"small": 16384}),
    ("vllm", {"/v1/models": LISTED, "/props": [{"n_ctx": 1}]}, {"small": 0}),
    ("llama.cpp", {"/v1/models": LISTED, "/props": {"default_generation_settings": {"n_ctx": "many"}}}, {"small": 0}),
]


@pytest.mark.parametrize(("provider", "answers", "windows"), LOCAL_ANSWERS)
async def test_local_server_is_queried_for_its_window(
    server: ModelListServer,
    pool: HttpPool,
    tmp_path: Path,
    provider: str,
    answers: dict[str, Any],
    windows: dict[str, int],
) -> None:
    server.answer = lambda target, headers: (200, answers[target]) if target in answers else (404, {"error": "what?"})
    here = msgspec.structs.replace(PROVIDERS[provider], base_url=f"{server.base}/v1")
    models = await refresh(pool, [DiscoveryTarget(here, here.base_url)], tmp_path)
    assert models is not None
    found = {model.id: model.context_window for model in models}
    assert {id: found[id] for id in windows} == windows


CAN, CAN_NOT = {"supports_tools": True}, {"supports_tools": False}
TOOL_ANSWERS: list[tuple[str, dict[str, Any], dict[str, bool | None]]] = [
    ("llama.cpp", {"/v1/models": LISTED, "/props": {"chat_template_caps": CAN_NOT}}, {"small": False}),
    ("llama.cpp", {"/v1/models": LISTED, "/props": {"chat_template_caps": CAN}}, {"large": True}),
    ("llama.cpp", {"/v1/models": LISTED, "/props": {}}, {"small": None}),
    (
        "lmstudio",
        {
            "/v1/models": LISTED,
            "/api/v0/models": {"data": [{"id": "small", "capabilities": ["tool_use"]}, {"id": "large"}]},
        },
        {"small": True, "large": None},
    ),
    ("ollama", {"/v1/models": LISTED, "/api/show": {"capabilities": ["completion"]}}, {"small": False}),
    ("ollama", {"/v1/models": LISTED, "/api/show": {"capabilities": ["completion", "tools"]}}, {"small": True}),
    ("ollama", {"/v1/models": LISTED}, {"small": None}),
]


@pytest.mark.parametrize(("provider", "answers", "tools"), TOOL_ANSWERS)
async def test_local_server_is_queried_for_tool_support(
    server: ModelListServer,
    pool: HttpPool,
    tmp_path: Path,
    provider: str,
    answers: dict[str, Any],
    tools: dict[str, bool | None],
) -> None:
    server.answer = lambda target, headers: (200, answers[target]) if target in answers else (404, {"error": "what?"})
    here = msgspec.structs.replace(PROVIDERS[provider], base_url=f"{server.base}/v1")
    models = await refresh(pool, [DiscoveryTarget(here, here.base_url)], tmp_path)
    assert models is not None
    found = {model.id: model.tools for model in models}
    assert {id: found[id] for id in tools} == tools
    assert {row.id: row.tools for row in Catalog(tmp_path).rows() if row.id in tools} == tools


async def test_local_server_is_queried_in_every_run(server: ModelListServer, pool: HttpPool, tmp_path: Path) -> None:
    """It may have been restarted with another window."""
    here = msgspec.structs.replace(PROVIDERS["vllm"], base_url=f"{server.base}/v1")
    for window in (4096, 8192):
        server.answer = lambda target, headers, size=window: (200, {"data": [{"id": "m", "max_model_len": size}]})
        models = await refresh(pool, [DiscoveryTarget(here, here.base_url)], tmp_path)
        assert models is not None and models[0].context_window == window
