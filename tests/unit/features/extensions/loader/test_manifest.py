from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.features.extensions.loader.places import extension
from zot.errors import ExtensionError
from zot.features.extensions.loader.manifest import looks_like_guard, read_manifest


def write(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "extension.json").write_text(text)
    return directory


def refusal(directory: Path) -> str:
    with pytest.raises(ExtensionError) as caught:
        read_manifest(directory)
    return str(caught.value)


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_every_field_is_read(tmp_path: Path) -> None:
    directory = extension(
        tmp_path / "x", version="1.2", language="python", description="d", skills=["s"], guard=True, unknown={"a": 1}
    )
    manifest = read_manifest(directory)
    assert (manifest.name, manifest.exec, manifest.args) == ("x", "python3", ("main.py",))
    assert (manifest.version, manifest.language, manifest.description) == ("1.2", "python", "d")
    assert (manifest.skills, manifest.guard, manifest.enabled, manifest.directory) == (("s",), True, True, directory)


@pytest.mark.parametrize("name", [None, "", "  "])
def test_a_missing_or_empty_name_is_an_error(tmp_path: Path, name: str | None) -> None:
    """ext-012: a manifest whose name is missing or empty is refused."""
    assert '"name" is missing' in refusal(extension(tmp_path / "x", name=name))


def test_a_missing_exec_without_theme_or_skills_is_an_error(tmp_path: Path) -> None:
    """ext-013: a manifest with neither `exec` nor a theme or skills is refused."""
    assert 'expected "exec"' in refusal(extension(tmp_path / "x", exec=None))


@pytest.mark.parametrize(("value", "enabled"), [(None, True), (True, True), (False, False)])
def test_enabled_defaults_to_yes(tmp_path: Path, value: bool | None, enabled: bool) -> None:
    """ext-014, ext-015: an extension is enabled unless its manifest contains `false`."""
    assert read_manifest(extension(tmp_path / "x", enabled=value)).enabled is enabled


def test_enabled_null_means_enabled(tmp_path: Path) -> None:
    """ext-015: `enabled: null` means enabled."""
    assert read_manifest(write(tmp_path, '{"name":"x","exec":"sh","enabled":null,"args":null}')).enabled


def test_a_theme_file_makes_exec_unnecessary(tmp_path: Path) -> None:
    """ext-098: both theme files are offered, theme.json first."""
    directory = extension(tmp_path / "x", exec=None, args=None)
    (directory / "themes").mkdir()
    for name in ("themes/theme.json", "theme.json"):
        (directory / name).write_text("{}")
    manifest = read_manifest(directory)
    assert manifest.themes == (directory / "theme.json", directory / "themes" / "theme.json")
    assert (manifest.has_process, manifest.kind) == (False, "theme")


def test_exec_and_theme_start_process_and_offer_theme(tmp_path: Path) -> None:
    directory = extension(tmp_path / "x")
    (directory / "theme.json").write_text("{}")
    manifest = read_manifest(directory)
    assert manifest.has_process
    assert manifest.kind == "process+theme"


def test_skills_alone_need_no_process(tmp_path: Path) -> None:
    """ext-109: a manifest with skills alone has no process."""
    manifest = read_manifest(extension(tmp_path / "x", exec=None, skills=["skills"]))
    assert (manifest.has_process, manifest.kind) == (False, "skills")


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", ".", "..", "a\0b", "a\nb"])
def test_name_with_path_parts_is_rejected(tmp_path: Path, name: str) -> None:
    assert 'invalid "name"' in refusal(extension(tmp_path / "x", name=name))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name":"x",\n "exec": }', "line 2"),
        ("[]", "one JSON object"),
        ("", '"name" is missing'),
        ('{"name":1,"exec":"sh"}', "name"),
        ('{"name":"x","exec":"sh","args":"-c"}', "args"),
        ('{"name":"x","exec":"sh","enabled":"no"}', "enabled"),
        ('{"name":"x","exec":"sh","guard":true,"guard":false}', "duplicate key"),
        ('{"name":"x","exec":"s\\u0000h"}', "NUL"),
    ],
)
def test_broken_manifest_error_names_the_problem(tmp_path: Path, text: str, reason: str) -> None:
    assert reason in refusal(write(tmp_path / "x", text))


def test_missing_manifest_or_directory_is_an_error(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "no extension.json"
    os.mkfifo(tmp_path / "extension.json")
    assert refusal(tmp_path) == "extension.json is not a file"


def test_a_huge_manifest_is_not_read(tmp_path: Path) -> None:
    assert "larger than 1 MiB" in refusal(write(tmp_path / "x", " " * (1 << 21)))


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ('{"name": "g", "guard" : true, oops', True),
        ('{"guard": "yes"}', True),
        ('{"guard":', True),
        ('{"guard": false', False),
        ('{"guard" :\n null,,', False),
        ('{"name": "guard"', False),
        ("{}", False),
    ],
)
def test_a_broken_guard_is_still_known_as_one(tmp_path: Path, text: str, guard: bool) -> None:
    assert looks_like_guard(write(tmp_path / "x", text)) is guard


def argv(directory: Path, exec_: str, path: str = "", **fields: Any) -> list[str]:
    fields = {"name": "x", "exec": exec_, **fields}
    return read_manifest(write(directory, json.dumps(fields))).argv(path)


def test_absolute_exec_is_used_unchanged(tmp_path: Path) -> None:
    """ext-016: an absolute `exec` is run as it stands, and its arguments are not expanded."""
    assert argv(tmp_path / "x", "/opt/../bin/true", args=["$HOME", "*"]) == ["/opt/../bin/true", "$HOME", "*"]


@pytest.mark.parametrize(("exec_", "place"), [("./run", "x/run"), ("../run", "run"), ("bin/run", "x/bin/run")])
def test_a_path_belongs_to_the_manifest_directory(tmp_path: Path, exec_: str, place: str) -> None:
    """ext-017: a relative path in `exec` is resolved against the manifest's directory."""
    assert argv(tmp_path / "x", exec_) == [str(tmp_path / place)]


def test_bare_exec_is_found_on_path_not_beside_manifest(tmp_path: Path) -> None:
    """ext-018: a bare `exec` is looked up on PATH, never beside the manifest."""
    executable(tmp_path / "x" / "run")
    found = executable(tmp_path / "bin" / "run")
    assert argv(tmp_path / "x", "run", path=f"/nowhere:{found.parent}") == [str(found)]
    with pytest.raises(ExtensionError, match=r'not found on PATH; .* "\./run"'):
        argv(tmp_path / "x", "run", path="/nowhere")


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_a_hit_through_a_relative_path_entry_is_refused(
    tmp_path: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ext-018: a hit through a relative entry of PATH is refused."""
    executable(tmp_path / entry / "run")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExtensionError, match="relative entry"):
        argv(tmp_path / "x", "run", path=f"/nowhere:{entry}")
