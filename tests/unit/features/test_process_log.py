from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from zot.errors import ExtensionError
from zot.features.extensions.child_log import log_path
from zot.features.process_log import MAX_BYTES, LogFile


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogFile]:
    file = LogFile(log_path(tmp_path, "x"), "x 1.2")
    yield file
    file.close()


def old(log: LogFile) -> Path:
    return log.path.with_name(f"{log.path.name}.1")


def test_log_is_private_and_run_begins_with_header(log: LogFile, tmp_path: Path) -> None:
    """ext-101: the log is private, and a run begins with an empty line, name, version and time."""
    assert log.path == tmp_path / "logs" / "ext-x.log"
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700
    assert re.fullmatch(r"\n\[zot\] x 1\.2 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", log.path.read_text())


def test_child_stderr_is_logged_byte_for_byte(log: LogFile) -> None:
    """ext-101: the child's stderr is logged byte for byte between the host's lines."""
    log.write("one\ntwo")
    log.append(b"\xffraw")
    log.write("three")
    assert log.path.read_bytes().endswith(b"[zot] one\n[zot] two\n\xffraw[zot] three\n")


def test_a_second_run_appends(log: LogFile, tmp_path: Path) -> None:
    """ext-101: a second run appends to the log of the first."""
    log.write("first")
    again = LogFile(log_path(tmp_path, "x"), "x -")
    again.close()
    assert "[zot] first\n\n[zot] x - " in log.path.read_text()


def test_log_above_5_mb_rotates_while_other_run_writes(log: LogFile, tmp_path: Path) -> None:
    other = LogFile(log_path(tmp_path, "x"), "x -")
    log.append(b"a" * MAX_BYTES)
    other.append(b"from another run\n")
    other.close()
    assert log.path.read_bytes() == b"from another run\n"
    assert old(log).stat().st_size > MAX_BYTES
    assert stat.S_IMODE(old(log).stat().st_mode) == 0o600


def test_only_one_rotated_file_exists(log: LogFile) -> None:
    for mark in (b"1", b"2"):
        log.append(mark * (MAX_BYTES + 1))
    assert old(log).read_bytes() == b"2" * (MAX_BYTES + 1)
    assert sorted(os.listdir(log.path.parent)) == ["ext-x.log", "ext-x.log.1"]


def test_huge_log_is_truncated_to_its_end(log: LogFile, tmp_path: Path) -> None:
    """Copying it whole would delay the start; leftovers of a killed rotation are removed."""
    os.truncate(log.path, 3_000_000_000)
    leftover = old(log).with_name(f".{old(log).name}.tmp")
    leftover.write_text("of a killed zot")
    log.append(b"the end")
    assert old(log).read_bytes().endswith(b"\0the end") and old(log).stat().st_size == 2 * MAX_BYTES
    assert log.path.read_bytes() == b"" and not leftover.exists()


def test_small_log_is_unchanged(log: LogFile) -> None:
    log.write("small")
    assert not old(log).exists()


def test_a_log_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    with pytest.raises(ExtensionError, match=r"cannot open the log .*ext-x\.log"):
        LogFile(log_path(tmp_path, "x"), "x -")


def test_name_with_path_parts_creates_no_file(tmp_path: Path) -> None:
    with pytest.raises(ExtensionError):
        LogFile(log_path(tmp_path, "../x"), "x -")


def test_closing_twice_is_fine(log: LogFile) -> None:
    log.close()
    log.close()
    log.write("too late")  # lost, not raised
