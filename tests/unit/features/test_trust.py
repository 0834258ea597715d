"""The one store of trust: project keys, and a file with records of extensions and of other entries."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from zot.errors import ConfigError
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.trust import TrustStore, Untrusted, list_untrusted, path_key, project_key, trust_all
from zot.system.digest import sha256


def undecodable(parent: Path, name: bytes) -> Path:
    directory = Path(os.fsdecode(os.path.join(os.fsencode(parent), name)))
    try:
        directory.mkdir()
    except OSError:  # macOS refuses such names
        pytest.skip("the file system has only UTF-8 names")
    return directory


def test_undecodable_project_names_have_different_keys(tmp_path: Path) -> None:
    """Trust in one project does not apply to another whose name differs only in undecodable bytes."""
    one, other = undecodable(tmp_path, b"\xff"), undecodable(tmp_path, b"\xfe")
    store = TrustStore(tmp_path / "home")
    store.trust(one, "mcp", "files", b"run")
    assert store.is_trusted(one, "mcp", "files", b"run")
    assert not store.is_trusted(other, "mcp", "files", b"run")
    assert project_key(one) != project_key(other)


def test_escaped_key_differs_from_a_name_that_looks_like_it(tmp_path: Path) -> None:
    names = [b"\xff", rb"\xff", rb"\x5cxff", rb"\\xff", b"\\\xff", b"\\\\\xff", b"?", "é".encode(), "\ufffd".encode()]
    keys = [path_key(os.fsdecode(b"/tmp/" + name)) for name in names]
    assert len(set(keys)) == len(names)
    for key in keys:
        assert key.encode().decode() == key


@pytest.mark.parametrize("name", ["plain", "with space", "é", r"back\slash", r"\xyz", r"C:\x20", "?", "日本"])
def test_ordinary_name_is_its_own_key(name: str) -> None:
    """Records of older versions for such a project are still found."""
    assert path_key(f"/tmp/{name}") == f"/tmp/{name}"


def test_key_is_the_real_path(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to("project")
    assert project_key(tmp_path / "link") == str(tmp_path / "project")


def test_file_of_an_older_version_is_honoured_and_kept(tmp_path: Path) -> None:
    """Records of both kinds in version 1 are valid; changing one kind leaves the other unchanged."""
    home, project = tmp_path / "home", tmp_path / "project"
    extension = project / ".zot" / "extensions" / "x"
    extension.mkdir(parents=True)
    (extension / "extension.json").write_text('{"name": "x", "exec": "true"}')
    record = {
        "name": "x",
        "exec": "true",
        "args": [],
        "guard": True,
        "files": {"extension.json": sha256((extension / "extension.json").read_bytes())},
        "permissions": None,
        "unconfined": False,
    }
    written = {
        "version": 1,
        "extensions": {str(extension): record},
        "guests": {str(project): {"mcp files": sha256(b"run"), "hooks .zot/hooks.json": sha256(b"hooks")}},
    }
    home.mkdir()
    (home / "trust.json").write_text(json.dumps(written, indent=2) + "\n")
    store, extensions = TrustStore(home), ExtensionTrust(home)
    assert store.is_trusted(project, "mcp", "files", b"run")
    assert store.is_trusted(project, "hooks", ".zot/hooks.json", b"hooks")
    assert extensions.is_trusted(extension)
    assert [each.guard for each in extensions.project_records(project).values()] == [True]
    store.trust(project, "mcp", "more", b"run")
    extensions.record_guard(extension, False)
    after = json.loads((home / "trust.json").read_text())
    assert after["extensions"] == {str(extension): record | {"guard": False, "uses": []}}
    assert after["guests"] == {str(project): written["guests"][str(project)] | {"mcp more": sha256(b"run")}}


def test_damaged_file_is_an_error_and_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "trust.json").write_text('{"guests": 3}')
    with pytest.raises(ConfigError, match="delete it to trust nothing"):
        TrustStore(tmp_path).trust(tmp_path, "mcp", "files", b"run")
    assert (tmp_path / "trust.json").read_text() == '{"guests": 3}'


class Subject:
    """Writes its calls into ``calls``; trusting takes time."""

    def __init__(self, name: str, calls: list[str], count: int = 1) -> None:
        self.name, self.calls = name, calls
        self.items = [Untrusted(kind="hooks", name=f"{name} {n}", source="", runs=()) for n in range(count)]

    def untrusted_items(self) -> list[Untrusted]:
        return self.items

    def accept_items(self, items: Sequence[Untrusted]) -> None:
        self.calls += [f"accept {item.name}" for item in items]

    async def trust_items(self, items: Sequence[Untrusted], *, save: bool = True) -> None:
        await asyncio.sleep(0)
        self.calls += [f"trust {item.name} {save}" for item in items]


async def test_everything_is_accepted_before_anything_is_saved() -> None:
    """A prompt sent right after the answer meets every guard and hook, however long saving takes."""
    calls: list[str] = []
    found = await list_untrusted((Subject("one", calls), None, Subject("none", calls, 0), Subject("two", calls)))
    assert [item.name for _, items in found for item in items] == ["one 0", "two 0"]
    work = trust_all(found, save=False)
    with pytest.raises(StopIteration):
        while True:
            work.send(None)
            assert calls[:2] == ["accept one 0", "accept two 0"]
    assert calls[2:] == ["trust one 0 False", "trust two 0 False"]
