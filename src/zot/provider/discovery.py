"""Queries providers and local servers for their models, and tests API keys.
The caller runs ``refresh`` during a prompt or a model list, never at start. Failures are silent, and the cache of a
provider that did not answer is preserved."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from zot.errors import AuthFailed, ConfigError, NotLoggedIn, ProviderError, TransportFailed
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.credential_lookup import Credential, find_credential
from zot.provider.catalog import CACHE_FILE, Cache, CachedModel, read_cache
from zot.provider.dialects import dialect_for
from zot.provider.dialects.dialect import Endpoint, ListedModel
from zot.provider.dialects.request_parts import bearer, get
from zot.provider.error_mapping import error_from_response
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool
from zot.provider.providers import JOINED, Provider, base_url_of, base_url_variable, builtin_providers
from zot.provider.secret_redaction import redact
from zot.system.files import locked, write_atomic

TTL_S = 6 * 3600
_REQUEST_S = 15.0
_PROBE_S = 3.0
_PAGES = 20
_BODY_LIMIT = 8 * 1024 * 1024
_NO_CHAT = re.compile(
    r"embed|moderation|rerank|whisper|transcri|tts|dall-e|realtime|gpt-(image|audio)|gemini.*(image|audio|live)", re.I
)


class DiscoveryTarget(msgspec.Struct, frozen=True):
    """One provider to query, with the key that signs the request (empty if none is needed)."""

    provider: Provider
    base_url: str
    key: str = ""
    oauth: bool = False  # the key is the token of a plan

    def __repr__(self) -> str:
        """Omits the key, since tracebacks show this."""
        return f"Target({self.provider.id!r}, {self.base_url!r})"


class LocalServer(msgspec.Struct, frozen=True):
    provider: str
    base_url: str
    models: tuple[str, ...]


def targets(
    providers: Iterable[Provider],
    store: AuthStore,
    environ: Mapping[str, str],
    *,
    in_use: str = "",
    api_key: str = "",
) -> list[DiscoveryTarget]:
    """Providers to query: those with a key, and local servers configured or in use. Expired logins are skipped and
    no key command is run. ``api_key`` is the flag, for the provider in use."""
    found: list[DiscoveryTarget] = []
    for provider in providers:
        used = provider.id == in_use
        if provider.api in ("script", JOINED) or (provider.local and not (used or provider.user_endpoint)):
            continue
        if not provider.lists_models or (provider.cloud and not used):  # cloud credentials are not used for this
            continue
        if provider.needs_key and base_url_variable(provider, environ):  # its list is not the provider's
            continue
        try:
            credential = find_credential(provider, store, environ, api_key=api_key if used else "", background=True)
        except (NotLoggedIn, ConfigError):
            continue
        if credential is not None and credential.bearer:
            continue  # of a gateway
        if credential is not None and credential.method == "apikey":
            found.append(DiscoveryTarget(provider, base_url_of(provider, environ), credential.key))
        elif credential is not None and _is_plan(provider, credential):
            url = credential.base_url or provider.oauth_base_url or base_url_of(provider, environ)
            found.append(DiscoveryTarget(provider, url, credential.key, oauth=True))
        elif credential is None and not provider.needs_key and (provider.local or provider.discover):
            found.append(DiscoveryTarget(provider, base_url_of(provider, environ)))
    return [target for target in found if target.base_url]


def _is_plan(provider: Provider, credential: Credential) -> bool:
    """True for an unexpired login at the provider itself; nothing is refreshed for a list."""
    if credential.method != "oauth" or not credential.account or provider.user_endpoint:
        return False
    row = builtin_providers().get(provider.id)
    same = row is not None and row.oauth_row.get("token_url") == provider.oauth_row.get("token_url")
    return same and not OAuthToken(access_token="", expiry=credential.expiry).expired(time.time())


def refresh_due(cache: Cache, provider: str, now: float | None = None) -> bool:
    """True if the cache of a provider is missing or older than six hours."""
    stamp = cache.providers.get(provider, "") if cache.providers else cache.fetched_at
    try:
        age = (time.time() if now is None else now) - datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return True
    return not 0 <= age < TTL_S


async def refresh(
    pool: HttpPool, targets: Iterable[DiscoveryTarget], home: Path, *, budget_s: float = 20.0
) -> list[CachedModel] | None:
    """Query targets with a stale cache and rewrite it; returns the list for ``Catalog.learn`` or None. Failures are
    silent."""
    cache = read_cache(home)
    # a local server may have been restarted with another model or window
    due = [
        target
        for target in targets
        if (target.provider.local and not target.provider.user_endpoint) or refresh_due(cache, _owner(target.provider))
    ]
    found: dict[str, list[CachedModel]] = {}
    try:
        async with asyncio.timeout(budget_s), asyncio.TaskGroup() as group:
            for target in due:
                group.create_task(_collect(pool, target, found))
    except TimeoutError:
        pass
    if not found:
        return None
    path = home / CACHE_FILE
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        with locked(path):
            cache = read_cache(home)  # again: another process may have refreshed it
            kept = [model for model in cache.models if model.provider not in found]
            models = kept + [model for models in found.values() for model in models]
            stamps = cache.providers or {model.provider: cache.fetched_at for model in kept}
            stamps = {**stamps, **dict.fromkeys(found, now)}
            write_atomic(path, msgspec.json.encode(Cache(fetched_at=now, providers=stamps, models=models)))
    except OSError:
        return [model for models in found.values() for model in models]
    return models


async def find_local_servers(
    pool: HttpPool,
    timeout: float = 0.5,
    providers: Iterable[Provider] | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[LocalServer]:
    """Local servers that answer on their port or variable (``LLAMA_BASE_URL``) and have a model, in table order."""
    rows = builtin_providers().values() if providers is None else providers
    local = [row for row in rows if row.local and row.lists_models]
    found: dict[str, LocalServer] = {}

    async def look(provider: Provider) -> None:
        base_url = base_url_of(provider, environ or {}).replace("//localhost", "//127.0.0.1")
        try:
            async with asyncio.timeout(timeout):
                models = await _models(pool, DiscoveryTarget(provider, base_url), windows=False)
        except (ProviderError, TimeoutError, OSError):
            return
        if models:
            found[provider.id] = LocalServer(provider.id, base_url, tuple(m.id for m in models))

    async with asyncio.TaskGroup() as group:
        for provider in local:
            group.create_task(look(provider))
    return [found[row.id] for row in local if row.id in found]


async def _collect(pool: HttpPool, target: DiscoveryTarget, found: dict[str, list[CachedModel]]) -> None:
    limit = _PROBE_S if target.provider.discover or target.provider.local else _REQUEST_S
    try:
        async with asyncio.timeout(limit):
            models = await _models(pool, target)
    except (ProviderError, TimeoutError, OSError):
        return
    if models:
        found[_owner(target.provider)] = models


async def _models(pool: HttpPool, target: DiscoveryTarget, *, windows: bool = True) -> list[CachedModel]:
    provider = target.provider
    dialect = dialect_for((target.oauth and provider.oauth_api) or provider.api)
    endpoint = Endpoint(
        provider=provider.id,
        base_url=target.base_url,
        api_key=target.key,
        oauth=target.oauth,
        key_header=provider.key_header,
        headers=provider.headers,
    )
    models: list[ListedModel] = []
    after = ""
    for _ in range(_PAGES):
        page, after = dialect.listed(await _get(pool, dialect.list_request(endpoint, after)))
        models += page
        if not after:
            break
    if windows and provider.local and models:
        with contextlib.suppress(ProviderError, OSError):  # the list is useful without them
            models = await with_server_info(provider.id, endpoint, models, lambda request: _get(pool, request))
    return [
        CachedModel(provider=_owner(provider), **msgspec.structs.asdict(model))
        for model in models
        if not _NO_CHAT.search(model.id) and (not provider.live_prefixes or model.id.startswith(provider.live_prefixes))
    ]


async def _get(pool: HttpPool, request: HttpRequest) -> dict[str, Any]:
    response = await pool.dispatch(request, connect_timeout=_REQUEST_S)
    try:
        if response.status != 200:
            return {}
        value = msgspec.json.decode(await response.read(_BODY_LIMIT))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    finally:
        response.abort()
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _owner(provider: Provider) -> str:
    return provider.rows_of or provider.id


# Context window and tool support of models on a local server; each kind of server has its own address for it.

Ask = Callable[[HttpRequest], Awaitable[dict[str, Any]]]

_ASSUMED_BY_OLLAMA = 32_768  # assumed window of a model with a larger one
_MOST_SHOWN = 20  # models queried individually from ollama


class ServerModelInfo(NamedTuple):
    window: int = 0
    tools: bool | None = None


async def with_server_info(kind: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask) -> list[ListedModel]:
    """The models with details from the server. ``kind`` is the provider's id; unknown kinds get only common queries."""
    root = endpoint.base_url.rstrip("/").removesuffix("/v1")
    found = await _READERS.get(kind, _llama_cpp)(root, endpoint, models, ask)
    return [_with(model, found.get(model.id, ServerModelInfo())) for model in models]


