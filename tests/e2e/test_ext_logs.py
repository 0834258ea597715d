"""``zot ext logs``: existing and new lines of an extension's log."""

from __future__ import annotations

import shutil
import signal

import pytest

from tests.e2e.conftest import Zot


def test_the_log_is_printed_byte_for_byte(zot: Zot) -> None:
    """iface-069: the log is printed byte for byte."""
    log = zot.home / "zot" / "logs" / "ext-x.log"
    log.parent.mkdir(parents=True)
    log.write_text("one\n\x1b[2Jtwo\n")
    assert zot("ext", "logs", "x").out == "one\n\x1b[2Jtwo\n"


def test_a_missing_log_is_an_error(zot: Zot) -> None:
    """iface-069: a missing log exits 1 and is named."""
    ran = zot("ext", "logs", "x")
    assert ran.code == 1
    assert "ext-x.log" in ran.err


@pytest.mark.parametrize("flag", ["-f", "--follow"])
def test_logs_follow_continues_across_rotation_until_interrupt(zot: Zot, flag: str) -> None:
    """iface-311: `-f` and `--follow` print new lines, across a rotation, until interrupted."""
    log = zot.home / "zot" / "logs" / "ext-x.log"
    log.parent.mkdir(parents=True)
    log.write_text("one\n")
    running = zot.start("ext", "logs", "x", flag)
    assert running.stdout is not None
    assert running.stdout.readline() == b"one\n"
    with log.open("a") as file:
        file.write("two\n")
    assert running.stdout.readline() == b"two\n"
    with log.open("a") as file:
        file.write("three\n")
    shutil.copy(log, log.with_name("ext-x.log.1"))
    log.write_text("four\n")
    assert [running.stdout.readline() for _ in range(2)] == [b"three\n", b"four\n"]
    with log.open("a") as file:
        file.write("five\n")
    assert running.stdout.readline() == b"five\n"
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 130
    assert running.stdout.read() == b""
