"""A process that lives for weeks holds after a round of work what it held before: a slice of ``make soak``."""

from __future__ import annotations

from pathlib import Path

from tests.soak.over_rpc import RpcSoak
from tests.soak.place import Place


def test_zot_rpc_keeps_nothing_of_the_work_it_has_done(tmp_path: Path) -> None:
    place = Place(tmp_path / "rpc")
    with place.server:
        soak = RpcSoak(place)
        for _ in range(2):
            soak.round()
        kept = place.kept(soak.client.process.pid, [soak.round] * 8)
        soak.end()
    assert (kept, place.faults) == ({}, [])
