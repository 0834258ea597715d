"""``--session`` takes what ``zot sessions`` prints: a number, an id or its beginning; also a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say


@pytest.fixture
def two(zot: Zot, serve) -> list[Path]:
    """Two sessions, the older first; the server continues to answer."""
    serve([Say("one"), Say("two"), Say("three")])
    assert zot("-p", "the older one").code == 0
    (older,) = zot.sessions
    assert zot("-p", "the newer one").code == 0
    (newer,) = set(zot.sessions) - {older}
    return [older, newer]


def id_of(path: Path) -> str:
    return json.loads(path.read_text().splitlines()[0])["meta"]["id"]


def messages(path: Path) -> int:
    return sum('"role"' in line for line in path.read_text().splitlines())


@pytest.mark.parametrize("how", ["number", "id", "prefix", "file name", "path"])
def test_named_session_continues(zot: Zot, two: list[Path], how: str) -> None:
    older, newer = two
    named = {
        "number": "2",
        "id": id_of(older),
        "prefix": id_of(older)[:8],
        "file name": older.name,
        "path": str(older),
    }[how]
    before = messages(newer)
    ran = zot("-p", "go on", "--session", named)
    assert (ran.code, ran.out, ran.err) == (0, "three\n", "")
    assert messages(older) == 4 and messages(newer) == before


def test_unknown_session_name_lists_those_of_directory(zot: Zot, two: list[Path]) -> None:
    for typed, text in [("9", "no session number 9"), ("feedface", 'no session "feedface"')]:
        ran = zot("-p", "x", "--session", typed)
        assert (ran.code, ran.out) == (1, "") and ran.err.count("\n") == 1
        assert text in ran.err
        assert f"1 {id_of(two[1])[:8]} (the newer one), 2 {id_of(two[0])[:8]} (the older one)" in ran.err


def test_an_ambiguous_beginning_names_all_it_could_mean(zot: Zot, two: list[Path]) -> None:
    older, newer = two
    twin = id_of(older)[:8] + "-0000-4000-8000-000000000000"
    newer.write_text(newer.read_text().replace(id_of(newer), twin))
    ran = zot("-p", "x", "--session", twin[:8])
    assert (ran.code, ran.out) == (1, "") and ran.err.count("\n") == 1
    assert "2 sessions" in ran.err and "(the older one)" in ran.err and "(the newer one)" in ran.err


def test_too_short_session_id_is_rejected(zot: Zot, two: list[Path]) -> None:
    ran = zot("-p", "x", "--session", "abc")
    assert ran.code == 1 and "too short" in ran.err


def test_rpc_accepts_session_name(zot: Zot, two: list[Path]) -> None:
    ran = zot("rpc", "--session", "2", stdin='{"type":"get_messages"}\n')
    assert "the older one" in ran.out and "the newer one" not in ran.out
    assert zot("rpc", "--session", "7", stdin='{"type":"get_state"}\n').code == 1
