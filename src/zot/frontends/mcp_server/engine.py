"""The server's side of the protocol for stateful clients (up to 2025-11-25) and stateless ones (2026-07-28).
Transports hand it requests; handlers do the work. It reads no file and starts no process."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from zot import __version__
from zot.features.mcp.protocol import CLASSIC, META, MISSING_CAPABILITY, MODERN, UNSUPPORTED_VERSION
from zot.frontends.json_rpc import INVALID_PARAMS, NO_METHOD, NOT_FOUND, Params, RpcError, as_object
from zot.frontends.mcp_server.exchange import ClientFacts, Exchange, Outlet, Rejected, meta_of
from zot.system.background_tasks import BackgroundTasks

SERVER = {"name": "zot", "title": "zot", "version": __version__}
ANSWER_WITHIN_S = 600.0  # for the user of a stateless client; then the call is cancelled
MOST_SUSPENDED = 64
_ONLY_CLASSIC = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
_MAY_ASK = ("tools/call", "prompts/get", "resources/read")
_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
_CACHE: Params = {"ttlMs": 0, "cacheScope": "private"}

Handler = Callable[[Exchange, Params], Awaitable[Params]]


class _Call:
    """A handler at work; it may outlive the request of a stateless client that is asked something."""

    def __init__(self, subject: tuple[str, Any], exchange: Exchange, task: asyncio.Task[Params]) -> None:
        self.subject = subject
        self.exchange = exchange
        self.task = task
        self.expiry: asyncio.TimerHandle | None = None


class Engine:
    """``capabilities`` and ``handlers`` must agree. One engine serves all clients of a process."""

    def __init__(self, handlers: Mapping[str, Handler], capabilities: Params, instructions: str = "") -> None:
        self._handlers = handlers
        self._capabilities = capabilities
        self._instructions = instructions
        self._tasks = BackgroundTasks()
        self._suspended: dict[str, _Call] = {}

    # --- who the client is

    def initialize(self, params: Params) -> tuple[ClientFacts, Params]:
        """The facts of a stateful client, and the answer for it."""
        wanted = params.get("protocolVersion")
        version = wanted if wanted in CLASSIC else CLASSIC[0]
        name = str(as_object(params.get("clientInfo")).get("name", ""))[:80]
        client = ClientFacts(
            version=version, is_modern=False, capabilities=as_object(params.get("capabilities")), name=name
        )
        result = {"protocolVersion": version, "capabilities": self._capabilities, "serverInfo": SERVER}
        return client, {**result, **self._about}

    @property
    def _about(self) -> Params:
        return {"instructions": self._instructions} if self._instructions else {}

    @staticmethod
    def is_modern(params: Params) -> bool:
        return f"{META}protocolVersion" in as_object(params.get("_meta"))

    def modern_client(self, params: Params) -> ClientFacts:
        """The facts that a stateless client sends with each request; Rejected if some are missing."""
        version, capabilities = meta_of(params, "protocolVersion"), meta_of(params, "clientCapabilities")
        if not isinstance(version, str):
            raise Rejected(INVALID_PARAMS, f"_meta: {META}protocolVersion is missing")
        if version not in MODERN:
            data = {"supported": list(MODERN), "requested": version}
            raise Rejected(UNSUPPORTED_VERSION, f"unsupported protocol version {version[:40]!r}", data)
        if not isinstance(capabilities, dict):
            raise Rejected(INVALID_PARAMS, f"_meta: {META}clientCapabilities is missing")
        capabilities = as_object(meta_of(params, "clientCapabilities"))
        name = str(as_object(meta_of(params, "clientInfo")).get("name", ""))[:80]
        return ClientFacts(version=version, is_modern=True, capabilities=capabilities, name=name)

    # --- requests

    async def serve(self, client: ClientFacts, outlet: Outlet, method: str, params: Params) -> Params:
        """The result of a request; RpcError if there is none. Cancelling it ends the work."""
        if not client.is_modern:
            return await self._classic(client, outlet, method, params)
        if method == "server/discover":
            versions = {"supportedVersions": list(MODERN), "capabilities": self._capabilities, **_CACHE}
            return self._complete(method, {**versions, **self._about})
        if method in _ONLY_CLASSIC:
            raise RpcError(NO_METHOD, f"{method} is not part of {client.version}")
        return await self._modern(client, outlet, method, params)

    async def _classic(self, client: ClientFacts, outlet: Outlet, method: str, params: Params) -> Params:
        if method == "ping":
            return {}
        exchange = Exchange(client, outlet, params)
        try:
            return await self._handler(method)(exchange, params)
        except RpcError as error:
            if error.code == INVALID_PARAMS and method == "resources/read":
                raise RpcError(NOT_FOUND, str(error), error.data) from error
            raise

    async def _modern(self, client: ClientFacts, outlet: Outlet, method: str, params: Params) -> Params:
        subject = (method, params.get("name", params.get("uri")))
        if (state := params.get("requestState")) is not None:
            call = self._resumed(state, subject)
            call.exchange.attach(outlet, params)
        else:
            exchange = Exchange(client, outlet, params)
            call = _Call(subject, exchange, self._tasks.start(self._run(method, exchange, params)))
        asked = self._tasks.start(call.exchange.wait_for_wishes())
        try:
            await asyncio.wait({call.task, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.task.cancel()
            await asyncio.wait({call.task})
            raise
        finally:
            asked.cancel()
        if call.task.done():
            return self._complete(method, call.task.result())
        return self._suspend(call)

    async def _run(self, method: str, exchange: Exchange, params: Params) -> Params:
        return await self._handler(method)(exchange, params)

    def _handler(self, method: str) -> Handler:
        handler = self._handlers.get(method)
        if handler is None:
            raise RpcError(NO_METHOD, f"unknown method {method[:80]!r}")
        return handler

    def _complete(self, method: str, result: Params) -> Params:
        cache = _CACHE if method in _CACHED else {}
        meta = {**as_object(result.get("_meta")), f"{META}serverInfo": SERVER}
        return {"resultType": "complete", **cache, **result, "_meta": meta}

    # --- calls that wait for an answer of the user

    def _suspend(self, call: _Call) -> Params:
        """The state is a secret name of the call: it cannot be guessed or changed."""
        if call.subject[0] not in _MAY_ASK or len(self._suspended) >= MOST_SUSPENDED:
            call.task.cancel()
            raise RpcError(INVALID_PARAMS, "too many calls wait for an answer of their user; try again later")
        state = secrets.token_urlsafe(24)
        self._suspended[state] = call
        call.expiry = asyncio.get_running_loop().call_later(ANSWER_WITHIN_S, self._expire, state)
        return {
            "resultType": "input_required",
            "inputRequests": call.exchange.wishes,
            "requestState": state,
            "_meta": {f"{META}serverInfo": SERVER},
        }

    def _expire(self, state: str) -> None:
        if (call := self._suspended.pop(state, None)) is not None:
            call.task.cancel()

    def _resumed(self, state: object, subject: tuple[str, Any]) -> _Call:
        call = self._suspended.get(state) if isinstance(state, str) else None
        if call is None or call.subject != subject:
            raise RpcError(INVALID_PARAMS, "requestState: unknown, used or expired; repeat the call without it")
        del self._suspended[str(state)]
        if call.expiry is not None:
            call.expiry.cancel()
        return call

    async def aclose(self) -> None:
        """End all work and wait for it."""
        for state in list(self._suspended):
            self._expire(state)
        await self._tasks.aclose()


def require_capability(client: ClientFacts, name: str) -> None:
    """Rejected if a stateless client did not declare it, as the protocol demands."""
    if not isinstance(client.capabilities.get(name), dict):
        raise Rejected(
            MISSING_CAPABILITY, f"this needs the client capability {name}", {"requiredCapabilities": {name: {}}}
        )
