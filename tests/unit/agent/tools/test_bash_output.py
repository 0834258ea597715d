"""Truncated output: 51,200 bytes and 2,000 lines, 40 % of them from its head."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zot.agent.tools.bash_output import OutputCapture


@pytest.fixture(autouse=True)
def spool_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def fed(data: bytes, size: int = 60000) -> OutputCapture:
    capture = OutputCapture()
    for start in range(0, len(data), size):
        capture.feed(data[start : start + size])
    return capture


def test_exactly_the_caps_is_not_truncated(tmp_path: Path) -> None:
    assert not fed(b"x" * 51200).truncated
    assert not fed(b"x\n" * 2000).truncated
    assert not list(tmp_path.iterdir())


def test_one_byte_or_line_above_the_limit_is_truncated() -> None:
    by_bytes, by_lines = fed(b"x" * 51201), fed(b"x\n" * 2000 + b"y")
    assert (by_bytes.bytes_truncated, by_bytes.lines_truncated) == (True, False)
    assert (by_lines.bytes_truncated, by_lines.lines_truncated) == (False, True)


@pytest.mark.parametrize("size", [1, 7, 4096, 10**6])
def test_output_is_equal_for_any_chunking(size: int) -> None:
    data = b"".join(b"%d: a line of text\n" % number for number in range(5000))
    assert fed(data, size).text() == fed(data).text()


def test_the_marker_accounts_for_every_byte_and_line() -> None:
    """100,000 lines of 6 bytes: 800 and 1,200 are shown, 98,000 lines and 588,000 bytes are not."""
    text = fed(b"abcde\n" * 100000).text()
    assert "... [98000 lines, 588000 bytes omitted]\n" in text
    assert text.count("abcde\n") == 2000


def test_long_lines_are_cut_where_lines_end() -> None:
    line = b"y" * 999 + b"\n"
    text = fed(line * 500).text()
    shown = [row for row in text.split("\n") if row.startswith("y")]
    assert {len(row) for row in shown} == {999}
    assert len(shown) == 20 + 30
    assert "... [450 lines, 450000 bytes omitted]" in text


def test_endless_line_is_cut_between_characters() -> None:
    text = fed("ä€😀".encode() * 30000).text()
    assert "\ufffd" not in text
    assert "bytes omitted]" in text
    assert "lines, " not in text.split("... [")[1]


def test_output_file_has_everything(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4000
    capture = fed(data, 1000)
    assert capture.spool is not None
    assert not list(tmp_path.rglob("*.log"))
    path = capture.spool.named()
    capture.spool.end()
    assert path.read_bytes() == data
    assert path.parent == tmp_path / f"zot-{os.geteuid()}"


def test_unmentioned_output_file_is_removed(tmp_path: Path) -> None:
    capture = fed(b"x" * 60000)
    capture.discard_spool()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_directory_of_another_user_is_not_used(tmp_path: Path) -> None:
    """Another user may have made it, to read along or to lead elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"zot-{os.geteuid()}").symlink_to(tmp_path / "elsewhere")
    capture = fed(b"x" * 60000)
    assert capture.spool is not None
    assert capture.spool.named().parent == tmp_path
    capture.spool.close()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_temporary_directory_that_is_gone_costs_only_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    capture = fed(b"x" * 60000)
    assert capture.spool is not None
    assert "could not be created" in capture.spool.trouble
    assert "bytes omitted]" in capture.text()


def test_redrawn_line_shows_its_last_state() -> None:
    bar = b"".join(b"\r%3d%% done" % i for i in range(101))
    assert fed(b"begin\n" + bar + b"\nend").text() == "begin\n100% done\nend\n"
    assert fed(b"no end " + bar).text() == "100% done\n"
    assert fed(b"two characters\r\nstay\r\n").text() == "two characters\r\nstay\r\n"
    assert fed(b"cut\r\nhere", 4).text() == "cut\r\nhere\n"


def test_progress_bar_is_one_row_and_not_counted_as_cut() -> None:
    capture = fed(b"".join(b"\r" + b"#" * 70 + b" %6d" % i for i in range(20_000)) + b"\ndone\n", 1000)
    assert capture.text() == "#" * 70 + "  19999\ndone\n"
    assert not capture.truncated


def test_the_file_has_every_redraw() -> None:
    capture = fed(b"\rone\rtwo\n" + b"x\n" * 3000)
    assert capture.text().startswith("two\n")
    assert capture.spool is not None
    path = capture.spool.named()
    assert path.read_bytes().startswith(b"\rone\rtwo\nx\n")
    path.unlink()
