from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plain_user import plain_user
from tests.unit.features.extensions.loader.places import Places, extension
from zot.features.extensions.loader.guard_registry import remember
from zot.features.trust import project_key


def test_load_order_is_explicit_project_global_by_directory(places: Places) -> None:
    second, first = places.explicit("z"), places.explicit("a")
    places.own("m")
    places.own("b")
    places.project("n")
    places.project("c")
    assert places.names(second, first) == [
        ("explicit", "z"),
        ("explicit", "a"),
        ("project", "c"),
        ("project", "n"),
        ("global", "b"),
        ("global", "m"),
    ]


def test_a_broken_extension_concerns_only_itself(places: Places) -> None:
    """ext-012: a manifest without a name is reported, and the other extensions load."""
    places.own("a", name="")
    places.own("b")
    found = places.discover()
    assert [entry.manifest.name for entry in found.entries] == ["b"]
    assert [(problem.directory.name, problem.guard) for problem in found.problems] == [("a", False)]


def test_nothing_installed_is_not_an_error(places: Places) -> None:
    found = places.discover()
    assert (found.entries, found.problems, found.notes, found.quiet) == ([], [], [], [])


def test_disabled_is_silent_if_discovered_reported_if_named(places: Places) -> None:
    """ext-014: a disabled extension is skipped silently; one named by `--ext` prints one line."""
    named = places.explicit("x", enabled=False)
    places.own("y", enabled=False)
    found = places.discover(named)
    assert found.entries == []
    assert len(found.notes) == 1
    assert "skipped extension x: disabled" in found.notes[0]
    assert len(found.quiet) == 1
    assert "y is disabled" in found.quiet[0]


def test_trusted_project_copy_shadows_global_by_directory(places: Places) -> None:
    """ext-022: a trusted project extension hides a global one whose directory has the same name."""
    places.own("x", name="theirs")
    places.project("x", name="ours")
    assert places.names() == [("project", "ours")]
    assert "is hidden by" in places.discover().quiet[0]


def test_a_global_guard_is_never_hidden_by_directory_name(places: Places) -> None:
    """ext-022: a global guard is never hidden, not even by a trusted project extension."""
    places.own("x", name="theirs", guard=True)
    places.project("x", name="ours")
    assert places.names() == [("project", "ours"), ("global", "theirs")]


def test_a_global_guard_wins_over_a_project_entry_of_its_name(places: Places) -> None:
    """ext-022: a global guard wins over a project extension of the same manifest name."""
    places.own("x", name="guard", guard=True)
    places.project("y", name="guard")
    assert places.names() == [("global", "guard")]
    assert any("your own extension has the same name" in note for note in places.discover().notes)


def test_broken_global_guard_is_not_shadowed_and_fails_closed(places: Places) -> None:
    directory = places.own("x")
    (directory / "extension.json").write_text('{"name":"x","guard":true,')
    places.project("x")
    found = places.discover()
    assert [(problem.directory, problem.guard) for problem in found.problems] == [(directory, True)]


def test_known_guard_without_manifest_fails_closed(places: Places) -> None:
    directory = places.own("x", guard=True)
    assert (places.discover().new_guards, places.discover().former_guards) == (["x"], [])
    remember(places.home, learned=["x"])
    assert places.discover().new_guards == []
    (directory / "extension.json").unlink()
    places.project("x")
    found = places.discover()
    assert [(problem.directory, problem.guard) for problem in found.problems] == [(directory, True)]
    assert found.former_guards == []


def test_known_guard_in_unlistable_directory_is_found(places: Places) -> None:
    directory = places.own("x", guard=True)
    remember(places.home, learned=["x", "y"])
    (places.home / "guards.json").chmod(0o644)
    directory.chmod(0o755)
    directory.parent.chmod(0o111)
    with plain_user(places.home):
        found = places.discover()
    directory.parent.chmod(0o700)
    assert [entry.manifest.directory for entry in found.entries] == [directory]
    assert [(problem.directory.name, problem.guard) for problem in found.problems] == [
        ("extensions", True),
        ("y", True),
    ]


def test_unlistable_directory_may_contain_unknown_guard(places: Places) -> None:
    """A guard installed since the last run is not in the registry."""
    directory = places.own("x", guard=True)
    directory.parent.chmod(0)
    with plain_user(places.home):
        [problem] = places.discover().problems
    directory.parent.chmod(0o700)
    assert (
        problem.guard
        and "cannot list" in problem.message
        and "Permission denied" in problem.message
        and "--no-ext" in problem.message
    )


