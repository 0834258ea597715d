"""One request of a client while it is served: its progress, and the questions that the client answers meanwhile.
A stateful client gets a request per question; a stateless one gets them all in a result and repeats its request."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from zot.features.mcp.protocol import META
from zot.frontends.json_rpc import Params, RpcError, as_object


class ClientFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a client announced: once if it is stateful, with each request if it is stateless."""

    version: str
    is_modern: bool
    capabilities: Params = {}
    name: str = ""

    @property
    def answers_forms(self) -> bool:
        """``elicitation`` without a named way of asking means forms."""
        given = self.capabilities.get("elicitation")
        return isinstance(given, dict) and (not given or "form" in given)


class Outlet(Protocol):
    """The way to the client while its request is open. ``request`` is used for stateful clients only."""

    def notify(self, method: str, params: Params) -> None: ...

    async def request(self, method: str, params: Params) -> Any: ...


class _Wish(msgspec.Struct, frozen=True):
    method: str
    params: Params
    answer: asyncio.Future[Any]


class Exchange:
    """Handlers get one. ``attach`` connects it to the request that is open now: a stateless client repeats it."""

    def __init__(self, client: ClientFacts, outlet: Outlet, params: Params) -> None:
        self.client = client
        self._outlet = outlet
        self._token = _progress_token(params)
        self._done = 0.0
        self._wishes: dict[str, _Wish] = {}
        self._wished = asyncio.Event()
        self.on_cancel: list[Callable[[], None]] = []

    # --- for handlers

    def notify(self, method: str, params: Params) -> None:
        self._outlet.notify(method, params)

    @property
    def wants_progress(self) -> bool:
        return self._token is not None

    def progress(self, message: str, done: float | None = None, total: float | None = None) -> None:
        """``done`` must grow; without it each call counts as one."""
        self._done = self._done + 1 if done is None else done
        if self._token is None:
            return
        params: Params = {"progressToken": self._token, "progress": self._done}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        self._outlet.notify("notifications/progress", params)

    async def ask(self, method: str, params: Params, key: str = "") -> Any:
        """The client's answer to ``elicitation/create`` and the like; RpcError if it refuses or has gone."""
        if not self.client.is_modern:
            return await self._outlet.request(method, params)
        key = key or secrets.token_urlsafe(6)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._wishes[key] = _Wish(method, params, future)
        self._wished.set()
        try:
            return await future
        finally:
            self._wishes.pop(key, None)

    async def elicit(self, message: str, schema: Params, key: str = "") -> Params:
        """The fields of a form; empty unless the user accepted."""
        mode = {"mode": "form"} if self.client.version >= "2025-11-25" else {}
        given = await self.ask("elicitation/create", {**mode, "message": message, "requestedSchema": schema}, key)
        answer = as_object(given)
        return as_object(answer.get("content")) if answer.get("action") == "accept" else {}

    # --- for the engine

    async def wait_for_wishes(self) -> None:
        await self._wished.wait()
        await asyncio.sleep(0)  # questions that are asked together

    @property
    def wishes(self) -> Params:
        return {key: {"method": wish.method, "params": wish.params} for key, wish in self._wishes.items()}

    def attach(self, outlet: Outlet, params: Params) -> None:
        """The client repeated its request, with answers. Questions without one stay open."""
        self._outlet, self._token = outlet, _progress_token(params)
        for key, given in as_object(params.get("inputResponses")).items():
            wish = self._wishes.get(key)
            if wish is not None and not wish.answer.done() and isinstance(given, dict):
                wish.answer.set_result(given)
        if all(wish.answer.done() for wish in self._wishes.values()):
            self._wished.clear()


def _progress_token(params: Params) -> str | int | None:
    token: Any = as_object(params.get("_meta")).get("progressToken")
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None


def meta_of(params: Params, name: str) -> Any:
    """A field that a stateless client sends with each request."""
    return as_object(params.get("_meta")).get(f"{META}{name}")


class Rejected(RpcError):
    """The request itself is wrong: over HTTP the status is 400."""
