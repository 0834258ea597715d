"""safe_open: accepted and rejected files, and its error messages."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from zot.system.safe_open import (
    SymlinkEscape,
    TooLarge,
    create,
    open_for_update,
    open_regular,
    open_to_append,
    open_to_overwrite,
    open_to_replace,
    read_prefix,
    read_whole,
)

READERS: list[Callable[[Path], object]] = [open_regular, read_whole, read_prefix]
WRITERS: list[Callable[[Path], int]] = [open_to_append, open_for_update, open_to_overwrite, open_to_replace]


@pytest.mark.parametrize("opened", [*READERS, *WRITERS])
def test_a_pipe_is_never_waited_for(opened: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"not a regular file|pipe without a reader"):
        opened(tmp_path / "pipe")


@pytest.mark.parametrize("opened", [*READERS, *WRITERS])
def test_a_directory_is_refused(opened: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"[Ii]s a directory"):
        opened(tmp_path)


@pytest.mark.parametrize("opened", READERS)
def test_a_device_without_end_is_refused(opened: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="not a regular file"):
        opened(tmp_path / "zero")


@pytest.mark.parametrize("opened", WRITERS)
def test_write_through_a_link_is_rejected(opened: Callable[[Path], int], tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to("victim")
    with pytest.raises(OSError, match="is a link"):
        opened(tmp_path / "link")
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_dangling_link_makes_no_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    for opened in (create, open_to_append, open_to_replace):
        with pytest.raises(OSError, match=r"is a link|File exists"):
            opened(tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


def test_a_hard_link_is_not_appended_to(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    os.link(tmp_path / "victim", tmp_path / "ours")
    with pytest.raises(OSError, match="hard link"):
        open_to_append(tmp_path / "ours")


def test_read_stops_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "huge").write_bytes(b"")
    os.truncate(tmp_path / "huge", 1 << 40)
    with pytest.raises(TooLarge, match="is larger than 1 MiB"):
        read_whole(tmp_path / "huge", 1 << 20)
    assert read_prefix(tmp_path / "huge", 3) == b"\0\0\0"


def test_file_of_size_zero_is_read_with_a_limit() -> None:
    """Files of /proc have no size."""
    assert read_whole("/proc/self/stat")
    with pytest.raises(TooLarge):
        read_whole("/proc/self/stat", 8)


def test_a_link_may_not_lead_out_of_its_directory(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("x")
    (inside / "plain").write_text("y")
    (inside / "near").symlink_to("plain")
    (inside / "far").symlink_to("../secret")
    (inside / "up").symlink_to("..")
    assert read_whole(inside / "near", within=inside) == b"y"
    for name in ("far", "up/secret", "../secret"):
        with pytest.raises(SymlinkEscape, match=r"leads out of .*/inside through a link, to .*/secret"):
            read_whole(inside / name, within=inside)


def test_linked_directory_gives_access_to_its_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("y")
    (tmp_path / "link").symlink_to("real")
    assert read_whole(tmp_path / "link" / "file", within=tmp_path / "link") == b"y"


def test_user_path_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    os.close(open_for_update(tmp_path / "link", follow=True))


def test_output_path_may_be_a_terminal_or_a_pipe(tmp_path: Path) -> None:
    os.close(open_to_replace("/dev/null"))
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer = open_to_replace(tmp_path / "pipe")
    assert os.get_blocking(writer)
    os.close(writer)
    os.close(reader)


def test_an_emptied_file_is_private(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o644)
    os.close(open_to_replace(tmp_path / "old"))
    assert (tmp_path / "old").read_text() == "" and (tmp_path / "old").stat().st_mode & 0o777 == 0o600


def test_buffer_is_allocated_for_actual_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_whole(tmp_path / "file", 1 << 50) == b"0123456789"
    assert read_whole(tmp_path / "file", 10) == b"0123456789"
    with pytest.raises(TooLarge):
        read_whole(tmp_path / "file", 9)