def test_unlistable_project_directory_is_reported_denies_nothing(places: Places) -> None:
    """A clone must not be able to stop the work by the mode of a directory; guards that were trusted are missed."""
    directory = places.project("n", trusted=False).parent
    directory.chmod(0)
    with plain_user(places.home):
        [problem] = places.discover().problems
    directory.chmod(0o700)
    assert not problem.guard and "cannot list" in problem.message


def test_unreadable_manifest_counts_as_possible_guard(places: Places) -> None:
    directory = places.own("x", guard=True)
    (directory / "extension.json").chmod(0)
    with plain_user(directory):
        [problem] = places.discover().problems
    assert problem.guard and "cannot read" in problem.reason


def test_unreadable_manifest_of_known_guard_fails_closed(places: Places) -> None:
    directory = places.own("x", guard=True)
    remember(places.home, learned=["x"])
    (places.home / "guards.json").chmod(0o644)
    (directory / "extension.json").chmod(0)
    with plain_user(directory):
        [problem] = places.discover().problems
    assert problem.guard and "cannot read" in problem.reason


def test_damaged_project_guard_with_trust_project_fails_closed(places: Places) -> None:
    directory = places.project("watch", guard=True)
    (directory / "extension.json").write_text("")
    [problem] = places.discover(trust_project=True).problems
    assert problem.guard


def test_untrusted_project_entry_neither_runs_nor_shadows(places: Places) -> None:
    """ext-022: an untrusted project extension does not run, hides nothing, and is named in one note."""
    places.own("x")
    places.project("x", trusted=False)
    assert places.names() == [("global", "x")]
    notes = places.discover().notes
    assert len(notes) == 1
    assert "is not trusted" in notes[0]
    assert "zot ext trust" in notes[0]


def test_trust_project_runs_it_for_once(places: Places) -> None:
    places.project("x", trusted=False)
    assert places.names(trust_project=True) == [("project", "x")]
    assert places.names() == []


def test_disabled_trusted_copy_shadows_global_except_guard(places: Places) -> None:
    """ext-023: a disabled trusted copy still hides the global extension, but not a global guard."""
    places.own("x")
    places.project("x", enabled=False)
    places.own("y", guard=True)
    places.project("y", enabled=False)
    assert places.names() == [("global", "y")]


def test_a_disabled_global_guard_protects_nothing(places: Places) -> None:
    places.own("x", guard=True, enabled=False)
    places.project("x")
    assert places.names() == [("project", "x")]


def test_explicit_path_beats_installed_of_same_name(places: Places) -> None:
    """ext-024: `--ext` wins over installed extensions of the same manifest name."""
    mine = places.explicit("dev", name="x")
    places.project("x")
    places.own("x")
    assert places.names(mine) == [("explicit", "x")]
    assert [note for note in places.discover(mine).notes if "skipped " in note]


def test_without_a_scan_only_explicit_paths_load(places: Places) -> None:
    """ext-025: `--no-ext` skips discovery and still loads what `--ext` names."""
    mine = places.explicit("mine")
    places.project("p")
    places.own("g")
    assert places.names(mine, scan=False) == [("explicit", "mine")]
    assert places.names(scan=False) == []


