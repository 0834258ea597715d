from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.unit.agent.extensions.loading.places import Places, extension
from zot.agent.extensions.loading import fingerprint as content
from zot.agent.extensions.loading.trust import TrustStore, undecided
from zot.errors import ConfigError, ExtensionError


@pytest.fixture
def trusted(places: Places) -> Path:
    directory = places.project("x")
    (directory / "lib").mkdir()
    (directory / "lib" / "words.txt").write_text("words")
    places.trust.trust(directory)
    return directory


def test_nothing_is_trusted_before_somebody_said_so(places: Places) -> None:
    directory = places.project("x", trusted=False)
    assert not places.trust.is_trusted(directory)
    assert places.trust.changed(directory) == []


def test_trust_is_seen_by_the_next_process_and_stored_privately(places: Places, trusted: Path) -> None:
    assert TrustStore(places.home).is_trusted(trusted)
    assert stat.S_IMODE(places.trust.path.stat().st_mode) == 0o600
    record = json.loads(places.trust.path.read_text())["extensions"][str(trusted)]
    assert sorted(record["files"]) == ["extension.json", "lib/words.txt", "main.py"]
    assert (record["name"], record["exec"]) == ("x", "python3")


def test_running_it_does_not_end_the_trust(places: Places, trusted: Path) -> None:
    """ext-138: a bytecode directory and data files may appear."""
    (trusted / "__pycache__").mkdir()
    (trusted / "__pycache__" / "main.cpython-313.pyc").write_bytes(b"\0")
    (trusted / "state.json").write_text("{}")
    (trusted / "cache.db").write_bytes(b"\0" * 100)
    (trusted / ".git").mkdir()
    (trusted / ".git" / "index").write_text("x")
    assert places.trust.is_trusted(trusted)


@pytest.mark.parametrize("name", ["main.py", "extension.json", "lib/words.txt"])
def test_a_changed_file_ends_the_trust_and_is_named(places: Places, trusted: Path, name: str) -> None:
    """ext-138: changing a file ends the trust, and the file is named."""
    with (trusted / name).open("a") as file:
        file.write(" ")
    assert not places.trust.is_trusted(trusted)
    assert places.trust.changed(trusted) == [f"{name} changed"]


def test_a_missing_file_ends_the_trust(places: Places, trusted: Path) -> None:
    """ext-138: removing a file ends the trust."""
    (trusted / "lib" / "words.txt").unlink()
    assert places.trust.changed(trusted) == ["lib/words.txt is gone"]


@pytest.mark.parametrize(
    ("name", "content", "mode"),
    [
        ("json.py", "", 0o644),
        ("lib/native.so", "", 0o644),
        ("helper.MJS", "", 0o644),
        ("plain", "", 0o755),
        ("script", "#!/bin/sh\n", 0o644),
        ("package.json", "{}", 0o644),
        ("node_modules/evil/data.json", "{}", 0o644),
        ("sitecustomize.pyc", "", 0o644),
    ],
)
def test_a_new_file_that_could_run_ends_the_trust(
    places: Places, trusted: Path, name: str, content: str, mode: int
) -> None:
    """ext-150: a new file that could run ends the trust."""
    path = trusted / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
    assert places.trust.changed(trusted) == [f"{name} is new"]


@pytest.mark.parametrize("name", ["notes.txt", "data/x.json", "plain"])
def test_a_new_data_file_does_not(places: Places, trusted: Path, name: str) -> None:
    """ext-150: a new data file does not end the trust."""
    (trusted / name).parent.mkdir(exist_ok=True)
    (trusted / name).write_text("data")
    assert places.trust.is_trusted(trusted)


def test_code_reached_through_a_link_inside_the_project_counts(places: Places) -> None:
    shared = places.cwd / "shared"
    shared.mkdir()
    (shared / "code.py").write_text("1")
    directory = places.project("x", trusted=False)
    (directory / "lib").symlink_to(shared)
    (directory / "loop").symlink_to(directory)
    places.trust.trust(directory)
    (shared / "code.py").write_text("2")
    assert places.trust.changed(directory) == ["lib/code.py changed"]


