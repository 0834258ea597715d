"""Fixtures: a scripted model server on a real socket and runtimes that use it, each test with its own home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from zot.sdk import Options, Runtime


@pytest.fixture
def serve() -> Iterator[Callable[..., FakeModelServer]]:
    running: list[FakeModelServer] = []

    def start(*turns: Any, **options: Any) -> FakeModelServer:
        running.append(FakeModelServer(turns, **options).__enter__())
        return running[-1]

    yield start
    for server in running:
        server.__exit__(None, None, None)


@pytest.fixture
def options(tmp_path: Path) -> Callable[..., Options]:
    def make(server: FakeModelServer, **more: Any) -> Options:
        (tmp_path / "project").mkdir(exist_ok=True)
        base = {
            "provider": "anthropic",
            "api_key": "test-key",
            "base_url": server.url,
            "cwd": tmp_path / "project",
            "home": tmp_path / "home",
            "skills": False,
            "context_files": False,
        }
        return Options(**(base | more))  # pyright: ignore[reportArgumentType]  a test's own keys

    return make


@pytest.fixture
def embed(options: Callable[..., Options]) -> Callable[..., Runtime]:
    """``embed(server, tools=[…])``: a Runtime not yet entered."""
    return lambda server, **more: Runtime(**options(server, **more))
