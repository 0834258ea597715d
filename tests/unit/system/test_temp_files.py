"""Temporary files of a killed process: none, or removed by the next run."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zot.system import temp_files
from zot.system.files import replace_file
from zot.system.temp_files import (
    PendingFile,
    prune_user_temp_dir,
    remove_older,
    remove_stale_files,
    scratch_directory,
    user_temp_dir,
)


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temp_files, "_swept", set[str]())
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()


def without_nameless_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temp_files, "create_unnamed", lambda directory, mode=0: -1)


def killed(program: str, *, named: bool = False) -> None:
    """Run it in a process that ends itself in the middle, as kill -9 would."""
    if named:
        program = "from zot.system import temp_files; temp_files.create_unnamed = lambda *_: -1\n" + program
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr


HALF = """
import os, signal
from zot.system.temp_files import PendingFile
new = PendingFile({path!r})
os.write(new.fd, b"half of it")
os.kill(os.getpid(), signal.SIGKILL)
"""


def old(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_process_killed_while_writing_leaves_no_temp_file(tmp_path: Path) -> None:
    killed(HALF.format(path=str(tmp_path / "file")))
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_killed_export_leaves_no_partial_or_empty_file(tmp_path: Path) -> None:
    killed(
        f"""
import os, signal
from pathlib import Path
from zot.core.session.fork import write_new
def lines():
    yield b"one\\n" * 100_000
    os.kill(os.getpid(), signal.SIGKILL)
write_new(Path({str(tmp_path / "talk.zotsession")!r}), lines())
"""
    )
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_next_write_removes_abandoned_temp_files(tmp_path: Path) -> None:
    killed(HALF.format(path=str(tmp_path / "file")), named=True)
    (left,) = tmp_path.glob(".file.*.zot-tmp")
    replace_file(tmp_path / "other", b"x")
    assert left.exists()  # too young: its owner may not have locked it yet
    old(left, 120)
    temp_files._swept.clear()  # pyright: ignore[reportPrivateUsage]
    replace_file(tmp_path / "other", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "tmp"]


def test_temp_files_of_live_processes_and_lookalikes_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_nameless_files(monkeypatch)
    new = PendingFile(tmp_path / "file")
    (mine,) = tmp_path.glob(".file.*.zot-tmp")
    others = [tmp_path / "notes.zot-tmp", tmp_path / ".env.tmp"]
    for path in others:
        path.write_text("precious")
    link = tmp_path / ".link.0123.zot-tmp"
    link.symlink_to(others[0])
    for path in (mine, *others):
        old(path, 120)
    os.utime(link, (0, 0), follow_symlinks=False)
    remove_stale_files(tmp_path)
    assert mine.exists() and link.is_symlink() and all(path.exists() for path in others)
    os.write(new.fd, b"done")
    new.commit(replace=False)
    new.close()
    assert (tmp_path / "file").read_text() == "done" and not mine.exists()


@pytest.mark.parametrize("nameless", [True, False])
def test_existing_name_is_replaced_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    if not nameless:
        without_nameless_files(monkeypatch)
    (tmp_path / "file").write_text("before")
    new = PendingFile(tmp_path / "file", 0o640)
    os.write(new.fd, b"after")
    with pytest.raises(FileExistsError):
        new.commit(replace=False)
    assert (tmp_path / "file").read_text() == "before"
    new.commit(replace=True)
    new.close()
    assert (tmp_path / "file").read_text() == "after"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "tmp"]


def test_a_nameless_file_that_can_get_no_name_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("before")
    monkeypatch.setattr(PendingFile, "_link", lambda self, name: False)
    replace_file(tmp_path / "file", b"after" * 1000)
    assert (tmp_path / "file").read_bytes() == b"after" * 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "tmp"]


def test_retained_files_are_pruned_by_age_or_size(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = user_temp_dir()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for name, age in (("new", 0), ("week", 6 * 24 * 3600), ("ancient", 8 * 24 * 3600)):
        (directory / name).write_text("x" * 100)
        old(directory / name, age)
    prune_user_temp_dir()
    assert sorted(path.name for path in directory.iterdir()) == ["new", "week"]
    monkeypatch.setattr(temp_files, "KEPT_BYTES", 150)
    prune_user_temp_dir()
    assert [path.name for path in directory.iterdir()] == ["new"]


def test_temp_directory_is_removed_with_block_or_later_run() -> None:
    killed(
        "import os, signal\nfrom zot.system.temp_files import scratch_directory\n"
        "with scratch_directory('check') as path: (path / 'log').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    (left,) = user_temp_dir().iterdir()
    old(left, 120)
    with scratch_directory("check") as path:
        old(path, 120)
        prune_user_temp_dir()
        assert path.exists() and not left.exists()
    assert list(user_temp_dir().iterdir()) == []


def test_old_drafts_are_removed_and_others_stay(tmp_path: Path) -> None:
    for name, age in (("new", 0), ("ancient", 8 * 24 * 3600)):
        (tmp_path / name).write_text("a draft")
        old(tmp_path / name, age)
    old(tmp_path / "tmp", 8 * 24 * 3600)
    remove_older(tmp_path, temp_files.KEPT_S)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "tmp"]
