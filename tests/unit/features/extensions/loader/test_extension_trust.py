from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.unit.features.extensions.loader.places import Places, extension
from zot.errors import ConfigError, ExtensionError
from zot.features.extensions.loader import trusted_copy as content
from zot.features.extensions.loader.extension_trust import ExtensionTrust, untrusted_extensions


@pytest.fixture
def trusted(places: Places) -> Path:
    directory = places.project("x")
    (directory / "lib").mkdir()
    (directory / "lib" / "words.txt").write_text("words")
    places.trust.trust(directory)
    return directory


def test_nothing_is_trusted_by_default(places: Places) -> None:
    directory = places.project("x", trusted=False)
    assert not places.trust.is_trusted(directory)
    assert places.trust.changed(directory) == []


def test_trust_is_seen_by_the_next_process_and_stored_privately(places: Places, trusted: Path) -> None:
    assert ExtensionTrust(places.home).is_trusted(trusted)
    assert stat.S_IMODE(places.trust.path.stat().st_mode) == 0o600
    record = json.loads(places.trust.path.read_text())["extensions"][str(trusted)]
    assert sorted(record["files"]) == ["extension.json", "lib/words.txt", "main.py"]
    assert (record["name"], record["exec"]) == ("x", "python3")


def test_running_it_does_not_end_the_trust(places: Places, trusted: Path) -> None:
    """ext-138: bytecode and git's files may appear; an extension's data is in the running copy."""
    (trusted / "__pycache__").mkdir()
    (trusted / "__pycache__" / "main.cpython-313.pyc").write_bytes(b"\0")
    (trusted / ".git").mkdir()
    (trusted / ".git" / "index").write_text("x")
    (places.trust.trusted_path(trusted) / "state.json").write_text("{}")
    assert places.trust.is_trusted(trusted)
    assert (places.trust.trusted_path(trusted) / "state.json").read_text() == "{}"


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
    assert places.trust.changed(trusted) == ["lib/words.txt is missing"]


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


@pytest.mark.parametrize("name", ["notes.txt", "data/x.json", "plain", "GNUmakefile", "__pycache__/main.sh"])
def test_any_new_file_ends_trust(places: Places, trusted: Path, name: str) -> None:
    """ext-150: any new file may be executed later: ``make`` prefers a GNUmakefile."""
    (trusted / name).parent.mkdir(exist_ok=True)
    (trusted / name).write_text("data")
    assert places.trust.changed(trusted) == [f"{name} is new"]


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


def test_link_to_outside_file_counts_by_path_and_content(places: Places, tmp_path: Path) -> None:
    """For example an interpreter: it stays a link, and its target must not change."""
    program, other = tmp_path / "program", tmp_path / "other"
    program.write_text("1")
    other.write_text("1")
    directory = places.project("x", trusted=False)
    (directory / "python").symlink_to(program)
    places.trust.trust(directory)
    assert places.trust.is_trusted(directory)
    assert os.readlink(places.trust.trusted_path(directory) / "python") == str(program)
    program.write_text("2")
    assert places.trust.changed(directory) == ["python changed"]
    (directory / "python").unlink()
    (directory / "python").symlink_to(other)
    assert places.trust.changed(directory) == ["python changed"]


@pytest.mark.parametrize("target", ["/usr", "/dev/zero"])
def test_link_to_outside_directory_cannot_be_trusted(places: Places, target: str) -> None:
    directory = places.project("x", trusted=False)
    (directory / "elsewhere").symlink_to(target)
    with pytest.raises(ExtensionError, match=f"elsewhere is a link to {target}"):
        places.trust.trust(directory)
    assert untrusted_extensions(places.cwd, places.trust) == []


def test_too_deep_tree_is_rejected(places: Places) -> None:
    directory = places.project("x", trusted=False)
    (directory / Path(*("d" * 150))).mkdir(parents=True)
    with pytest.raises(ExtensionError, match="nested deeper than 100"):
        places.trust.trust(directory)