def test_a_link_out_of_the_project_counts_by_where_it_leads_and_is_not_read(places: Places) -> None:
    directory = places.project("x", trusted=False)
    (directory / "system").symlink_to("/")
    (directory / "endless").symlink_to("/dev/zero")
    places.trust.trust(directory)
    assert places.trust.is_trusted(directory)
    (directory / "system").unlink()
    (directory / "system").symlink_to("/usr")
    (directory / "another").symlink_to("/usr")
    assert places.trust.changed(directory) == ["another is new", "system changed"]


def test_what_the_manifest_runs_counts_even_where_nothing_else_is_looked_at(places: Places) -> None:
    directory = places.project("x", trusted=False, args=["__pycache__/main.py"])
    (directory / "__pycache__").mkdir()
    (directory / "__pycache__" / "main.py").write_text("1")
    places.trust.trust(directory)
    (directory / "__pycache__" / "main.py").write_text("2")
    assert places.trust.changed(directory) == ["__pycache__/main.py changed"]


def test_more_files_than_anybody_can_trust_are_refused(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MAX_FILES", 2)
    directory = places.project("x", trusted=False)
    (directory / "third").touch()
    with pytest.raises(ExtensionError, match="more than 2 files"):
        places.trust.trust(directory)


def test_a_project_file_outside_the_directory_that_the_manifest_runs_counts(places: Places) -> None:
    script = places.cwd / "tools" / "run.sh"
    script.parent.mkdir()
    script.write_text("true")
    directory = places.project("x", exec="../../../tools/run.sh", args=[])
    assert places.trust.is_trusted(directory)
    script.write_text("false")
    assert places.trust.changed(directory) == [f"{script} changed"]


def test_a_link_turned_to_another_directory_is_not_trusted(places: Places, tmp_path: Path) -> None:
    first, second = extension(tmp_path / "one"), extension(tmp_path / "two")
    link = tmp_path / "link"
    link.symlink_to(first)
    places.trust.trust(link)
    assert places.trust.is_trusted(link)
    link.unlink()
    link.symlink_to(second)
    assert not places.trust.is_trusted(link)


def test_untrust_forgets(places: Places, trusted: Path) -> None:
    assert places.trust.untrust(trusted)
    assert not places.trust.is_trusted(trusted)
    assert not places.trust.untrust(trusted)


def test_while_editing_accepts_every_edit_in_this_run_only(places: Places, trusted: Path) -> None:
    """ext-139: nothing is stored, and the next run asks."""
    store = places.trust
    before = store.path.read_bytes()
    (trusted / "main.py").write_text("edited")
    store.while_editing(trusted)
    assert store.is_trusted(trusted)
    (trusted / "new.py").write_text("edited more")
    assert store.is_trusted(trusted)
    assert store.path.read_bytes() == before
    assert not TrustStore(places.home).is_trusted(trusted)


def test_the_question_names_every_undecided_entry_once_with_its_files(places: Places, trusted: Path) -> None:
    """ext-139: what a screen asks about."""
    (trusted / "main.py").write_text("edited")
    places.project("new", trusted=False, guard=True)
    places.project("off", trusted=False, enabled=False)
    places.project("bundle", trusted=False, exec=None, skills=["s"])
    asked = undecided(places.cwd, places.trust)
    assert [(entry.name, entry.changes, entry.guard) for entry in asked] == [
        ("new", [], True),
        ("x", ["main.py changed"], False),
    ]
    assert asked[0].files == ["extension.json", "main.py"]
    assert (asked[0].exec, asked[0].args) == ("python3", ("main.py",))


def test_a_directory_without_a_manifest_cannot_be_trusted(places: Places, tmp_path: Path) -> None:
    with pytest.raises(ExtensionError, match=r"no extension\.json"):
        places.trust.trust(tmp_path)


def test_a_broken_trust_file_is_told_with_its_name_and_a_fix(places: Places, trusted: Path) -> None:
    places.trust.path.write_text("{")
    with pytest.raises(ConfigError, match=r"trust\.json.*delete it"):
        places.trust.is_trusted(trusted)
