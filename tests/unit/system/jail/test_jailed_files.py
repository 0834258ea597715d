"""Files beneath the roots of a jail: whatever links are on the way, none leads out."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from zot.system.jail import jailed_files, syscalls
from zot.system.jail.jailed_files import JailedFiles, OutsideRoots, Protected
from zot.system.jail.policy import policy_for


@pytest.fixture(params=["openat2", "step by step"])
def files(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[JailedFiles]:
    """A project with links of every kind; once as new kernels open files, once as old ones do."""
    project = tmp_path / "b"
    (project / "a" / "deep").mkdir(parents=True)
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / "a" / "file").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "bc").mkdir()
    (tmp_path / "bc" / "secret").write_text("outside")
    for name, target in {
        "to-file": "../secret",
        "to-directory": "..",
        "absolute": str(tmp_path),
        "nowhere": "../not-there-yet",
        "chain": "to-directory",
        "git": ".git",
        "a/up": "../..",
    }.items():
        (project / name).symlink_to(target)
    if request.param == "step by step":

        def refuse(*_: object) -> int:
            raise OSError(38, "Function not implemented")

        monkeypatch.setattr(syscalls, "open_beneath", refuse)
    made = JailedFiles(policy_for(project, home=str(tmp_path / "home")))
    yield made
    made.close()


def read(files: JailedFiles, path: Path) -> str:
    fd = files.open(path)
    try:
        return os.read(fd, 100).decode()
    finally:
        os.close(fd)


def write(files: JailedFiles, path: Path) -> None:
    with files.writable_path(path, make=True) as place:
        place.write_text("written")


def test_paths_inside_are_opened_and_outside_are_not(files: JailedFiles, tmp_path: Path) -> None:
    """engine-225: the jail denies outside paths and `..`, and allows inside paths."""
    project = tmp_path / "b"
    assert read(files, project / "a" / "file") == "inside"
    assert read(files, project / "a" / "deep" / ".." / "file") == "inside"
    for path in (tmp_path / "secret", project / ".." / "secret", Path("/etc/passwd"), project / "a" / "../../secret"):
        with pytest.raises(OutsideRoots):
            read(files, path)
        with pytest.raises(OutsideRoots):
            write(files, path)
    write(files, project / "new" / "directories" / "file")
    assert (project / "new" / "directories" / "file").read_text() == "written"


@pytest.mark.parametrize("link", ["to-file", "to-directory/secret", "absolute/secret", "chain/secret", "a/up/secret"])
def test_a_link_does_not_lead_out(files: JailedFiles, tmp_path: Path, link: str) -> None:
    """engine-226: the jail refuses through a link."""
    with pytest.raises(OSError, match=r"outside|Not a directory|symbolic"):
        read(files, tmp_path / "b" / link)
    with pytest.raises(OSError, match=r"outside|Not a directory|symbolic"):
        write(files, tmp_path / "b" / link)
    assert (tmp_path / "secret").read_text() == "outside"


def test_a_link_to_nothing_does_not_make_something_outside(files: JailedFiles, tmp_path: Path) -> None:
    """engine-226: and through a dangling link."""
    with pytest.raises(OSError, match=r"outside|symbolic"):
        write(files, tmp_path / "b" / "nowhere")
    assert not (tmp_path / "not-there-yet").exists()


def test_name_with_same_prefix_is_outside(files: JailedFiles, tmp_path: Path) -> None:
    """engine-227: `/a/bc` is not inside `/a/b`."""
    with pytest.raises(OutsideRoots):
        read(files, tmp_path / "bc" / "secret")


@pytest.mark.parametrize(
    "name",
    [".zot/x", ".claude/settings.json", ".mcp.json", ".git", ".git/hooks/pre-commit", ".git/config", ".vscode/x"],
)
def test_files_others_execute_are_not_written(files: JailedFiles, tmp_path: Path, name: str) -> None:
    with pytest.raises(Protected, match="read-only in a jail"):
        write(files, tmp_path / "b" / name)


def test_a_protected_name_is_known_behind_a_link(files: JailedFiles, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"read-only in a jail|Not a directory|symbolic"):
        write(files, tmp_path / "b" / "git" / "hooks" / "pre-commit")
    assert os.listdir(tmp_path / "b" / ".git" / "hooks") == []


def test_a_directory_swapped_for_a_link_never_leaks(tmp_path: Path) -> None:
    """A command that exchanges a directory and a link as fast as it can, against reads and writes."""
    project = tmp_path / "b"
    (project / "here").mkdir(parents=True)
    (project / "here" / "secret").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    (project / "link").symlink_to("..")
    files, over = JailedFiles(policy_for(project, home=str(tmp_path / "home"))), threading.Event()

    def swap() -> None:
        libc = jailed_files.syscalls._libc
        here, link = os.fsencode(project / "here"), os.fsencode(project / "link")
        while not over.is_set():
            libc.renameat2(-100, here, -100, link, 2)

    racer = threading.Thread(target=swap)
    racer.start()
    try:
        for _ in range(20_000):
            with suppress(OSError):
                assert read(files, project / "here" / "secret") != "outside"
        for _ in range(2_000):
            with suppress(OSError):
                write(files, project / "here" / "secret")
    finally:
        over.set()
        racer.join()
        files.close()
    assert (tmp_path / "secret").read_text() == "outside"


@pytest.mark.skipif(sys.platform != "linux", reason="openat2 is Linux's")
def test_renames_elsewhere_do_not_fail_an_open(tmp_path: Path) -> None:
    """The kernel answers EAGAIN to `..` beneath a root while anything is renamed; that is tried again."""
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "file").write_text("x")
    (tmp_path / "one").touch()
    loop = "import os\nwhile True: os.rename('one', 'other'); os.rename('other', 'one')"
    root = os.open(tmp_path / "root", os.O_PATH | os.O_DIRECTORY)
    with subprocess.Popen([sys.executable, "-S", "-c", loop], cwd=tmp_path) as renaming:
        try:
            for _ in range(20_000):
                os.close(syscalls.open_beneath(root, b"a/../" * 20 + b"file", os.O_RDONLY))
        finally:
            renaming.kill()
            os.close(root)
