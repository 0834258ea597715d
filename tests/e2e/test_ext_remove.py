"""``zot ext remove``, ``enable`` and ``disable`` change only the named installation."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import extension, in_project, installed, left


def test_remove_without_yes_removes_nothing(zot: Zot) -> None:
    """ext-104, iface-067: any answer but a plain y removes nothing and exits 0."""
    directory = installed(zot, "x")
    for answer in ("", "n\n", "yes\n", "\n"):
        ran = zot("ext", "remove", "x", stdin=answer)
        assert ran.code == 0
        assert "[y/N]" in ran.err
        assert "aborted" in ran.err
    assert directory.is_dir()


@pytest.mark.parametrize("answer", ["y\n", "Y\n"])
def test_a_yes_removes_the_directory_and_keeps_the_log(zot: Zot, answer: str) -> None:
    """iface-067: y removes the directory and leaves the log."""
    installed(zot, "x")
    log = zot.home / "zot" / "logs" / "ext-x.log"
    log.parent.mkdir()
    log.write_text("kept")
    assert zot("ext", "rm", "x", stdin=answer).code == 0
    assert left(zot) == []
    assert log.exists()


def test_the_flag_asks_nothing(zot: Zot) -> None:
    """iface-067: `--yes` removes without asking, by manifest or directory name."""
    installed(zot, "folder", name="manifest-name")
    assert zot("ext", "remove", "manifest-name", "--yes").code == 0
    installed(zot, "folder", name="manifest-name")
    assert zot("ext", "remove", "folder", "-y").code == 0
    assert left(zot) == []


def test_remove_of_linked_extension_removes_only_the_link(zot: Zot) -> None:
    target = extension(zot.project / "real")
    place = zot.home / "zot" / "extensions"
    place.mkdir(parents=True)
    (place / "real").symlink_to(target)
    assert zot("ext", "remove", "real", "-y").code == 0
    assert (target / "main.py").exists()


@pytest.mark.parametrize("verb", ["remove", "enable", "disable", "logs"])
@pytest.mark.parametrize("name", ["../x", "a/b", "..", "."])
def test_names_outside_the_directory_are_rejected(zot: Zot, verb: str, name: str) -> None:
    """iface-068: a name that leads out of the extensions' directory is refused."""
    directory = extension(zot.home / "zot" / "x")
    ran = zot("ext", verb, name)
    assert ran.code == 1
    assert "invalid extension name" in ran.err
    assert directory.is_dir()


def test_a_name_that_means_two_lists_both_and_changes_nothing(zot: Zot) -> None:
    """ext-135: a name that fits two installations lists both and changes neither."""
    first = installed(zot, "a", name="x")
    second = in_project(zot, "x", name="other")
    before = (first / "extension.json").read_bytes()
    for words in (("remove", "x", "--yes"), ("disable", "x")):
        ran = zot("ext", *words)
        assert ran.code == 1
        assert str(first) in ran.err
        assert str(second) in ran.err
    assert (first / "extension.json").read_bytes() == before
    assert second.is_dir()


def test_an_unknown_name_is_an_error(zot: Zot) -> None:
    for verb in ("remove", "enable", "disable"):
        assert "no extension named" in zot("ext", verb, "nothing").err


def test_disable_and_enable_keep_every_other_key(zot: Zot) -> None:
    """ext-103, iface-066: disabling and enabling preserve every other key of the manifest."""
    directory = installed(zot, "x", custom={"deep": [1, 1234567890123456789, 1.50, "ü"]}, description="d")
    path = directory / "extension.json"
    before = json.loads(path.read_text())
    ran = zot("ext", "disable", "x")
    assert (ran.code, ran.out) == (0, "")
    assert json.loads(path.read_text()) == {**before, "enabled": False}
    assert path.read_text().endswith("}\n")
    assert '\n  "custom": {\n    "deep"' in path.read_text()
    assert zot("ext", "enable", "x").code == 0
    assert json.loads(path.read_text()) == {**before, "enabled": True}


def test_switching_a_trusted_project_extension_keeps_its_trust(zot: Zot) -> None:
    in_project(zot, "x")
    zot("ext", "trust")
    zot("ext", "disable", "x")
    zot("ext", "enable", "x")
    assert "not trusted" not in zot("ext", "doctor").out
