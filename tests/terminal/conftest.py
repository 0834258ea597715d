"""Fixtures: ``zot`` in a fake terminal with a scripted server, its own home and project."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot, serve, zot
from tests.fakes.terminal import FakeTerminal

__all__ = ["open_zot", "serve", "zot"]

OpenZot = Callable[..., FakeTerminal]

# A credential and an address where nobody listens: without one, the first-launch screen would take the keys.
NOBODY = ["--base-url", "http://127.0.0.1:9", "--api-key", "test-key"]


@pytest.fixture
def open_zot(zot: Zot) -> Iterator[OpenZot]:
    """``terminal = open_zot("--no-yolo", columns=40, rows=10)``; waits until the editor and the agent are there.

    ``model=False`` starts without a credential, ``wait=""`` does not wait."""
    with ExitStack() as stack:

        def start(
            *args: str, model: bool = True, env: dict[str, str] | None = None, wait: str = "▌", **options: Any
        ) -> FakeTerminal:
            argv = [f"{sys.prefix}/bin/zot", *args, *(zot.endpoint(model) or (NOBODY if model else []))]
            environment = {**zot.env(), **(env or {})}
            terminal = stack.enter_context(FakeTerminal(argv, cwd=zot.project, env=environment, **options))
            if wait:
                terminal.wait_for(wait)
                terminal.wait_gone("starting…")
            return terminal

        yield start


@pytest.fixture
def project(zot: Zot) -> Path:
    return zot.project
