"""A known guard with a damaged or missing manifest denies tools in every mode.

A first run with the guard in order lets the command happen, so the matrix can fail; then the damage is done.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_extensions_faults import ASKED, script
from tests.fakes.extensions import write_extension

MODES = {
    "print": ("-p", "go"),
    "json": ("--json", "go"),
    "rpc": ("rpc",),
}
PROMPT = json.dumps({"type": "prompt", "message": "go"})


def replace_by_directory(manifest: Path) -> None:
    manifest.unlink()
    manifest.mkdir()


def replace_by_dangling_link(manifest: Path) -> None:
    manifest.unlink()
    manifest.symlink_to("nowhere")


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "is empty": lambda manifest: manifest.write_text(""),
    "ends too early": lambda manifest: manifest.write_text(manifest.read_text()[:20]),
    "is no JSON": lambda manifest: manifest.write_bytes(b"\xff\xfe\x00guard"),
    "has a guard that is no boolean": lambda manifest: manifest.write_text('{"exec": "sh", "guard": "yes"}'),
    "has lost its name and its word": lambda manifest: manifest.write_text('{"exec": "sh"}'),
    "is too large": lambda manifest: manifest.write_text(" " * (1 << 21)),
    "is a directory": replace_by_directory,
    "is a dangling link": replace_by_dangling_link,
    "is gone": lambda manifest: manifest.unlink(),
    "is gone with its directory": lambda manifest: shutil.rmtree(manifest.parent),
    "is gone with all extensions": lambda manifest: shutil.rmtree(manifest.parent.parent),
}


@pytest.fixture
def guard(zot: Zot, serve: Any) -> Path:
    """The manifest of a guard that allows everything, after a first run with it."""
    serve(script(zot) * 3)
    directory = write_extension(zot.home / "zot" / "extensions", "g", ASKED.format("answer(f)"), guard=True)
    assert happens(zot), "a guard in order lets it happen"
    return directory / "extension.json"


def happens(zot: Zot, mode: str = "print") -> bool:
    """Whether a run of the mode leaves the side effect, which is then wiped away."""
    ran = zot(*MODES[mode], stdin=PROMPT if mode == "rpc" else None)
    assert ran.code == 0 and "done" in ran.out and "Traceback" not in ran.err
    file = zot.project / "side-effect"
    happened = file.exists()
    file.unlink(missing_ok=True)
    return happened


def test_denial_names_the_file_and_both_fixes(zot: Zot, guard: Path) -> None:
    guard.write_text("")
    events = zot("--json", "go").events
    [refused] = [event for event in events if event["type"] == "tool_result"]
    text = refused["content"][0]["text"]
    assert refused["is_error"]
    assert text.startswith(f"denied: the guard in {guard.parent} cannot be loaded (extension.json: ")
    assert text.endswith(f"; repair {guard}, or drop it: `zot ext remove g`")


@pytest.mark.parametrize("damage", DAMAGES)
def test_guard_with_damaged_manifest_denies_everything(zot: Zot, guard: Path, damage: str) -> None:
    """ext-080: a guard whose manifest is damaged denies every tool, in print, JSON and RPC mode."""
    DAMAGES[damage](guard)
    for mode in MODES:
        assert not happens(zot, mode), mode


def test_stderr_reports_lost_guard(zot: Zot, guard: Path) -> None:
    guard.write_text("")
    ran = zot("-p", "go")
    assert f"extension load: {guard.parent}: " in ran.err
    assert f"tool calls are denied: repair {guard}, or drop it: `zot ext remove g`" in ran.err


def test_repaired_guard_is_called_again(zot: Zot, guard: Path) -> None:
    text = guard.read_text()
    guard.write_text("")
    assert not happens(zot)
    guard.write_text(text)
    assert happens(zot)


@pytest.mark.parametrize("damage", ["is empty", "is gone", "is gone with its directory", "is gone with all extensions"])
def test_removing_the_guard_is_a_fix(zot: Zot, guard: Path, damage: str) -> None:
    DAMAGES[damage](guard)
    ran = zot("ext", "remove", "g", "--yes", model=False)
    assert ran.code == 0 and "g" in ran.err
    assert happens(zot)
    assert not (zot.home / "zot" / "guards.json").exists()


def test_a_disabled_guard_is_not_missed(zot: Zot, guard: Path) -> None:
    assert zot("ext", "disable", "g", model=False).code == 0
    guard.unlink()
    assert happens(zot)


@pytest.mark.parametrize("edit", [{"guard": False}, {"enabled": False}])
def test_manual_edit_that_removes_guard_is_accepted(zot: Zot, guard: Path, edit: dict[str, bool]) -> None:
    fields = json.loads(guard.read_text()) | edit
    guard.write_text(json.dumps(fields))
    assert happens(zot)
    guard.unlink()
    assert happens(zot)


def test_no_ext_flag_ignores_known_guards(zot: Zot, guard: Path) -> None:
    guard.unlink()
    assert zot("-p", "go", "--no-ext").code == 0
    assert (zot.project / "side-effect").exists()


def test_broken_extension_that_was_never_a_guard_is_harmless(zot: Zot, guard: Path) -> None:
    other = write_extension(zot.home / "zot" / "extensions", "other", "hello(); ready(); serve()")
    assert happens(zot)
    (other / "extension.json").write_text("")
    assert happens(zot)


def test_guard_registry_is_a_private_file(zot: Zot, guard: Path) -> None:
    known = zot.home / "zot" / "guards.json"
    assert json.loads(known.read_text()) == {"guards": ["g"]}
    assert known.stat().st_mode & 0o777 == 0o600


def test_a_memory_that_cannot_be_read_stops_the_run(zot: Zot, guard: Path) -> None:
    """An unreadable guard registry means that missing guards are unknown."""
    (zot.home / "zot" / "guards.json").write_text("[")
    ran = zot("-p", "go")
    assert ran.code == 1
    assert str(zot.home / "zot" / "guards.json") in ran.err and "delete the file" in ran.err
    assert not (zot.project / "side-effect").exists()