def test_too_large_tree_is_rejected(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MAX_BYTES", 1 << 20)
    directory = places.project("x", trusted=False)
    (directory / "large").write_bytes(b"0" * (2 << 20))
    with pytest.raises(ExtensionError, match="more than 1 MiB"):
        places.trust.trust(directory)


def test_manifest_exec_counts_even_in_ignored_directory(places: Places) -> None:
    directory = places.project("x", trusted=False, args=["__pycache__/main.py"])
    (directory / "__pycache__").mkdir()
    (directory / "__pycache__" / "main.py").write_text("1")
    places.trust.trust(directory)
    (directory / "__pycache__" / "main.py").write_text("2")
    assert places.trust.changed(directory) == ["__pycache__/main.py changed"]


def test_too_many_files_are_rejected(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MAX_FILES", 2)
    directory = places.project("x", trusted=False)
    (directory / "third").touch()
    with pytest.raises(ExtensionError, match="more than 2 files"):
        places.trust.trust(directory)


@pytest.mark.parametrize(
    "command",
    [
        ["../../../tools/run.sh"],
        ["sh", "../../../tools/run.sh"],
        ["sh", "-c", "../../../tools/run.sh"],
        ["sh", "-c", "cd .. && ./run.sh"],
        ["sh", "-c", ". {project}/tools/run.sh"],
        ["{project}/tools/run.sh"],
        ["sh", "{project}/.zot/extensions/x/main.py"],
    ],
)
def test_a_command_that_leads_into_the_project_cannot_be_trusted(places: Places, command: list[str]) -> None:
    """Its files are not copied, and could be changed at any time."""
    exec_, *args = [word.format(project=places.cwd) for word in command]
    directory = places.project("x", trusted=False, exec=exec_, args=args)
    with pytest.raises(ExtensionError, match="outside its directory"):
        places.trust.trust(directory)
    assert untrusted_extensions(places.cwd, places.trust) == []


def test_interpreter_inside_project_cannot_be_trusted(places: Places) -> None:
    directory = places.project("x", trusted=False, exec="./run", args=[])
    (directory / "run").write_text(f"#!{places.cwd}/.venv/bin/python\n")
    with pytest.raises(ExtensionError, match="outside its directory"):
        places.trust.trust(directory)


def test_trusted_extension_runs_from_immutable_copy(places: Places, trusted: Path) -> None:
    copy = places.trust.trusted_path(trusted)
    assert copy.is_relative_to(places.home) and copy.name == "x"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    (trusted / "main.py").write_text("evil")
    assert (copy / "main.py").read_text() == "print('hello')\n"
    with pytest.raises(ExtensionError, match="changed since you trusted them"):
        places.trust.trusted_path(trusted)


@pytest.mark.parametrize("damage", ["changed", "gone", "removed", "a link"])
def test_a_damaged_copy_is_made_again(places: Places, trusted: Path, damage: str) -> None:
    copy = places.trust.trusted_path(trusted)
    if damage == "changed":
        (copy / "main.py").write_text("evil")
    elif damage == "gone":
        shutil.rmtree(copy)
    else:
        (copy / "main.py").unlink()
        if damage == "a link":
            (copy / "main.py").symlink_to(trusted / "main.py")
    again = places.trust.trusted_path(trusted)
    assert again == copy and not (again / "main.py").is_symlink()
    assert (again / "main.py").read_text() == "print('hello')\n"


def test_only_newest_copy_remains_and_none_after_untrust(places: Places, trusted: Path) -> None:
    old = places.trust.trusted_path(trusted)
    (trusted / "main.py").write_text("edited")
    places.trust.trust(trusted)
    new = places.trust.trusted_path(trusted)
    assert new != old and not old.exists()
    places.trust.untrust(trusted)
    assert not new.exists() and list((places.home / "trusted").iterdir()) == []


def test_trust_applies_to_content_shown(places: Places) -> None:
    """Files swapped while the question is open are not covered by the answer."""
    directory = places.project("x", trusted=False)
    [asked] = untrusted_extensions(places.cwd, places.trust)
    (directory / "main.py").write_text("evil")
    with pytest.raises(ExtensionError, match=r"changed during the review \(main.py changed\)"):
        places.trust.trust(directory, asked.fingerprint)
    assert not places.trust.is_trusted(directory) and places.trust.record(directory) is None
    (directory / "main.py").write_text("print('hello')\n")
    places.trust.trust(directory, asked.fingerprint)
    assert places.trust.is_trusted(directory)


def test_file_swapped_during_read_does_not_run(places: Places, monkeypatch: Any) -> None:
    """The hashed bytes are the copied bytes."""
    directory = places.project("x", trusted=False)
    (directory / "z.bin").write_bytes(b"0" * 3_000_000)
    read = os.read

    def swapping(fd: int, size: int) -> bytes:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("z.bin"):
            (directory / "main.py").write_text("evil")
        return read(fd, size)

    monkeypatch.setattr(content.os, "read", swapping)
    places.trust.trust(directory)
    monkeypatch.undo()
    (directory / "main.py").write_text("print('hello')\n")
    assert (places.trust.trusted_path(directory) / "main.py").read_text() == "print('hello')\n"


def test_link_to_extension_counts_by_its_target(places: Places, tmp_path: Path) -> None:
    """The copy contains the target; a changed link or target is not trusted."""
    first, second = extension(places.cwd / "tools" / "x"), extension(tmp_path / "two", name="two")
    (places.cwd / ".zot" / "extensions").mkdir(parents=True)
    link = places.cwd / ".zot" / "extensions" / "x"
    link.symlink_to(first)
    places.trust.trust(link)
    assert places.trust.is_trusted(link)
    link.unlink()
    link.symlink_to(second)
    assert not places.trust.is_trusted(link) and places.trust.record(link) is not None
    link.unlink()
    link.symlink_to(first)
    assert places.trust.is_trusted(link)
    (first / "main.py").write_text("evil")
    assert not places.trust.is_trusted(link)


def test_directory_with_undecodable_name_can_be_trusted(places: Places) -> None:
    project = Path(os.fsdecode(os.fsencode(places.cwd) + b"\xff"))
    directory = extension(project / ".zot" / "extensions" / "x")
    places.trust.trust(directory)
    assert places.trust.is_trusted(directory) and places.trust.project_records(project)
    assert places.trust.untrust(directory)


def test_file_with_undecodable_name_cannot_be_trusted(places: Places) -> None:
    directory = places.project("x", trusted=False)
    (directory / os.fsdecode(b"\xff.py")).touch()
    with pytest.raises(ExtensionError, match="not UTF-8"):
        places.trust.trust(directory)


def test_untrust_forgets(places: Places, trusted: Path) -> None:
    assert places.trust.untrust(trusted)
    assert not places.trust.is_trusted(trusted)
    assert not places.trust.untrust(trusted)


def test_while_editing_accepts_edits_in_this_run_only(places: Places, trusted: Path) -> None:
    """ext-139: nothing is stored, and the next run needs trust again."""
    store = places.trust
    before = store.path.read_bytes()
    (trusted / "main.py").write_text("edited")
    store.trust_for_session(trusted)
    assert store.is_trusted(trusted)
    (trusted / "new.py").write_text("edited more")
    assert store.is_trusted(trusted)
    assert store.path.read_bytes() == before
    assert not ExtensionTrust(places.home).is_trusted(trusted)


def test_question_lists_each_undecided_entry_once_with_files(places: Places, trusted: Path) -> None:
    """ext-139: the content of the trust dialog."""
    (trusted / "main.py").write_text("edited")
    places.project("new", trusted=False, guard=True)
    places.project("off", trusted=False, enabled=False)
    places.project("bundle", trusted=False, exec=None, skills=["s"])
    asked = untrusted_extensions(places.cwd, places.trust)
    assert [(entry.name, entry.changes, entry.guard) for entry in asked] == [
        ("new", [], True),
        ("x", ["main.py changed"], False),
    ]
    assert asked[0].files == ["extension.json", "main.py"]
    assert (asked[0].exec, asked[0].args) == ("python3", ("main.py",))


def test_a_directory_without_a_manifest_cannot_be_trusted(places: Places, tmp_path: Path) -> None:
    with pytest.raises(ExtensionError, match=r"no extension\.json"):
        places.trust.trust(tmp_path)


def test_broken_trust_file_error_names_file_and_fix(places: Places, trusted: Path) -> None:
    places.trust.path.write_text("{")
    with pytest.raises(ConfigError, match=r"trust\.json.*delete it"):
        places.trust.is_trusted(trusted)
