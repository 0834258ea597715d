"""``zot ext update`` and the forms of ``install``: from where it came, as a whole, or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import extension, in_project, installed, left
from tests.e2e.test_ext_install import git, git_words


def commit(repository: Path, message: str = "next") -> str:
    git("add", "-A", cwd=repository)
    git("commit", "-q", "-m", message, cwd=repository)
    return subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=repository, text=True).strip()


def rewrite(directory: Path, **fields: object) -> None:
    path = directory / "extension.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def own(zot: Zot, name: str = "tool") -> Path:
    return zot.home / "zot" / "extensions" / name


def version(zot: Zot, name: str = "tool") -> str:
    return json.loads((own(zot, name) / "extension.json").read_text())["version"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Version 1 tagged v1, version 2 on the branch next, and main behind both with a part in parts/tool."""
    directory = extension(tmp_path / "repos" / "tool", version="1")
    git("init", "-q", cwd=directory)
    commit(directory)
    git("tag", "-a", "v1", "-m", "one", cwd=directory)
    git("checkout", "-q", "-b", "next", cwd=directory)
    rewrite(directory, version="2")
    commit(directory)
    git("checkout", "-q", "main", cwd=directory)
    rewrite(directory, version="3")
    extension(directory / "parts" / "part", version="p1", name="part")
    (directory / "shared").mkdir()
    (directory / "shared" / "words.py").write_text("WORDS = 1\n")
    (directory / "parts" / "part" / "shared").symlink_to("../../shared")
    commit(directory)
    return directory


@pytest.mark.parametrize(
    ("typed", "name", "expected"),
    [
        (["file://{}"], "tool", "3"),
        (["file://{}@v1"], "tool", "1"),
        (["file://{}@next"], "tool", "2"),
        (["file://{}", "--ref", "next"], "tool", "2"),
        (["file://{}#parts/part"], "part", "p1"),
        (["file://{}@main#parts/part"], "part", "p1"),
        (["file://{}", "--subdir", "parts/part"], "part", "p1"),
        (["{}", "--subdir", "parts/part"], "part", "p1"),
    ],
)
def test_a_branch_a_tag_and_a_directory_can_be_installed(
    zot: Zot, repository: Path, typed: list[str], name: str, expected: str
) -> None:
    ran = zot("ext", "install", *(word.format(repository) for word in typed))
    assert ran.code == 0, ran.err
    assert "detached" not in ran.err
    assert (left(zot), version(zot, name)) == ([name], expected)
    if name == "part":  # what it shares with the rest of the repository came along, and no link leads out
        assert not (own(zot, name) / "shared").is_symlink()
        assert (own(zot, name) / "shared" / "words.py").read_text() == "WORDS = 1\n"


def test_a_commit_can_be_installed_and_stays(zot: Zot, repository: Path) -> None:
    first = subprocess.check_output(["git", "rev-parse", "v1^{}"], cwd=repository, text=True).strip()
    assert zot("ext", "install", f"file://{repository}@{first[:10]}").code == 0
    assert version(zot) == "1"
    assert f"up to date (1 {first[:7]})" in zot("ext", "update").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["file://{}@nothing"], "git cannot clone"),
        (["file://{}#nowhere"], "has no directory nowhere"),
        (["file://{}#../.."], "not a directory inside the repository"),
        (["file://{}@0123456789"], "has no commit 0123456789"),
        (["{}", "--ref", "v1"], "write file://"),
    ],
)
def test_update_of_missing_source_installs_nothing(zot: Zot, repository: Path, words: list[str], told: str) -> None:
    ran = zot("ext", "install", *(word.format(repository) for word in words))
    assert ran.code == 1
    assert told in ran.err
    assert left(zot) == []


