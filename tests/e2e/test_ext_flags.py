"""Command-line flags that extensions declare in their manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen_of, write_extension
from tests.fakes.model_server import Say

SPEAKER = 'hello("edition2"); ready(); serve()'
FLAGS = {
    "preset": {"type": "string", "description": "named preset", "enum": ["fast", "careful"]},
    "plan-first": {"type": "boolean", "description": "plan before changing"},
    "depth": {"type": "integer", "default": 2},
}


@pytest.fixture
def speaker(zot: Zot) -> Path:
    return write_extension(zot.home / "zot" / "extensions", "speaker", SPEAKER, uses=["flags"], flags=FLAGS)


def flags_of(directory: Path) -> Any:
    return seen_of(directory, "hello_ack")[-1].get("flags")


def test_values_reach_the_extension(zot: Zot, serve: Any, speaker: Path) -> None:
    """ext2-126, ext2-127: declared in the manifest, read before anything starts; defaults included."""
    serve([Say("a"), Say("b")])
    assert zot("-p", "hi", "--preset", "fast", "--plan-first").code == 0
    assert flags_of(speaker) == {"preset": "fast", "plan-first": True, "depth": 2}
    assert zot("--depth=5", "-p", "hi").code == 0
    assert flags_of(speaker) == {"depth": 5}


def test_wrong_values_and_unknown_flags_are_errors(zot: Zot, speaker: Path) -> None:
    """ext2-126: a flag of no extension stays an error; a value that does not fit names what is expected."""
    wrong = zot("-p", "hi", "--preset", "slow")
    assert wrong.code == 1 and "--preset: expected one of fast, careful" in wrong.err
    assert "--depth: expected a whole number" in zot("-p", "hi", "--depth", "x").err
    assert "--preset needs a value: --preset STRING" in zot("-p", "hi", "--preset").err
    near = zot("-p", "hi", "--prest", "fast")
    assert near.code == 1 and 'unknown flag "--prest"; did you mean --preset?' in near.err
    assert 'unknown flag "--preset"' in zot("-p", "hi", "--no-ext", "--preset", "fast").err


def test_help_lists_them_by_extension(zot: Zot, speaker: Path) -> None:
    """ext2-126: ``--help`` names flag, description and extension, without starting anything."""
    for page in ("--help", "--help-all"):
        out = zot(page).out
        assert "Flags of extensions" in out and "--preset STRING" in out
        assert "named preset (extension speaker)" in out
    assert not (speaker / "seen.jsonl").exists()


def test_own_flags_win_and_two_owners_have_neither(zot: Zot, serve: Any, speaker: Path) -> None:
    """ext2-126: a flag of zot is zot's; one of two extensions belongs to neither, with a line."""
    places = zot.home / "zot" / "extensions"
    write_extension(places, "other", SPEAKER, uses=["flags"], flags={"depth": {"type": "integer"}, "model": {}})
    server = serve([Say("a")])
    assert 'unknown flag "--depth"' in zot("-p", "hi", "--depth", "3").err
    ran = zot("-p", "hi", "--model", "claude-opus-4-1")
    assert "both declare --depth; it is available to neither" in ran.err
    assert server.requests[0].json["model"] == "claude-opus-4-1"
    assert flags_of(places / "other") is None


def test_flag_needs_its_word(zot: Zot, serve: Any) -> None:
    """ext2-141: without "flags" in ``uses`` the flag does not exist."""
    write_extension(zot.home / "zot" / "extensions", "speaker", SPEAKER, flags=FLAGS)
    serve([])
    assert 'unknown flag "--preset"' in zot("-p", "hi", "--preset", "fast").err


def test_untrusted_project_has_no_flags(zot: Zot, serve: Any) -> None:
    """ext2-127: flags of an untrusted project extension do not exist; with --trust-project they do."""
    directory = write_extension(zot.project / ".zot" / "extensions", "speaker", SPEAKER, uses=["flags"], flags=FLAGS)
    serve([Say("a")])
    assert 'unknown flag "--preset"' in zot("-p", "hi", "--preset", "fast").err
    assert "--preset" not in zot("--help").out
    assert zot("-p", "hi", "--trust-project", "--preset", "fast").code == 0
    assert flags_of(directory)["preset"] == "fast"
