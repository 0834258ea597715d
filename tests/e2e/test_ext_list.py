"""``zot ext`` and ``zot ext list`` as a user types them."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.extension_places import extension, in_project, installed, on_a_terminal


@pytest.mark.parametrize("words", [(), ("help",), ("-h",), ("--help",)])
def test_help_is_on_stderr_and_exits_0(zot: Zot, words: tuple[str, ...]) -> None:
    """iface-061: `zot ext` and `zot ext help` list every verb and exit 0."""
    ran = zot("ext", *words)
    assert (ran.code, ran.out) == (0, "")
    for verb in ("list", "install", "remove", "enable", "logs", "trust", "doctor", "new", "check", "trace", "replay"):
        assert verb in ran.err


def test_an_unknown_verb_shows_the_help_and_fails(zot: Zot) -> None:
    """iface-061: an unknown verb shows the help and exits 1."""
    ran = zot("ext", "foo")
    assert ran.code == 1
    assert "Usage: zot ext" in ran.err
    assert ran.err.endswith('zot: unknown command "zot ext foo"\n')


def test_the_main_help_names_installing_and_the_flag(zot: Zot) -> None:
    """iface-312: `zot --help` names installing and the flag."""
    out = zot("--help").out
    assert "zot ext install" in out
    assert "--ext PATH" in out


def test_nothing_installed_is_a_hint_on_stderr(zot: Zot) -> None:
    """iface-062: with nothing installed a hint goes to stderr, and stdout stays empty."""
    ran = zot("ext", "list")
    assert (ran.code, ran.out) == (0, "")
    assert "zot ext install" in ran.err


def test_ext_list_has_all_columns_project_first_starts_nothing(zot: Zot) -> None:
    """ext-136, iface-304: the list has version and description columns, project entries first, and starts nothing."""
    directory = installed(zot, "b", version="1.2", description="does b", language="python")
    installed(zot, "a", enabled=False)
    in_project(zot, "z")
    installed(zot, "broken", name=None)
    ran = zot("ext", "list")
    header, *rows = [line.split() for line in ran.out.splitlines()]
    assert header == [
        "SCOPE",
        "NAME",
        "VERSION",
        "ENABLED",
        "LANGUAGE",
        "DESCRIPTION",
        "KIND",
        "TRUST",
        "PERMISSIONS",
        "DIR",
    ]
    assert [row[:2] for row in rows] == [["project", "z"], ["global", "a"], ["global", "b"]]
    assert rows[0][2:7] == ["-", "yes", "-", "-", "process"]
    assert rows[1][3] == "no"
    assert rows[2][2:] == ["1.2", "yes", "python", "does", "b", "process", "-", "unconfined", str(directory)]
    assert rows[0][7:9] == ["untrusted", "confined"]
    assert not (directory / "started").exists()


def test_ext_list_distinguishes_themes_and_processes(zot: Zot) -> None:
    theme = installed(zot, "theme", exec=None, args=None)
    (theme / "theme.json").write_text("{}")
    both = installed(zot, "zboth")
    (both / "theme.json").write_text("{}")
    assert [line.split()[6] for line in zot("ext", "list").out.splitlines()[1:]] == ["theme", "process+theme"]


def test_ext_list_truncates_description_between_wide_characters(zot: Zot) -> None:
    installed(zot, "x", description="日本語の説明がここにありますしかもとても長いですよ\x1b[2J")
    out = on_a_terminal(zot, "ext", "list")
    assert "日本語の説明がここにあります…  process" in out
    assert "\x1b[2J" not in out


def test_ext_list_shows_trust(zot: Zot) -> None:
    """A project's extension is trusted, changed or undecided; a user's extension needs no trust."""
    changed, _, theme = in_project(zot, "changed"), in_project(zot, "kept"), in_project(zot, "theme", exec=None)
    (theme / "theme.json").write_text("{}")
    assert zot("ext", "trust").code == 0
    (changed / "main.py").write_text("")
    in_project(zot, "new")
    installed(zot, "own")
    states = {row.split()[1]: row.split()[7] for row in zot("ext", "list").out.splitlines()[1:]}
    assert states == {"changed": "changed", "kept": "trusted", "new": "untrusted", "theme": "-", "own": "-"}


def test_ext_list_json_includes_broken_extensions(zot: Zot) -> None:
    extension(zot.project / "source", name="x", version="1", description="does x", guard=True)
    zot("ext", "install", "source")
    installed(zot, "broken", name=None)
    in_project(zot, "theirs", enabled=False)
    ran = zot("ext", "list", "--json")
    said = json.loads(ran.out)
    assert (ran.code, ran.err, said["format"]) == (0, "", 1)
    by_name = {entry["name"]: entry for entry in said["extensions"]}
    assert by_name["x"] == {
        "name": "x",
        "scope": "global",
        "directory": str(zot.home / "zot" / "extensions" / "source"),
        "version": "1",
        "enabled": True,
        "language": "",
        "description": "does x",
        "kind": "process",
        "guard": True,
        "trust": None,
        "confined": False,
        "permissions": ["unconfined: it runs with all your rights"],
        "uses": [],
        "data_directory": str(zot.home / "zot" / "data" / "global" / "x"),
        "source": {"kind": "path", "place": str(zot.project / "source"), "ref": "", "subdir": ""},
        "commit": "",
    }
    assert '"name" is missing' in by_name["broken"]["problem"]
    assert (by_name["theirs"]["trust"], by_name["theirs"]["enabled"]) == ("untrusted", False)


def test_nothing_installed_is_an_empty_list_for_programs(zot: Zot) -> None:
    ran = zot("ext", "list", "--json")
    assert (ran.code, json.loads(ran.out), ran.err) == (0, {"format": 1, "extensions": []}, "")
