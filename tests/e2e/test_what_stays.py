"""A long-running process holds no more memory after a round of work than before: a slice of ``make soak``."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from tests.soak.over_rpc import RpcSoak
from tests.soak.place import Place


def test_rpc_retains_no_memory_of_finished_work(tmp_path: Path) -> None:
    place = Place(tmp_path / "rpc")
    with place.server:
        soak = RpcSoak(place)
        for _ in range(2):
            soak.round()
        kept = place.kept(soak.client.process.pid, [soak.round] * 8)
        soak.end()
    assert (kept, place.faults) == ({}, [])


def test_orphan_left_by_command_is_reaped(tmp_path: Path) -> None:
    """The orphan becomes zot's child and would stay as a zombie."""
    place = Place(tmp_path / "rpc")
    with place.server:
        soak = RpcSoak(place)
        soak.left()
        assert "sleep" in children(soak.client.process.pid)
        deadline = time.monotonic() + 20
        while "sleep" in children(soak.client.process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert "sleep" not in children(soak.client.process.pid)
        soak.end()
    assert place.faults == []


def children(pid: int) -> list[str]:
    """Names of its children, including zombies."""
    found: list[str] = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError):
            found.append(Path(f"/proc/{child}/comm").read_text().strip())
    return found
