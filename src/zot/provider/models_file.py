"""The user's ``models.json``: model overrides, own models, own providers. zot only reads it.
A wrong entry is ignored and adds a line to ``problems``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec

from zot.errors import ConfigError
from zot.provider.dialects import DIALECTS
from zot.provider.model import REASONING_LEVELS, LongPrompt, Model
from zot.provider.providers import (
    RESERVED_IDS,
    Provider,
    alias_target,
    builtin_providers,
    is_loopback,
    is_url,
    key_variable,
)
from zot.system.files import decode_object, read_bytes

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Price = Annotated[float, msgspec.Meta(ge=0)]
_PRICES = ("price_input", "price_output", "price_cache_read", "price_cache_write")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class UserLongPrompt(msgspec.Struct, frozen=True, rename="camel"):
    above: Annotated[int, msgspec.Meta(gt=0)]
    price_input: _Price
    price_output: _Price
    price_cache_read: _Price = 0
    price_cache_write: _Price = 0


class UserModel(msgspec.Struct, frozen=True, rename="camel"):
    """One model entry; absent fields keep the catalog's value."""

    id: Annotated[str, msgspec.Meta(min_length=1)]
    name: str = ""
    reasoning: bool | None = None
    reasoning_level_map: dict[str, str] = {}
    context_window: _Count = 0
    max_tokens: _Count = 0
    base_url: str = ""
    price_input: _Price | None = None
    price_output: _Price | None = None  # 0 means free
    price_cache_read: _Price = 0
    price_cache_write: _Price = 0
    long_prompt: UserLongPrompt | None = None
    input: tuple[str, ...] = ()
    tools: bool | None = None
    tool_calls: Literal["", "grammar"] = ""


class UserProvider(msgspec.Struct, frozen=True, rename="camel"):
    """One provider entry; ``models`` are checked one by one."""

    name: str = ""
    base_url: str = ""
    api: str = ""
    auth: Literal["", "key", "none"] = ""
    discover: bool = False
    headers: dict[str, str] = {}
    oauth: dict[str, Any] = {}
    key_header: str = ""
    tool_calls: Literal["", "grammar"] = ""
    models: list[Any] = []


class ModelsFile(msgspec.Struct, frozen=True):
    """The content in file order: provider rows and (provider id, model) pairs."""

    providers: dict[str, Provider] = {}
    models: list[tuple[str, UserModel]] = []
    problems: list[str] = []


def read_models_file(path: Path) -> ModelsFile:
    found = ModelsFile(providers={}, models=[], problems=[])
    try:
        data = read_bytes(path)
        providers: Any = decode_object(path, data).get("providers", {}) if data is not None else {}
    except ConfigError as error:
        found.problems.append(f"{error}; the file is ignored until it is fixed")
        return found
    if not isinstance(providers, dict):
        found.problems.append(f'{path}: "providers": expected an object of provider entries')
        return found
    for key, value in cast("dict[str, Any]", providers).items():
        _read_provider(found, path, key, value)
    return found


def _read_provider(found: ModelsFile, path: Path, key: str, value: Any) -> None:
    place = f"{path}: providers.{key}"
    entry = _convert(value, UserProvider, place, found.problems)
    if entry is None:
        return
    models: list[UserModel] = []
    for index, raw in enumerate(entry.models):
        model = _convert(raw, UserModel, f"{place}.models[{index}]", found.problems)
        if model is not None and _sound_model(model, f"{place}.models[{index}]", found.problems):
            models.append(model)
    provider_id = alias_target(key)
    if wrong := _wrong(provider_id, entry, models):
        found.problems.append(f"{place}: {wrong}")
        return
    provider = _provider(provider_id, entry, found.providers.get(provider_id) or builtin_providers().get(provider_id))
    if provider is not builtin_providers().get(provider_id):
        found.providers[provider_id] = provider
    found.models.extend((provider_id, model) for model in models)


def _wrong(provider_id: str, entry: UserProvider, models: list[UserModel]) -> str:
    if provider_id in RESERVED_IDS or not _ID.fullmatch(provider_id):
        return "is not a valid provider id; use letters, digits, '.', '_' and '-'"
    if entry.base_url and not is_url(entry.base_url):
        return f'baseUrl "{entry.base_url}": expected http:// or https://'
    if entry.api and entry.api not in DIALECTS:
        return f'unknown api "{entry.api}"; known: {", ".join(DIALECTS)}'
    if entry.oauth and (wrong := _wrong_login(_oauth_row(entry, builtin_providers().get(provider_id)))):
        return wrong
    if provider_id in builtin_providers() or entry.base_url or (models and all(m.base_url for m in models)):
        return ""
    return 'unknown provider; your own provider needs "baseUrl"'


