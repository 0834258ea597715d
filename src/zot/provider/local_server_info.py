"""What a local server's models can do: how large the window really is, and whether they can call tools. Each kind of
server tells it at an address of its own.

A server started with a small context refuses, or silently cuts, what a guess would let through; one whose model has no
tools drops them silently, too. What it does not tell stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from zot.provider.dialects.dialect import Endpoint, ListedModel
from zot.provider.dialects.request_parts import bearer, get
from zot.provider.http.message import HttpRequest

Ask = Callable[[HttpRequest], Awaitable[dict[str, Any]]]

_ASSUMED_BY_OLLAMA = 32_768  # what is assumed of a model whose own window is larger
_MOST_SHOWN = 20  # models ollama is asked about one by one


class Told(NamedTuple):
    window: int = 0
    tools: bool | None = None


async def with_abilities(kind: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask) -> list[ListedModel]:
    """The models with what the server tells of them. ``kind`` is the provider's id; of a server of an unknown kind only
    what every one may have is asked."""
    root = endpoint.base_url.rstrip("/").removesuffix("/v1")
    found = await _READERS.get(kind, _llama_cpp)(root, endpoint, models, ask)
    return [_with(model, found.get(model.id, Told())) for model in models]


def _with(model: ListedModel, told: Told) -> ListedModel:
    window = model.context_window or told.window
    return msgspec.structs.replace(model, context_window=window, tools=told.tools)


async def _llama_cpp(root: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask) -> dict[str, Told]:
    """``/props``: one model at a time, the context each of its slots has, and what its template can say."""
    props = await ask(get(f"{root}/props", endpoint, bearer(endpoint)))
    window = _number(_object(props.get("default_generation_settings")), "n_ctx") or _number(props, "n_ctx")
    can = _object(props.get("chat_template_caps")).get("supports_tools")
    return {model.id: Told(window, can if isinstance(can, bool) else None) for model in models}


async def _lm_studio(root: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask) -> dict[str, Told]:
    """Its own list: what is loaded has the window it was loaded with."""
    page = await ask(get(f"{root}/api/v0/models", endpoint, bearer(endpoint)))
    rows = [_object(row) for row in _list(page.get("data"))]
    return {
        str(row.get("id")): Told(
            _number(row, "loaded_context_length", "max_context_length"), _listed_among("tool_use", row)
        )
        for row in rows
    }


async def _ollama(root: str, endpoint: Endpoint, models: Sequence[ListedModel], ask: Ask) -> dict[str, Told]:
    """A running model tells its window; of another one it is the ``num_ctx`` it was made with, if it was given one."""
    running = await ask(get(f"{root}/api/ps", endpoint, bearer(endpoint)))
    rows = [_object(row) for row in _list(running.get("models"))]
    windows = {str(row.get("model") or row.get("name")): _number(row, "context_length") for row in rows}
    found: dict[str, Told] = {name: Told(window) for name, window in windows.items()}
    for model in models[:_MOST_SHOWN]:
        shown = await ask(_show(root, endpoint, model.id))
        found[model.id] = Told(windows.get(model.id) or _made_with(shown), _listed_among("tools", shown))
    return found


def _listed_among(ability: str, row: Mapping[str, Any]) -> bool | None:
    """Older servers do not list what a model can do."""
    return ability in _list(row["capabilities"]) if isinstance(row.get("capabilities"), list) else None


def _show(root: str, endpoint: Endpoint, model: str) -> HttpRequest:
    asked = get(f"{root}/api/show", endpoint, [("content-type", "application/json"), *bearer(endpoint)])
    return HttpRequest("POST", asked.url, asked.headers, msgspec.json.encode({"model": model}))


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
