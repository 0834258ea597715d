"""``kit`` is a host with real extension processes; ``rpc`` starts the real ``zot rpc`` and talks to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot, serve, zot
from tests.fakes.extension_host import Kit, hosting
from tests.fakes.rpc_client import FakeRpcClient

__all__ = ["kit", "rpc", "serve", "zot"]


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncGenerator[Kit]:
    async with hosting(tmp_path) as kit:
        yield kit


@pytest.fixture
def rpc(zot: Zot) -> Iterator[Callable[..., FakeRpcClient]]:
    """``client = rpc(*flags)``: a running server, gone at the end of the test whatever happens."""
    clients: list[FakeRpcClient] = []

    def start(*flags: str, verb: str = "rpc", model: bool = True, **environment: str) -> FakeRpcClient:
        env = {**zot.env(), **environment}
        client = FakeRpcClient(zot.argv([verb, *flags, *zot.endpoint(model)]), env, zot.project)
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.kill()
