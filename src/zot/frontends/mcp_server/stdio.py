"""One client on stdin and stdout; stdout has nothing but messages."""

from __future__ import annotations

import asyncio
from typing import Any

from zot.features.mcp.protocol import CLASSIC
from zot.frontends.json_rpc import CANCELLED, INTERNAL, INVALID_REQUEST, Id, Params, Peer, RpcError
from zot.frontends.mcp_server.engine import Engine
from zot.frontends.mcp_server.exchange import ClientFacts

LAST_ANSWERS_S, _LOOK_S = 0.3, 0.01
_BEFORE = ClientFacts(version=CLASSIC[-1], is_modern=False)  # a client that sends no `initialize`


class StdioServer(Peer):
    """A request is cancelled by ``notifications/cancelled`` and then gets no answer."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(self._request, lambda method, params: None)
        self._engine = engine
        self._client: ClientFacts | None = None
        self._open: dict[Id, asyncio.Task[Any]] = {}
        self._end_by = 0.0

    def end(self, reason: str = "") -> None:
        """At the end of input, answers that take no time are still written: ``printf … | zot mcp serve``."""
        if reason or not len(self._tasks):
            super().end(reason)
        elif not self._end_by:
            if self._polled:
                self._loop.remove_reader(0)
                self._polled = False
            self._end_by = self._loop.time() + LAST_ANSWERS_S
            self._end_soon()

    def _end_soon(self) -> None:
        if len(self._tasks) and self._loop.time() < self._end_by:
            self._loop.call_later(_LOOK_S, self._end_soon)
        else:
            super().end()

    async def request(self, method: str, params: Any) -> Any:
        self._count += 1
        number = self._count
        future = self._waiting[number] = self._loop.create_future()
        if self._ended.is_set():
            future.set_exception(RpcError(CANCELLED, "the client has disconnected"))
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await future
        except asyncio.CancelledError:
            self.notify("notifications/cancelled", {"requestId": number, "reason": "no longer needed"})
            raise
        finally:
            del self._waiting[number]

    def _notified(self, method: str, params: Params) -> None:
        if method == "notifications/cancelled":
            id: Any = params.get("requestId")
            task = self._open.get(id) if isinstance(id, int | str) else None
            if task is not None:
                task.cancel()

    async def _serve(self, id: Id, method: str, params: Params) -> None:
        if id is None or id in self._open:
            what = "it is null" if id is None else "another request has it"
            self._fail(id, INVALID_REQUEST, f"id {id!r}: {what}")
            return
        task = asyncio.current_task()
        assert task is not None
        self._open[id] = task
        try:
            result = await self._request(method, params)
        except asyncio.CancelledError:
            raise
        except RpcError as error:
            self._fail(id, error.code, str(error), error.data)
        except Exception as error:
            self._fail(id, INTERNAL, f"{type(error).__name__}: {error}")
        else:
            self._send({"jsonrpc": "2.0", "id": id, "result": result})
            await self.wait_for_room()
        finally:
            del self._open[id]
            self._serving.pop(id, None)

    async def _request(self, method: str, params: Params) -> Any:
        engine = self._engine
        if method == "initialize" and not engine.is_modern(params):
            self._client, result = engine.initialize(params)
            return result
        if engine.is_modern(params) or (method == "server/discover" and self._client is None):
            return await engine.serve(engine.modern_client(params), self, method, params)
        return await engine.serve(self._client or _BEFORE, self, method, params)