def _with(model: ListedModel, info: ServerModelInfo) -> ListedModel:
    window = model.context_window or info.window
    return msgspec.structs.replace(model, context_window=window, tools=info.tools)


async def _llama_cpp(
    root: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask
) -> dict[str, ServerModelInfo]:
    """``/props``: one model, the context of each slot, and abilities of its template."""
    props = await ask(get(f"{root}/props", endpoint, bearer(endpoint)))
    window = _number(_object(props.get("default_generation_settings")), "n_ctx") or _number(props, "n_ctx")
    can = _object(props.get("chat_template_caps")).get("supports_tools")
    return {model.id: ServerModelInfo(window, can if isinstance(can, bool) else None) for model in models}


async def _lm_studio(
    root: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask
) -> dict[str, ServerModelInfo]:
    """LM Studio's list: loaded models have the window they were loaded with."""
    page = await ask(get(f"{root}/api/v0/models", endpoint, bearer(endpoint)))
    rows = [_object(row) for row in _list(page.get("data"))]
    return {
        str(row.get("id")): ServerModelInfo(
            _number(row, "loaded_context_length", "max_context_length"), _listed_among("tool_use", row)
        )
        for row in rows
    }


async def _ollama(root: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask) -> dict[str, ServerModelInfo]:
    """A running model has its window; another one the ``num_ctx`` of its file, if any."""
    running = await ask(get(f"{root}/api/ps", endpoint, bearer(endpoint)))
    rows = [_object(row) for row in _list(running.get("models"))]
    windows = {str(row.get("model") or row.get("name")): _number(row, "context_length") for row in rows}
    found: dict[str, ServerModelInfo] = {name: ServerModelInfo(window) for name, window in windows.items()}
    for model in models[:_MOST_SHOWN]:
        request = get(f"{root}/api/show", endpoint, [("content-type", "application/json"), *bearer(endpoint)])
        shown = await ask(HttpRequest("POST", request.url, request.headers, msgspec.json.encode({"model": model.id})))
        found[model.id] = ServerModelInfo(windows.get(model.id) or _made_with(shown), _listed_among("tools", shown))
    return found


