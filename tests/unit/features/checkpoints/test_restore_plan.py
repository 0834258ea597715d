"""Restoring files from before a prompt, with concurrent changes by others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.unit.features.checkpoints.conftest import Project
from zot.core.session.fork import fork_at
from zot.core.session.turn_history import turns_of
from zot.errors import ToolError
from zot.features.checkpoints import restore_plan
from zot.features.checkpoints.change_log import FileChange, read_ledger
from zot.features.checkpoints.diff import counted, diff_lines, diff_summary, differences
from zot.features.checkpoints.file_state import FileState, Objects
from zot.features.checkpoints.restore_plan import apply_plan, points


async def test_files_return_to_state_before_prompt(project: Project) -> None:
    file, new = project.cwd / "prices.py", project.cwd / "new" / "deep" / "x.txt"
    file.write_text("one\ntwo\n")
    first = project.prompt()
    await project.edit("prices.py", "one", "1")
    second = project.prompt()
    await project.edit("prices.py", "two", "2")
    await project.write("new/deep/x.txt", "hello\n")
    assert project.verdicts(second) == {"prices.py": "restore", "x.txt": "remove"}
    report = project.rewind(second)
    assert (len(report.done), report.failed) == (2, ())
    assert file.read_text() == "1\ntwo\n"
    assert not new.exists()
    assert not (project.cwd / "new").exists()  # the directories came with the file
    project.rewind(first)
    assert file.read_text() == "one\ntwo\n"


async def test_restore_works_in_another_process(project: Project) -> None:
    prompt = project.prompt()
    (project.cwd / "a").write_text("before")
    await project.write("a", "after")
    project.again()
    project.rewind(prompt)
    assert (project.cwd / "a").read_text() == "before"


async def test_files_changed_by_others_are_named_and_kept_by_default(project: Project) -> None:
    prompt = project.prompt()
    for name in ("mine", "theirs", "gone"):
        (project.cwd / name).write_text("before")
        await project.write(name, "after")
    (project.cwd / "theirs").write_text("the user's own words")
    (project.cwd / "gone").unlink()
    assert project.verdicts(prompt) == {"mine": "restore", "theirs": "changed", "gone": "changed"}
    project.rewind(prompt)
    assert (project.cwd / "theirs").read_text() == "the user's own words"
    assert not (project.cwd / "gone").exists()
    project.rewind(prompt, overwrite=True)
    assert {(project.cwd / name).read_text() for name in ("mine", "theirs", "gone")} == {"before"}
    kept = {event.before.digest for event in project.events() if isinstance(event, FileChange)}
    assert b"the user's own words" in {project.place.objects.read(digest) for digest in kept if digest}


async def test_a_rewinding_can_be_undone(project: Project) -> None:
    prompt = project.prompt()
    (project.cwd / "a").write_text("before")
    await project.write("a", "after")
    await project.write("b", "new")
    project.rewind(prompt)
    session = project.session.path
    undo = [point for point in points(turns_of(session), project.events(), project.place.objects) if not point.number]
    assert [len(point.files) for point in undo] == [2]
    project.rewind(undo[0].key)
    assert ((project.cwd / "a").read_text(), (project.cwd / "b").read_text()) == ("after", "new")


async def test_killed_restore_can_be_repeated(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = project.prompt()
    for name in "abc":
        (project.cwd / name).write_text("before")
        await project.write(name, "after")
    calls: list[str] = []
    real = restore_plan.restore

    def dies(path: str, wanted: FileState, objects: Objects) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(path, wanted, objects)

    monkeypatch.setattr(restore_plan, "restore", dies)
    with pytest.raises(KeyboardInterrupt):
        project.rewind(prompt)
    monkeypatch.undo()
    project.again()
    assert [(project.cwd / name).read_text() for name in "abc"] == ["before", "after", "after"]
    assert project.verdicts(prompt) == {"a": "same", "b": "restore", "c": "restore"}
    project.rewind(prompt)
    assert {(project.cwd / name).read_text() for name in "abc"} == {"before"}


async def test_links_lead_to_the_file_that_was_changed(project: Project) -> None:
    real = project.cwd / "real.txt"
    real.write_text("before")
    (project.cwd / "link").symlink_to("real.txt")
    prompt = project.prompt()
    await project.write("link", "after")
    project.rewind(prompt)
    assert (project.cwd / "link").is_symlink()
    assert real.read_text() == "before"


async def test_modes_and_bytes_are_restored(project: Project) -> None:
    file = project.cwd / "run.sh"
    file.write_bytes(b"\x00\xff\xfe binary \r\n")
    file.chmod(0o751)
    prompt = project.prompt()
    await project.write("run.sh", "text")
    os.unlink(file)
    assert project.verdicts(prompt) == {"run.sh": "changed"}
    project.rewind(prompt, overwrite=True)
    assert file.read_bytes() == b"\x00\xff\xfe binary \r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o751


async def test_names_that_are_not_text(project: Project) -> None:
    path = project.cwd / os.fsdecode(b"\xff\xfe name")
    path.write_text("before")
    prompt = project.prompt()
    with project.workspace.record_write(path, b"after", "write"):
        path.write_text("after")
    project.rewind(prompt)
    assert path.read_text() == "before"


async def test_unsaved_content_is_reported(project: Project) -> None:
    (project.cwd / "large").touch()
    os.truncate(project.cwd / "large", (32 << 20) + 1)
    prompt = project.prompt()
    await project.write("large", "small")
    (item,) = project.plan(prompt).items
    assert (item.verdict, item.why) == ("lost", "it is larger than 32 MiB")
    assert project.rewind(prompt, overwrite=True).done == ()
    assert (project.cwd / "large").read_text() == "small"


async def test_a_directory_that_became_a_link_is_not_written_through(project: Project, tmp_path: Path) -> None:
    (project.cwd / "d").mkdir()
    (project.cwd / "d" / "f").write_text("before")
    prompt = project.prompt()
    await project.write("d/f", "after")
    outside = tmp_path / "outside"
    (project.cwd / "d").rename(outside)
    (project.cwd / "d").symlink_to(outside)
    report = project.rewind(prompt)
    assert report.failed == ((str(project.cwd / "d" / "f"), "a parent directory is now a link"),)
    assert (outside / "f").read_text() == "after"


async def test_a_change_that_failed_did_not_happen(project: Project) -> None:
    (project.cwd / "d").mkdir()
    prompt = project.prompt()
    with pytest.raises(ToolError):
        await project.write("d", "x")
    assert project.plan(prompt).items == ()
    assert project.happened == []


async def test_failing_store_does_not_stop_tools_and_is_reported_once(project: Project) -> None:
    project.home.mkdir(exist_ok=True)
    (project.home / "changes").write_text("in the way")
    project.prompt()
    await project.write("a", "one")
    await project.write("a", "two")
    assert (project.cwd / "a").read_text() == "two"
    assert len(project.told) == 1
    assert "cannot save a checkpoint" in project.told[0]


async def test_everything_kept_is_private(project: Project) -> None:
    project.prompt()
    (project.cwd / "a").write_text("secret")
    await project.write("a", "b")
    for directory, _, names in os.walk(project.home / "changes"):
        assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
        assert all(stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode) == 0o600 for name in names)


async def test_fork_includes_changes_of_its_parent(project: Project) -> None:
    (project.cwd / "a").write_text("0")
    first = project.prompt()
    await project.write("a", "1")
    project.prompt()
    await project.write("a", "2")
    project.session.flush()
    branch = fork_at(project.store, project.session.path, 1)
    parent = project.session.id
    project.session.close()
    project.session = project.store.open(branch)
    assert project.session.meta.parent == parent
    project.again()
    assert project.verdicts(first) == {"a": "restore"}
    third = project.prompt()
    await project.write("a", "3")
    project.rewind(third)
    assert (project.cwd / "a").read_text() == "2"  # what the parent did after the cut is part of the way back
    project.rewind(first)
    assert (project.cwd / "a").read_text() == "0"


async def test_figures_and_differences(project: Project) -> None:
    (project.cwd / "a").write_text("".join(f"{n}\n" for n in range(30)))
    project.prompt()
    await project.edit("a", "\n3\n", "\nthree\nand more\n")
    await project.edit("a", "\n20\n", "\n")
    await project.write("b", "x\ny\n")
    found = differences(project.events())
    counts = [counted(one, project.place.objects) for one in found]
    assert [(Path(one.difference.path).name, one.added, one.removed) for one in counts] == [("a", 2, 2), ("b", 2, 0)]
    assert diff_summary(counts) == "2 files changed +4 \u22122"
    runs = diff_lines(found[0], project.place.objects)
    assert not isinstance(runs, str)
    assert [(run.old_start, run.new_start) for run in runs] == [(1, 1), (18, 19)]
    assert runs[0].rows[3:7] == ("-3", "+three", "+and more", " 4")


async def test_a_ledger_with_nonsense_in_it_is_read_around(project: Project) -> None:
    prompt = project.prompt()
    (project.cwd / "a").write_text("before")
    await project.write("a", "after")
    ledger = project.place.ledger(project.session.id)
    text = ledger.read_text()
    evil = text.splitlines()[1].replace(str(project.cwd / "a"), "../../etc/passwd").replace('"id":"', '"id":"x')
    ledger.write_text(text + "nonsense\n" + evil + '\n{"type":"change"}\n' + '{"torn')
    project.again()
    await project.write("b", "new")
    assert project.verdicts(prompt) == {"a": "restore", "b": "remove"}
    head, _ = read_ledger(ledger)
    assert head is not None
    assert head.session == project.session.id


async def test_a_damaged_content_is_not_put_back(project: Project) -> None:
    prompt = project.prompt()
    (project.cwd / "a").write_text("before")
    await project.write("a", "after")
    (change,) = [event for event in project.events() if isinstance(event, FileChange)]
    digest = change.before.digest
    (project.place.objects.root / digest[:2] / digest[2:]).write_text("BEFORE")
    report = apply_plan(project.recorder, project.plan(prompt).doable)
    assert report.failed == ((str(project.cwd / "a"), "its saved content is missing"),)
    assert (project.cwd / "a").read_text() == "after"


async def test_directory_swapped_for_a_link_during_a_rewind_is_safe(project: Project, tmp_path: Path) -> None:
    """The directory changes after all checks: when the saved content is read."""
    prompt = project.prompt()
    (project.cwd / "d").mkdir()
    await project.write("d/f", "before")
    prompt = project.prompt()
    await project.write("d/f", "after")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("not yours")

    class Swapping(Objects):
        def read(self, digest: str) -> bytes | None:
            (project.cwd / "d").rename(project.cwd / "moved")
            (project.cwd / "d").symlink_to(outside)
            return super().read(digest)

    objects = project.recorder.place.objects
    project.recorder.place.objects.__class__ = Swapping
    try:
        report = project.rewind(prompt)
    finally:
        objects.__class__ = Objects
    assert report.failed == ((str(project.cwd / "d" / "f"), "a parent directory is now a link"),)
    assert (outside / "f").read_text() == "not yours"
    assert os.listdir(outside) == ["f"]