def test_relative_explicit_path_uses_process_directory(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext-026: `--ext .` means the directory the process was started in."""
    mine = places.explicit("mine")
    monkeypatch.chdir(mine)
    assert [entry.manifest.directory for entry in places.discover(Path(".")).entries] == [mine]


@pytest.mark.parametrize("present", [True, False])
def test_an_explicit_path_without_a_manifest_is_an_error(places: Places, present: bool) -> None:
    path = places.cwd.parent / "nothing"
    if present:
        path.mkdir()
    [problem] = places.discover(path).problems
    assert problem.reason == ("no extension.json" if present else "no such directory")


def test_directory_without_manifest_is_ignored(places: Places) -> None:
    """ext-105: a directory without extension.json is ignored and hides nothing."""
    (places.cwd / ".zot" / "extensions" / "x").mkdir(parents=True)
    places.own("x")
    found = places.discover()
    assert [entry.scope for entry in found.entries] == ["global"]
    assert (found.problems, found.notes) == ([], [])


def test_directory_links_load_dangling_links_and_files_do_not(places: Places) -> None:
    """ext-106: a link to an extension's directory loads; dangling links and plain files are skipped."""
    target = places.explicit("real")
    parent = places.home / "extensions"
    parent.mkdir()
    (parent / "linked").symlink_to(target)
    (parent / "dangling").symlink_to(places.home / "nowhere")
    (parent / "file").write_text("x")
    found = places.discover()
    assert [entry.manifest.directory for entry in found.entries] == [parent / "linked"]
    assert found.problems == []


def test_install_temporary_directory_is_not_an_extension(places: Places) -> None:
    extension(places.home / "extensions" / ".installing-1234", name="half")
    assert places.names() == []


def test_bundles_without_a_process_need_no_trust(places: Places) -> None:
    """ext-098, ext-109: extensions with only a theme or skills start no process and so need no trust."""
    theme = places.project("theme", trusted=False, exec=None)
    (theme / "theme.json").write_text("{}")
    places.project("skills", trusted=False, exec=None, skills=["s"])
    theme_manifest = (theme / "extension.json").read_text()
    assert "exec" not in theme_manifest
    assert places.names() == [("project", "skills"), ("project", "theme")]


def test_untrusted_bundle_shadows_only_passive_extensions(places: Places) -> None:
    """A cloned repository must not switch off a user's extension with an empty bundle."""
    places.own("redactor")
    places.project("redactor", trusted=False, exec=None, skills=["s"], name="harmless")
    places.own("bundle", exec=None, skills=["s"], name="mine")
    places.project("bundle", trusted=False, exec=None, skills=["s"], name="ours")
    assert places.names() == [("project", "ours"), ("project", "harmless"), ("global", "redactor")]


def test_untrusted_bundle_cannot_take_name_of_a_process(places: Places) -> None:
    places.own("mine", name="redactor")
    places.project("p", trusted=False, exec=None, skills=["s"], name="redactor")
    assert places.names() == [("global", "redactor")]


def test_state_lives_in_the_home_and_never_among_the_files(places: Places) -> None:
    """ext-031, changed: `data_dir` is apart from the files of every extension, and outside the project."""
    mine, own = places.explicit("mine"), places.own("own")
    project = places.project("ours")
    by_name = {entry.manifest.name: entry for entry in places.discover(mine).entries}
    assert by_name["own"].data_dir == places.home / "data" / "global" / "own"
    for name in ("mine", "ours"):
        place = by_name[name].data_dir
        assert (place.name, place.parent.parent) == (name, places.home / "data")
        assert len(place.parent.name) == 16
    assert by_name["mine"].data_dir.parent != by_name["ours"].data_dir.parent
    assert places.discover(own).entries[0].data_dir == by_name["own"].data_dir
    assert project.is_dir()


def test_discovery_writes_nothing(places: Places) -> None:
    places.project("x", trusted=False)
    before = sorted(os.listdir(places.home))
    places.discover()
    assert sorted(os.listdir(places.home)) == before


def test_changed_project_guard_fails_closed(places: Places) -> None:
    """The model could edit the guard's own files: that must not switch it off."""
    directory = places.project("watch", guard=True)
    (directory / "extension.json").write_text('{"name":"watch","exec":"true"}')
    [problem] = places.discover().problems
    assert problem.guard
    assert "extension.json changed" in problem.reason
    assert "zot ext trust" in problem.fix


def take_exec(directory: Path) -> None:
    (directory / "extension.json").write_text('{"name":"watch","skills":["s"]}')


def switch_off(directory: Path) -> None:
    (directory / "extension.json").write_text('{"name":"watch","exec":"true","guard":true,"enabled":false}')


def link_elsewhere(directory: Path) -> None:
    shutil.rmtree(directory)
    directory.symlink_to(extension(directory.parents[2] / "other", name="watch"))


def link_the_whole_directory(directory: Path) -> None:
    extension(directory.parents[2] / "other" / "extensions" / "harmless")
    shutil.rmtree(directory.parents[1])
    directory.parents[1].symlink_to("other")


DISGUISES: dict[str, Callable[[Path], Any]] = {
    "turned into a bundle": take_exec,
    "disabled": switch_off,
    "deleted": shutil.rmtree,
    "without its manifest": lambda directory: (directory / "extension.json").unlink(),
    "renamed": lambda directory: directory.rename(directory.with_name("other")),
    "replaced by a link": link_elsewhere,
    "gone with all extensions": lambda directory: shutil.rmtree(directory.parent),
    "gone with .zot": lambda directory: shutil.rmtree(directory.parents[1]),
    "gone with a renamed .zot": lambda directory: directory.parents[1].rename(directory.parents[2] / "zot.old"),
    "behind a linked .zot": link_the_whole_directory,
    "with a manifest that cannot be read": lambda directory: (directory / "extension.json").write_text("{"),
    "no guard any more": lambda directory: (directory / "extension.json").write_text('{"name":"watch","exec":"true"}'),
}


@pytest.mark.parametrize("trust_project", [False, True])
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_trusted_guard_that_does_not_run_as_trusted_is_missing(
    places: Places, disguise: str, trust_project: bool
) -> None:
    """Any change of its files denies tool calls until the user decides."""
    directory = places.project("watch", guard=True)
    DISGUISES[disguise](directory)
    [problem] = [problem for problem in places.discover(trust_project=trust_project).problems if problem.guard]
    assert problem.directory == directory and "zot ext untrust" in problem.fix
    places.trust.untrust(directory)
    assert not [problem for problem in places.discover().problems if problem.guard]


def test_changed_guard_runs_with_trust_project(places: Places) -> None:
    directory = places.project("watch", guard=True)
    (directory / "main.py").write_text("edited")
    assert places.names(trust_project=True) == [("project", "watch")]


def test_trusted_guard_disabled_by_verb_is_not_missed(places: Places) -> None:
    directory = places.project("watch", guard=True, enabled=False)
    assert places.discover().problems == []
    shutil.rmtree(directory)
    assert places.discover().problems == []


def test_a_guard_by_hello_alone_is_presumed_to_be_one(places: Places) -> None:
    """Its hello is in no manifest; the registry remembers it."""
    own, named, project = places.own("a"), places.explicit("b"), places.project("c")
    remember(places.home, learned=["a"], paths=[project_key(named)])
    places.trust.record_guard(project, True)
    assert [entry.was_guard for entry in places.discover(named).entries] == [True, True, True]
    for directory in (own, named, project):
        shutil.rmtree(directory)
    assert [problem.guard for problem in places.discover(named).problems] == [True, True, True]


@pytest.mark.parametrize("edit", [{"guard": False}, {"enabled": False, "guard": True}])
def test_manifest_that_drops_guard_is_accepted_with_a_notice(places: Places, edit: dict[str, bool]) -> None:
    places.own("x", **edit)
    remember(places.home, learned=["x"])
    found = places.discover()
    assert found.problems == [] and found.former_guards == ["x"]
    [note] = [note for note in found.notes if "is no longer a guard" in note]
    assert "is false in" in note


@pytest.mark.parametrize("fields", [{"guard": True}, {}])
def test_user_guard_without_a_process_is_missing(places: Places, fields: dict[str, bool]) -> None:
    places.own("x", exec=None, skills=["s"], **fields)
    remember(places.home, learned=["x"])
    [problem] = places.discover().problems
    assert problem.guard and "without a process" in problem.reason


def test_untrusted_bundle_declaring_guard_blocks_nothing(places: Places) -> None:
    places.project("x", trusted=False, exec=None, skills=["s"], guard=True)
    assert places.discover().problems == []


@pytest.mark.parametrize("known", [True, False])
def test_nothing_takes_the_name_of_a_guard(places: Places, known: bool) -> None:
    """A theme, a second extension and one named with --ext are skipped with a line; the guard stays."""
    places.own("zz", name="watch", **({} if known else {"guard": True}))
    if known:
        remember(places.home, learned=["zz"])
    places.own("aa", name="watch")
    places.project("bundle", trusted=False, exec=None, skills=["s"], name="watch")
    places.project("x", name="watch")
    named = places.explicit("dev", name="watch")
    found = places.discover(named)
    assert [entry.manifest.directory.name for entry in found.entries] == ["zz"]
    assert len([note for note in found.notes if "skipped " in note]) == 4 and found.problems == []


def test_trusted_guard_name_cannot_be_taken(places: Places) -> None:
    places.project("x", name="watch", guard=True)
    places.own("y", name="watch")
    named = places.explicit("dev", name="watch", exec=None, skills=["s"])
    assert places.names(named) == [("project", "watch")]


def test_two_guards_of_one_name_refuse(places: Places) -> None:
    """Only one of them could run; the other guard would be missing."""
    places.own("x", name="watch", guard=True)
    named = places.explicit("dev", name="watch", guard=True)
    [problem] = places.discover(named).problems
    assert problem.guard and "also a guard named watch" in problem.reason
    assert places.discover().problems == []


def test_broken_untrusted_project_guard_cannot_block(places: Places) -> None:
    directory = places.project("x", trusted=False)
    (directory / "extension.json").write_text('{"guard": true,')
    [problem] = places.discover().problems
    assert not problem.guard


def test_same_directory_reached_twice_loads_once(places: Places) -> None:
    mine = places.explicit("mine")
    (places.home / "extensions").mkdir()
    (places.home / "extensions" / "mine").symlink_to(mine)
    found = places.discover(mine, mine)
    assert [entry.scope for entry in found.entries] == ["explicit"]
    assert found.notes == []
    assert len(found.quiet) == 2
