"""Tests whether a model of a llama.cpp server can call tools, with one small request.
The server's template does not show that. If it cannot, a second request tests for grammar support."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, cast

import msgspec

from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.request_parts import address, bearer, get, post
from zot.provider.http.message import HttpRequest
from zot.system.digest import sha256

Ask = Callable[[HttpRequest], Awaitable[tuple[int, dict[str, Any]]]]

_TOOL = "note_word"
_WORD = "pelican"
_MOST_TOKENS = 96  # a call takes twenty
_SAME_SERVER = ("model_path", "model_alias", "chat_template", "build_info")  # fields of /props about a model


class ToolCallSupport(NamedTuple):
    """``calls`` is None if unknown."""

    calls: bool | None
    grammar: bool = False


async def served_model_digest(endpoint: Endpoint, ask: Ask) -> str:
    """Digest of the model of a llama.cpp server, which changes with it; empty for other servers."""
    root = endpoint.base_url.rstrip("/").removesuffix("/v1")
    status, props = await ask(get(f"{root}/props", endpoint, bearer(endpoint)))
    if status != 200 or not {"default_generation_settings", "chat_template"} & props.keys():
        return ""
    return sha256(msgspec.json.encode([props.get(name) for name in _SAME_SERVER]))[:32]


async def probe_tool_calls(endpoint: Endpoint, model: str, ask: Ask) -> ToolCallSupport:
    calls = await _calls(endpoint, model, ask)
    return ToolCallSupport(calls, calls is False and await _knows_grammars(endpoint, model, ask))


async def _calls(endpoint: Endpoint, model: str, ask: Ask) -> bool | None:
    parameters = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    function = {"name": _TOOL, "description": "Notes a word down.", "parameters": parameters}
    status, answer = await ask(
        _request(
            endpoint,
            model,
            f'Note the word "{_WORD}" down with the tool {_TOOL}.',
            tools=[{"type": "function", "function": function}],
            tool_choice="required",
        )
    )
    if status != 200:
        # A server started without tools rejects them with its own words.
        return False if status in (400, 422, 500, 501) and b"tool" in msgspec.json.encode(answer).lower() else None
    message = _message(answer)
    return None if message is None else any(map(_is_the_call, _list(message.get("tool_calls"))))


async def _knows_grammars(endpoint: Endpoint, model: str, ask: Ask) -> bool:
    """Text that no model would answer by itself."""
    status, answer = await ask(_request(endpoint, model, "Say hello.", grammar=f'root ::= "{_WORD}"'))
    message = _message(answer) if status == 200 else None
    return message is not None and str(message.get("content")).strip() == _WORD


def _request(endpoint: Endpoint, model: str, prompt: str, **more: Any) -> HttpRequest:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": _MOST_TOKENS,
        "temperature": 0,
        "stream": False,
        **more,
    }
    url = address(endpoint.base_url, "chat/completions")
    return post(url, endpoint, bearer(endpoint), body, accept="application/json")


def _is_the_call(call: Any) -> bool:
    function = _object(_object(call).get("function"))
    try:
        arguments: Any = msgspec.json.decode(str(function.get("arguments", "")))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return function.get("name") == _TOOL and isinstance(arguments, dict)


def _message(answer: dict[str, Any]) -> dict[str, Any] | None:
    choices = _list(answer.get("choices"))
    message = _object(choices[0]).get("message") if choices else None
    return _object(message) if isinstance(message, dict) else None


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
