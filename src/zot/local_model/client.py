"""Client of a local model: starts its server if needed, then sends requests to it.

A server that died is started again for the next request; the answer it died in is reported as interrupted.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import msgspec

from zot.agent.model_resolver import ResolvedModel
from zot.errors import BadRequest, TransportFailed, ZotError
from zot.local_model.runtime_dir import ServerInfo
from zot.local_model.server_manager import LocalServerManager
from zot.local_model.weights import ModelFile, find_model_file
from zot.provider.dialects import dialect_for
from zot.provider.dialects.dialect import Endpoint
from zot.provider.http.pool import HttpPool
from zot.provider.http_client import HttpClient
from zot.provider.model_call import Finished, Request, Started, StreamEvent

_STARTS = 3  # starts of the server for one unanswered request


class LocalClient:
    """A ``Client``. ``endpoint`` lacks the address and the key, which come from the server."""

    def __init__(self, model: ModelFile, api: str, endpoint: Endpoint, pool: HttpPool) -> None:
        self._runtime = LocalServerManager(model)
        self._dialect = dialect_for(api)
        self._endpoint = endpoint
        self._pool = pool
        self._answering = 0

    @property
    def name(self) -> str:
        return self._endpoint.provider

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self._answering += 1
        try:
            async with aclosing(self._answers(request)) as events:
                async for event in events:
                    yield event
        finally:
            self._answering -= 1

    async def _answers(self, request: Request) -> AsyncGenerator[StreamEvent]:
        for left in reversed(range(_STARTS)):
            try:
                server = await self._runtime.ensure()
            except ZotError as error:
                raise BadRequest(f"{self.name}: {error}", provider=self.name) from error
            endpoint = msgspec.structs.replace(self._endpoint, base_url=f"{server.address}/v1", api_key=server.key)
            client = HttpClient(self.name, self._dialect, endpoint, self._pool)
            begun = False
            try:
                async with aclosing(client.stream(request)) as events:
                    async for event in events:
                        begun = begun or isinstance(event, Started)
                        if isinstance(event, Finished) and isinstance(event.error, TransportFailed):
                            event = msgspec.structs.replace(event, error=await self._explain(event.error, server))
                        yield event
                return
            except TransportFailed as error:
                explained = await self._explain(error, server)
                if begun or explained is error or not left:
                    raise explained from error
            finally:
                self._runtime.note_use()

    def release_server(self) -> None:
        """Another model is in use: releases the server unless it is answering."""
        if not self._answering:
            self._runtime.release()

    async def aclose(self) -> None:
        self._runtime.release()

    async def _explain(self, error: TransportFailed, server: ServerInfo) -> TransportFailed:
        """The same error, or that the server ended."""
        if not await self._runtime.has_exited(server):
            return error
        return TransportFailed(
            f"{self.name}: the model's server ended during the answer; the next request starts a new one",
            provider=self.name,
        )


class LocalClients:
    """The clients of the local models that a run uses; each keeps its model's server while the run lasts."""

    def __init__(self, pool: HttpPool) -> None:
        self._pool = pool
        self._clients: dict[Path, LocalClient] = {}

    def client_for(self, resolved: ResolvedModel) -> LocalClient:
        """The client of this model; the servers of others are released."""
        assert resolved.endpoint is not None
        model = find_model_file(resolved.model.id)
        if model.path not in self._clients:
            self._clients[model.path] = LocalClient(model, resolved.api, resolved.endpoint, self._pool)
        for path, other in self._clients.items():
            if path != model.path:
                other.release_server()
        return self._clients[model.path]

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
