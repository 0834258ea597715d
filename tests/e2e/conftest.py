"""Fixtures: the real program as a child process with its own home and project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from tests.fakes.zot_process import Ran, Zot

__all__ = ["Ran", "Zot", "serve", "zot"]


@pytest.fixture
def zot(tmp_path: Path) -> Zot:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Zot(tmp_path / "home", tmp_path / "project")


@pytest.fixture
def serve(zot: Zot) -> Iterator[Any]:
    """``server = serve(turns)``: a scripted model server that ``zot`` talks to."""
    open_servers: list[FakeModelServer] = []

    def start(turns: Any, **options: Any) -> FakeModelServer:
        server = FakeModelServer(turns, **options)
        server.__enter__()
        open_servers.append(server)
        zot.url = server.url
        return server

    yield start
    for server in open_servers:
        server.__exit__(None, None, None)