def test_an_update_shows_both_versions_and_commits(zot: Zot, repository: Path) -> None:
    old = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=repository, text=True)[:7]
    zot("ext", "install", f"file://{repository}")
    assert f"tool is up to date (3 {old})" in zot("ext", "update", "tool").err
    rewrite(repository, version="4")
    new = commit(repository)[:7]
    assert f"tool would be updated: 3 {old} → 4 {new}" in zot("ext", "update", "--dry-run").err
    assert version(zot) == "3"
    ran = zot("ext", "update", "--all")
    assert (ran.code, f"updated tool: 3 {old} → 4 {new}" in ran.err) == (0, True)
    assert (version(zot), left(zot)) == ("4", ["tool"])


def test_a_part_of_a_repository_is_updated_from_there(zot: Zot, repository: Path) -> None:
    zot("ext", "install", f"file://{repository}@main#parts/part")
    rewrite(repository / "parts" / "part", version="p2")
    commit(repository)
    assert "p1" in (ran := zot("ext", "update", "part")).err and ran.code == 0
    assert version(zot, "part") == "p2"


def test_update_of_legacy_clone_uses_its_git_remote(zot: Zot, repository: Path) -> None:
    own(zot).parent.mkdir(parents=True)
    git("clone", "-q", "--depth", "1", f"file://{repository}", str(own(zot)), cwd=repository)
    rewrite(repository, version="4")
    commit(repository)
    assert zot("ext", "update").code == 0
    assert version(zot) == "4"


def test_a_directory_is_updated_from_where_it_was_copied(zot: Zot) -> None:
    source = extension(zot.project / "tool", version="1")
    zot("ext", "install", "tool")
    assert "up to date" in zot("ext", "update").err
    rewrite(source, version="2")
    (source / "more.py").write_text("")
    assert "updated tool: 1 → 2" in zot("ext", "update").err
    assert (own(zot) / "more.py").exists()
    (source / "more.py").unlink()
    zot("ext", "update")
    assert not (own(zot) / "more.py").exists()


def test_failed_update_leaves_old_version_and_others_continue(zot: Zot) -> None:
    for name in ("a", "b", "c"):
        extension(zot.project / name, version="1")
        zot("ext", "install", name)
    installed(zot, "d", version="1")
    (zot.project / "a" / "extension.json").write_text("{")
    (zot.project / "b").rename(zot.project / "elsewhere")
    rewrite(zot.project / "c", version="2")
    ran = zot("ext", "update")
    assert ran.code == 1
    assert "a: not updated: not an extension" in ran.err
    assert f"b: not updated: {zot.project / 'b'} is not a directory" in ran.err
    assert "updated c: 1 → 2" in ran.err
    assert "d: skipped: unknown install source" in ran.err
    assert [version(zot, name) for name in ("a", "b", "c", "d")] == ["1", "1", "2", "1"]
    assert left(zot) == ["a", "b", "c", "d"]
    assert zot("ext", "update", "d").code == 1


def test_interrupted_update_changes_nothing(zot: Zot, repository: Path, tmp_path: Path) -> None:
    zot("ext", "install", f"file://{repository}")
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nfor last; do :; done\nmkdir -p "$last"; echo ready >&2; exec sleep 60\n')
    fake.chmod(0o755)
    zot.environment["PATH"] = f"{fake.parent}:{os.environ['PATH']}"
    running = zot.start("ext", "update", stderr=subprocess.PIPE)
    assert running.stderr is not None
    while running.stderr.readline() != b"ready\n":
        pass
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 143
    assert (left(zot), version(zot)) == (["tool"], "3")


def test_locally_changed_extension_is_replaced_only_by_force(zot: Zot) -> None:
    source = extension(zot.project / "tool", version="1")
    zot("ext", "install", "tool")
    rewrite(source, version="2")
    (own(zot) / "main.py").write_text("# my own\n")
    ran = zot("ext", "update", "tool")
    assert ran.code == 1
    assert "changed locally since installation: main.py" in ran.err
    assert (own(zot) / "main.py").read_text() == "# my own\n"
    assert zot("ext", "update", "tool", "--force").code == 0
    assert (own(zot) / "main.py").read_text() != "# my own\n"


