"""An extension's data is apart from its program: it outlives updates and removals, and an author's does not travel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import left
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import Say

# Counts its starts, in the data directory and beside the program.
COUNTING = """
hello()
for frame in frames():
    if frame["type"] == "hello_ack":
        for place in (frame["data_dir"], HERE):
            path = os.path.join(place, "count.txt")
            number = int(open(path).read()) if os.path.exists(path) else 0
            with open(path, "w") as file:
                file.write(str(number + 1))
        ready()
    if frame["type"] == "shutdown":
        break
"""


def start(zot: Zot, serve, *flags: str) -> str:
    """The stderr of a run."""
    serve([Say("ok")])
    ran = zot("-p", "go", *flags)
    zot.url = ""
    assert ran.code == 0, ran.err
    return ran.err


def data(zot: Zot, name: str = "x") -> Path:
    return zot.home / "zot" / "data" / "global" / name


def own(zot: Zot, name: str = "x") -> Path:
    return zot.home / "zot" / "extensions" / name


def counts(zot: Zot) -> tuple[str, str]:
    return (data(zot) / "count.txt").read_text(), (own(zot) / "count.txt").read_text()


@pytest.fixture
def source(zot: Zot) -> Path:
    return write_extension(zot.project, "x", COUNTING, version="1")


def test_data_survives_update_and_forced_install(zot: Zot, serve, source: Path) -> None:
    assert zot("ext", "install", "x").code == 0
    assert start(zot, serve) == ""
    assert counts(zot) == ("1", "1")
    assert (data(zot).stat().st_mode & 0o777) == 0o700
    write_extension(zot.project, "x", COUNTING, version="2")
    assert "1 → 2" in zot("ext", "update", "x").err
    start(zot, serve)
    assert counts(zot) == ("2", "2")
    assert zot("ext", "install", "--force", "x").code == 0
    start(zot, serve)
    assert counts(zot) == ("3", "3")


def test_legacy_data_is_copied_once_and_reported(zot: Zot, serve) -> None:
    """Installed by an older zot: no record beside it, and its data lies among its files."""
    write_extension(own(zot).parent, "x", COUNTING)
    (own(zot) / "count.txt").write_text("41")
    (own(zot) / "README.md").write_text("# x")
    err = start(zot, serve)
    assert err.splitlines() == [f"the data directory of x is now {data(zot)}; copied from {own(zot)}: count.txt"]
    assert counts(zot) == ("42", "42")
    assert sorted(path.name for path in data(zot).iterdir()) == ["count.txt"]
    assert start(zot, serve) == ""
    assert counts(zot) == ("43", "43")


def test_legacy_data_beside_program_survives_replacement(zot: Zot, source: Path) -> None:
    write_extension(own(zot).parent, "x", COUNTING)
    (own(zot) / "count.txt").write_text("41")
    ran = zot("ext", "install", "--force", "x")
    assert ran.code == 0 and "copied from" in ran.err
    assert counts(zot) == ("41", "41")


def test_remove_without_yes_asks_about_data(zot: Zot, serve, source: Path) -> None:
    zot("ext", "install", "x")
    start(zot, serve)
    ran = zot("ext", "remove", "x", stdin="y\ny\n")
    assert f"delete its data also ({data(zot)})? [y/N]" in ran.err
    assert left(zot) == [] and not data(zot).exists()


@pytest.mark.parametrize(
    ("words", "answers", "kept"),
    [
        (("--yes",), "", True),
        (("--yes", "--keep-data"), "", True),
        (("--yes", "--delete-data"), "", False),
        (("--delete-data",), "y\n", False),
        (("--keep-data",), "y\n", True),
        ((), "y\nn\n", True),
        ((), "y\n", True),
    ],
)
def test_data_is_deleted_only_on_request(
    zot: Zot, serve, source: Path, words: tuple[str, ...], answers: str, kept: bool
) -> None:
    zot("ext", "install", "x")
    start(zot, serve)
    ran = zot("ext", "remove", "x", *words, stdin=answers)
    assert ran.code == 0 and left(zot) == []
    assert (data(zot) / "count.txt").exists() == kept
    assert ("kept its data in" in ran.err) == kept
    if kept:
        zot("ext", "install", "x")
        start(zot, serve)
        assert (data(zot) / "count.txt").read_text() == "2"


def test_remove_preserves_files_written_beside_program(zot: Zot, source: Path) -> None:
    zot("ext", "install", "x")
    (own(zot) / "notes.txt").write_text("mine")
    assert "kept its data" in zot("ext", "remove", "x", "--yes").err
    assert sorted(path.name for path in data(zot).iterdir()) == ["notes.txt"]
    assert "there" not in zot("ext", "remove", "x", "--delete-data", "--yes").err
    assert not data(zot).exists()


def test_an_authors_data_stays_at_home(zot: Zot, serve, source: Path) -> None:
    """State of a run with --ext and git-ignored files are not copied; build results are."""
    start(zot, serve, "--ext", "x")
    (source / "count.txt").unlink()
    (source / ".gitignore").write_text("*.txt\nnode_modules/\nprivate/\n*.jsonl\nrun\n")
    (source / "notes.txt").write_text("mine")
    for folder in ("private", "node_modules"):
        (source / folder).mkdir()
        (source / folder / "a.json").write_text("{}")
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o755)
    (source / "words.csv").write_text("shipped")
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    ran = zot("ext", "install", "x")
    assert "skipped files ignored by git: notes.txt, private/a.json, seen.jsonl" in ran.err
    copied = {str(path.relative_to(own(zot))) for path in own(zot).rglob("*") if path.is_file()}
    assert copied == {
        *(".gitignore", ".zot-install.json", "extension.json", "main.py"),
        *("node_modules/a.json", "run", "words.csv"),
    }


def test_the_state_of_a_run_by_path_is_not_among_the_sources(zot: Zot, serve, source: Path) -> None:
    start(zot, serve, "--ext", "x")
    places = list((zot.home / "zot" / "data").glob("*/x/count.txt"))
    assert [place.read_text() for place in places] == ["1"]
    assert json.loads((source / "seen.jsonl").read_text().splitlines()[0])["data_dir"] == str(places[0].parent)


def test_without_data_directory_state_is_stored_beside_extension(zot: Zot, serve) -> None:
    write_extension(own(zot).parent, "x", COUNTING)
    (zot.home / "zot" / "data").write_text("in the way")
    assert start(zot, serve) == ""
    acknowledged = json.loads((own(zot) / "seen.jsonl").read_text().splitlines()[0])
    assert acknowledged["data_dir"] == acknowledged["extension_dir"] == str(own(zot))


def test_only_git_ignored_files_among_sources_count_as_data(zot: Zot, serve, source: Path) -> None:
    for name in ("count.txt", "words.txt"):
        (source / name).write_text("41")
    assert start(zot, serve, "--ext", "x") == ""
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    (source / ".gitignore").write_text("count.txt\n*.jsonl\n")
    (source / "count.txt").write_text("41")
    zot.environment["ZOT_HOME"] = str(zot.home / "another")
    assert start(zot, serve, "--ext", "x").endswith(f"copied from {source}: count.txt, seen.jsonl\n")
    (place,) = (zot.home / "another" / "data").glob("*/x/count.txt")
    assert place.read_text() == "42"