def _listed_among(ability: str, row: Mapping[str, Any]) -> bool | None:
    """Older servers do not list abilities."""
    return ability in _list(row["capabilities"]) if isinstance(row.get("capabilities"), list) else None


def _made_with(shown: Mapping[str, Any]) -> int:
    given = re.search(r"(?m)^num_ctx\s+(\d{1,9})\s*$", str(shown.get("parameters") or "")[:10_000])
    if given:
        return int(given[1])
    info = _object(shown.get("model_info"))
    trained = next((_number(info, key) for key in info if key.endswith(".context_length")), 0)
    return trained if trained < _ASSUMED_BY_OLLAMA else 0


_READERS = {"llama.cpp": _llama_cpp, "lmstudio": _lm_studio, "ollama": _ollama}


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _number(row: Mapping[str, Any], *names: str) -> int:
    values = [row.get(name) for name in names]
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 0), 0)


_TIMEOUT_S = 15.0
_KEY_BODY_LIMIT = 64 * 1024
_NO_LIST = (404, 405)


async def probe_key(pool: HttpPool, provider: Provider, endpoint: Endpoint) -> None:
    """AuthFailed for a rejected key, another ProviderError if the provider cannot be reached."""
    if not endpoint.api_key.strip():
        raise AuthFailed(f"{provider.id}: the key is empty", provider=provider.id)
    gateway = endpoint.base_url != provider.base_url  # a custom address
    try:
        await _ask(pool, provider, endpoint, may_lack_list=gateway)
    except AuthFailed:
        if gateway or not provider.other_key_url:
            raise
        await _ask(pool, provider, msgspec.structs.replace(endpoint, base_url=provider.other_key_url))


async def _ask(pool: HttpPool, provider: Provider, endpoint: Endpoint, *, may_lack_list: bool = False) -> None:
    """``may_lack_list``: a missing model list does not mean a bad key."""
    request = dialect_for(provider.api).probe_request(endpoint)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            response = await pool.dispatch(request, insecure=endpoint.insecure, connect_timeout=_TIMEOUT_S)
            try:
                if response.status >= 300 and not (may_lack_list and response.status in _NO_LIST):
                    body = await response.read(_KEY_BODY_LIMIT)
                    raise error_from_response(provider.id, response.status, response.headers, body)
            finally:
                response.abort()
    except TimeoutError as error:
        raise TransportFailed(f"{provider.id}: no answer within {_TIMEOUT_S:g} s", provider=provider.id) from error
    except ProviderError as error:
        redact(error, endpoint)
        raise


def refusal(error: ProviderError) -> str:
    """The error for the user who entered the key, in the provider's words."""
    if isinstance(error, AuthFailed) and error.status:
        words = str(error).removeprefix(f"{error.provider}: http {error.status}: ")
        detail = "" if words == "(empty body)" else f": {words}"
        return f"{error.provider} refused this key (http {error.status}){detail}"
    return str(error)
