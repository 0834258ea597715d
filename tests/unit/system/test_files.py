"""The user's own files: replaced as a whole or not at all, otherwise as they were."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zot.errors import ConfigError
from zot.system import files
from zot.system.files import replace_file, user_home, zot_home
from zot.system.safe_open import open_regular


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_gets_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        assert replace_file(tmp_path / "new", b"x")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new") == 0o644


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    """engine-209: replacing an existing file preserves its mode."""
    file = tmp_path / "f"
    file.write_bytes(b"old")
    file.chmod(mode)
    assert not replace_file(file, b"new")
    assert (mode_of(file), file.read_bytes()) == (mode, b"new")


def test_a_symlink_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_dangling_symlink_creates_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    assert replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_reader_sees_the_old_or_the_new_content_never_a_part(tmp_path: Path) -> None:
    """engine-209: an open descriptor still has the whole old file, because the new one is another."""
    file = tmp_path / "f"
    file.write_bytes(b"old" * 1000)
    with file.open("rb") as reader:
        replace_file(file, b"new")
        assert reader.read() == b"old" * 1000
    assert file.read_bytes() == b"new"


def test_a_failed_replacement_leaves_the_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """engine-209: the disk is full at the worst moment."""
    file = tmp_path / "f"
    file.write_bytes(b"old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_mount_point_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file mounted into a container cannot be renamed over (EBUSY); shorter content must not leave a tail."""
    file = tmp_path / "f"
    file.write_bytes(b"old and long")
    inode = file.stat().st_ino

    def busy(source: str, target: str) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(files.os, "replace", busy)
    assert not replace_file(file, b"new")
    assert (file.read_bytes(), file.stat().st_ino) == (b"new", inode)
    assert os.listdir(tmp_path) == ["f"]


@pytest.fixture
def public_path() -> Iterator[Path]:
    """A directory other users can reach; pytest's own is private."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_plain_user(act: Callable[[], object]) -> int:
    """Do it in a forked copy without root's powers; returns 0, or the number of the OSError it ended with."""
    if not (pid := os.fork()):
        code = 255
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            act()
            code = 0
        except OSError as error:
            code = error.errno or 254
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def give_away(*paths: Path) -> None:
    if os.getuid() == 0:
        for path in paths:
            os.chown(path, 65534, 65534)


def test_a_write_protected_file_is_refused(public_path: Path) -> None:
    """Renaming over it would be possible, but would circumvent its permissions."""
    file = public_path / "f"
    file.write_bytes(b"old")
    file.chmod(0o444)
    give_away(public_path, file)
    assert as_plain_user(lambda: replace_file(file, b"new")) == errno.EACCES
    assert file.read_bytes() == b"old"


def test_file_in_unwritable_directory_is_written_in_place(public_path: Path) -> None:
    file = public_path / "f"
    file.write_bytes(b"old and long")
    give_away(public_path, file)
    public_path.chmod(0o555)
    inode = file.stat().st_ino
    assert as_plain_user(lambda: replace_file(file, b"new")) == 0
    assert (file.read_bytes(), file.stat().st_ino) == (b"new", inode)
    public_path.chmod(0o755)


def test_new_file_in_unwritable_directory_is_an_error(public_path: Path) -> None:
    give_away(public_path)
    public_path.chmod(0o555)
    assert as_plain_user(lambda: replace_file(public_path / "f", b"new")) == errno.EACCES
    public_path.chmod(0o755)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_non_regular_file_is_rejected(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "x")
    with pytest.raises(OSError, match="is "):
        replace_file(tmp_path / "x", b"new")
    with pytest.raises(OSError, match="is "):
        open_regular(tmp_path / "x")


def test_a_long_name_can_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)
    replace_file(file, b"one")
    replace_file(file, b"two")
    assert file.read_bytes() == b"two"


def test_extended_attributes_survive(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    try:
        os.setxattr(file, "user.zot", b"kept")
    except OSError:
        # This file system has none: then replacing must simply not mind.
        replace_file(file, b"new")
        assert file.read_bytes() == b"new"
        return
    replace_file(file, b"new")
    assert os.getxattr(file, "user.zot") == b"kept"


def test_missing_home_directory_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The ``.zot`` of the directory zot ran in became its home: a clone's settings and extensions were the user's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(ConfigError, match="set HOME or ZOT_HOME to an absolute path"):
        zot_home()
    assert user_home() == Path("/")
    monkeypatch.setenv("ZOT_HOME", "~nobody-of-this-name/zot")
    with pytest.raises(ConfigError, match="ZOT_HOME"):
        zot_home()
    monkeypatch.delenv("ZOT_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert zot_home() == Path("/home/me/.local/state/zot")
