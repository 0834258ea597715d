"""``connect`` starts ``zot acp`` with a scripted model server and a client that validates each line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import serve, zot
from tests.fakes.acp_client import SCHEMA, FakeAcpClient, Json
from tests.fakes.zot_process import Zot

__all__ = ["serve", "zot"]

Connect = Callable[..., FakeAcpClient]


@pytest.fixture(autouse=True)
def schema() -> None:
    if not SCHEMA.exists() and os.environ.get("CI") != "true":
        pytest.skip("the ACP schema is not installed: run `bash tests/setup/acp.sh`")


@pytest.fixture
def connect(zot: Zot) -> Iterator[Connect]:
    opened: list[FakeAcpClient] = []

    def start(
        *flags: str, capabilities: Json | None = None, initialize: bool = True, model: bool = True
    ) -> FakeAcpClient:
        argv = zot.argv(["acp", *flags, *zot.endpoint(model)])
        client = FakeAcpClient(argv, zot.env(), zot.project)
        opened.append(client)
        if initialize:
            client.initialize(capabilities)
        return client

    yield start
    for client in opened:
        client.__exit__()


def alive_below(pid: int) -> list[int]:
    """Processes that descend from it."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found += [int(entry.name), *alive_below(int(entry.name))]
    return found


def project_file(zot: Zot, name: str, text: str) -> Path:
    path = zot.project / name
    path.write_text(text)
    return path