def _oauth_row(entry: UserProvider, known: Provider | None) -> dict[str, Any]:
    """The known row with the entry's changes; an entry with its own server shares nothing with it."""
    own = "issuer" in entry.oauth or "token_url" in entry.oauth
    return entry.oauth if own or known is None else {**known.oauth_row, **entry.oauth}


def _wrong_login(row: dict[str, Any]) -> str:
    from zot.provider.auth.oauth.settings import read_settings  # only for such entries

    try:
        read_settings(row)
    except ConfigError as error:
        return str(error)
    return ""


def _sound_model(model: UserModel, place: str, problems: list[str]) -> bool:
    if model.base_url and not is_url(model.base_url):
        problems.append(f'{place}: baseUrl "{model.base_url}": expected http:// or https://')
        return False
    if unknown := [level for level in model.reasoning_level_map if level not in REASONING_LEVELS]:
        problems.append(f"{place}: unknown level {unknown[0]!r}; levels are {', '.join(REASONING_LEVELS)}")
        return False
    return True


def _provider(provider_id: str, entry: UserProvider, known: Provider | None) -> Provider:
    """The resulting row: the known one with changes, or a custom provider."""
    changes: dict[str, Any] = {}
    if entry.name:
        changes["name"] = entry.name
    if entry.base_url:
        changes |= {
            "base_url": entry.base_url,
            "base_url_env": "",
            "user_endpoint": True,
            "local": is_loopback(entry.base_url),
        }
        if changes["local"]:
            changes["needs_key"] = False
    if entry.api:
        changes["api"] = entry.api
    if entry.auth:
        changes["needs_key"] = entry.auth == "key"
    if entry.discover:
        changes["discover"] = True
    if entry.headers:
        changes["headers"] = entry.headers
    if entry.key_header:
        changes["key_header"] = entry.key_header.lower()
    if entry.tool_calls:
        changes["tool_calls"] = entry.tool_calls
    if entry.oauth:
        changes["oauth_row"] = _oauth_row(entry, known)
    if known is not None:
        return msgspec.structs.replace(known, **changes) if changes else known
    base: dict[str, Any] = {
        "id": provider_id,
        "name": provider_id,
        "api": "openai",
        "env": (key_variable(provider_id),),
        "any_model": True,
        "user_endpoint": True,
    }
    return Provider(**{**base, **changes})


def apply_user_models(rows: list[Model], models: list[tuple[str, UserModel]]) -> list[Model]:
    """Overrides in place, new ids at the end; does not change ``rows``."""
    result = list(rows)
    at = {(row.provider, row.id): index for index, row in enumerate(result)}
    for provider_id, model in models:
        index = at.get((provider_id, model.id))
        if index is None:
            at[provider_id, model.id] = len(result)
            result.append(_merged(Model(id=model.id, provider=provider_id, name=model.id), model))
        else:
            result[index] = _merged(result[index], model)
    return result


def _merged(row: Model, model: UserModel) -> Model:
    changes: Mapping[str, Any] = {
        "name": model.name,
        "context_window": model.context_window,
        "max_output": model.max_tokens,
        "base_url": model.base_url,
        "price_input": model.price_input,
        "price_output": model.price_output,
        "price_cache_read": model.price_cache_read,
        "price_cache_write": model.price_cache_write,
        "input": model.input,
        "reasoning_levels": model.reasoning_level_map,
        "tool_calls": model.tool_calls,
    }
    given = {key: value for key, value in changes.items() if value}
    if model.price_input == 0 and not model.price_output:
        given |= {"free": True, "long_prompt": None, **dict.fromkeys(_PRICES, 0.0)}
    if model.long_prompt is not None:
        given["long_prompt"] = LongPrompt(**msgspec.structs.asdict(model.long_prompt))
    given |= {key: value for key in ("reasoning", "tools") if (value := getattr(model, key)) is not None}
    return msgspec.structs.replace(row, **given, source="user", speculative=False)


_T = TypeVar("_T", UserProvider, UserModel)


def _convert(value: Any, kind: type[_T], place: str, problems: list[str]) -> _T | None:
    """``value`` as ``kind``, or None and a problem; an unknown key is a problem also, and ignored."""
    if isinstance(value, dict) and "tool_calls" in value:
        spelled = cast("dict[str, Any]", value)  # the spelling used outside this file
        value = {"toolCalls" if key == "tool_calls" else key: item for key, item in spelled.items()}
    try:
        entry = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        from zot.provider.auth.oauth.settings import readable

        problems.append(f"{place}: {readable(error)}; the entry is ignored")
        return None
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    problems.extend(
        f"{place}: unknown key {key!r} is ignored; known keys: {', '.join(known)}"
        for key in cast("dict[str, Any]", value)
        if key not in known
    )
    return entry