def test_a_guard_does_not_stop_guarding_by_an_update(zot: Zot) -> None:
    source = extension(zot.project / "tool", version="1", guard=True)
    zot("ext", "install", "tool")
    rewrite(source, version="2", guard=False)
    ran = zot("ext", "update", "tool")
    assert ran.code == 1
    assert "version 2 is no longer a guard" in ran.err
    assert version(zot) == "1"
    assert zot("ext", "update", "tool", "--force").code == 0
    assert version(zot) == "2"


def test_update_leaves_disabled_extension_disabled(zot: Zot) -> None:
    source = extension(zot.project / "tool", version="1")
    zot("ext", "install", "tool")
    zot("ext", "disable", "tool")
    assert "up to date" in zot("ext", "update").err
    rewrite(source, version="2")
    zot("ext", "update")
    manifest = json.loads((own(zot) / "extension.json").read_text())
    assert (manifest["version"], manifest["enabled"]) == ("2", False)


def test_a_built_program_is_not_taken_for_the_new_one(zot: Zot) -> None:
    """New sources with an old program: the update reports that it must be built."""
    source = extension(zot.project / "tool", version="1", exec="./run", args=None)
    zot("ext", "install", "tool")
    (own(zot) / "run").write_text("#!/bin/sh\n")
    (own(zot) / "run").chmod(0o755)
    rewrite(source, version="2")
    assert "cannot start until it is built" in zot("ext", "update").err


def test_update_skips_links_and_project_extensions(zot: Zot) -> None:
    target = extension(zot.project / "real", version="1")
    own(zot).parent.mkdir(parents=True)
    own(zot, "real").symlink_to(target)
    in_project(zot, "theirs")
    ran = zot("ext", "update")
    assert (ran.code, f"a link to {target}" in ran.err) == (0, True)
    ran = zot("ext", "update", "theirs")
    assert (ran.code, "part of this project" in ran.err) == (1, True)


def test_force_replaces_and_keeps_the_name_of_the_data(zot: Zot) -> None:
    """Of an extension that is renamed, the data goes with it."""
    source = extension(zot.project / "tool", version="1", name="before")
    zot("ext", "install", "tool")
    data = zot.home / "zot" / "data" / "global"
    (data / "before").mkdir(parents=True)
    (data / "before" / "x").touch()
    rewrite(source, name="after")
    assert "already exists" in zot("ext", "install", "tool").err
    assert zot("ext", "install", "--force", "tool").code == 0
    assert (data / "after" / "x").exists() and not (data / "before").exists()


@pytest.mark.parametrize(
    ("typed", "branch", "url"),
    [
        ("https://host/a/tool@v1", "v1", "https://host/a/tool"),
        ("https://host/a/tool.git@feature/x", "feature/x", "https://host/a/tool.git"),
        ("https://user@host/a/tool", "", "https://user@host/a/tool"),
        ("https://user:word@host/a/tool@v1#part", "v1", "https://user:word@host/a/tool"),
        ("git@host:a/tool.git", "", "git@host:a/tool.git"),
        ("git@host:tool.git@v1", "v1", "git@host:tool.git"),
        ("git@host:tool@v1", "v1", "git@host:tool"),
        ("ssh://git@host/tool.git#subdirectory=part", "", "ssh://git@host/tool.git"),
        ("https://host/a/tool/tree/main/parts/one", "main", "https://host/a/tool"),
        ("https://host/a/tool/-/tree/v1/", "v1", "https://host/a/tool"),
        ("https://host/a/tool@--upload-pack=evil", "--upload-pack=evil", "https://host/a/tool"),
    ],
)
def test_branch_syntax_variants_reach_git(zot: Zot, tmp_path: Path, typed: str, branch: str, url: str) -> None:
    """A user name of a host stays one, and no input becomes a git option."""
    words = git_words(zot, tmp_path, typed)
    assert words[words.index("--") + 1] == url
    assert [word for word in words if word.startswith("--branch")] == ([f"--branch={branch}"] if branch else [])
    assert left(zot) == []
