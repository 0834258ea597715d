"""``zot ext trust`` and ``untrust``, for a whole project or one directory of it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import in_project, untrusted


def test_trust_and_untrust_default_to_current_project(zot: Zot) -> None:
    """iface-306: without an argument both act on the current project and name each extension."""
    directory = in_project(zot, "x")
    ran = zot("ext", "trust")
    assert ran.code == 0
    assert f"trusted x: runs `{sys.executable} main.py`" in ran.err
    assert str(directory) in ran.err
    ran = zot("ext", "untrust")
    assert ran.code == 0
    assert "revoked trust in x" in ran.err
    assert not (directory / "started").exists()


def test_trust_and_untrust_act_on_a_named_directory(zot: Zot, tmp_path: Path) -> None:
    """iface-306: with an argument both act on that directory alone."""
    one, two = in_project(zot, "one"), in_project(zot, "two")
    assert zot("ext", "trust", str(one)).code == 0
    assert [line.split()[0] for line in untrusted(zot)] == ["two"]
    project, zot.project = zot.project, tmp_path
    assert zot("ext", "trust", str(project)).code == 0
    zot.project = project
    assert untrusted(zot) == []
    assert zot("ext", "untrust", str(two)).code == 0
    assert [line.split()[0] for line in untrusted(zot)] == ["two"]


def test_nothing_to_trust_is_an_error(zot: Zot) -> None:
    """iface-306: where there is nothing to trust, both exit 1 and name the project."""
    for verb in ("trust", "untrust"):
        ran = zot("ext", verb)
        assert ran.code == 1
        assert str(zot.project) in ran.err


def test_trust_of_missing_directory_can_be_removed(zot: Zot) -> None:
    directory = in_project(zot, "x")
    zot("ext", "trust")
    shutil.rmtree(directory)
    assert "revoked trust in x" in zot("ext", "untrust").err
