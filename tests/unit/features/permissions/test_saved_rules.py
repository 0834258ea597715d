"""The rules of a project, on disk and nowhere near it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from zot.core.permission_modes import Rule
from zot.errors import ConfigError
from zot.features.permissions.feature import SavedRules

STATUS, EDIT = Rule("bash", "", ("git", "status")), Rule("edit")


def kept(home: Path, project: Path, told: list[str] | None = None) -> SavedRules:
    return SavedRules(home, project, (told if told is not None else []).append)


def test_rule_applies_to_its_project_until_removed(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    kept(tmp_path, one).keep(STATUS)
    kept(tmp_path, one).keep(EDIT)
    kept(tmp_path, one).keep(EDIT)
    assert kept(tmp_path, one)() == [STATUS, EDIT] and kept(tmp_path, two)() == []
    kept(tmp_path, one).forget(STATUS)
    assert kept(tmp_path, one)() == [EDIT]
    assert stat.S_IMODE((tmp_path / "permissions.json").stat().st_mode) == 0o600
    assert not one.exists()


def test_a_link_to_the_project_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    kept(tmp_path, tmp_path / "link").keep(EDIT)
    assert kept(tmp_path, tmp_path / "real")() == [EDIT]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"projects": 3}', b'{"projects": {"x": [{}]}}', b"\xff\xfe"])
def test_damaged_rules_allow_nothing_and_are_reported_once(tmp_path: Path, content: bytes) -> None:
    told: list[str] = []
    (tmp_path / "permissions.json").write_bytes(content)
    (tmp_path / "permissions.json").chmod(0o600)
    rules = kept(tmp_path, tmp_path, told)
    assert rules() == rules() == [] and len(told) == 1 and "permissions.json" in told[0]
    with pytest.raises(ConfigError):
        rules.keep(EDIT)
    assert (tmp_path / "permissions.json").read_bytes() == content  # somebody may mend it


def test_a_file_that_others_can_write_to_allows_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    kept(tmp_path, tmp_path).keep(EDIT)
    (tmp_path / "permissions.json").chmod(0o622)
    assert kept(tmp_path, tmp_path, told)() == [] and "chmod 600" in told[0]
