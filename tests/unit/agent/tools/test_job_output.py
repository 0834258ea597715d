"""issue 32.3: output of background jobs: bounded, read once, searched within a limit of CPU time."""

from __future__ import annotations

import asyncio
import time

import pytest

from zot.agent.tools.job_output import KEPT_BYTES, JobOutput, LinePattern, Watch
from zot.errors import ToolError


def test_output_since_a_position() -> None:
    output = JobOutput()
    output.feed(b"one\ntwo\n")
    assert output.since(4) == ("two\n", 0) and output.tail(4) == "two\n"


def test_flood_keeps_the_latest_part() -> None:
    output = JobOutput()
    for _ in range(200):
        output.feed(b"x" * 65536)
    text, lost = output.since(0)
    assert output.total == 200 * 65536 and len(text) <= 2 * KEPT_BYTES and lost == output.total - len(text)


def test_redrawn_lines_show_their_last_state() -> None:
    output = JobOutput()
    output.feed(b"10%\r50%\r100%\ndone\x00\n")
    assert output.since(0)[0] == "100%\ndone\n"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("ready", "server ready"),
        (r"port \d+", "on port 80"),
        ("^on", "on port 80"),
        ("80$", "on port 80"),
        ("zzz", None),
    ],
)
def test_pattern_finds_its_line(pattern: str, line: str | None) -> None:
    assert LinePattern(pattern).find_line("starting\nserver ready\non port 80\n") == line


@pytest.mark.parametrize(("pattern", "said"), [("(", "not a regular expression"), ("x" * 2000, "2,000 characters")])
def test_unusable_pattern_is_an_error(pattern: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        LinePattern(pattern)


def test_slow_pattern_is_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(ToolError, match="takes too long"):
        LinePattern("(a+)+$").find_line("a" * 60 + "b")
    with pytest.raises(ToolError, match="takes too long"):
        LinePattern("(a+)+$").lines("a" * 60 + "b")
    assert time.monotonic() - began < 10


async def test_watch_finds_a_line_that_comes_in_pieces() -> None:
    output = JobOutput()
    output.feed(b"server re")
    watch = Watch(output, LinePattern("ready"), 0)
    output.feed(b"ady now\nnext")
    assert await watch.found == "server ready now" and output.on_data == []


async def test_watch_sees_an_unfinished_line() -> None:
    """A prompt for input has no newline."""
    output = JobOutput()
    watch = Watch(output, LinePattern("Password:"), 0)
    output.feed(b"Password: ")
    assert await watch.found == "Password:"


async def test_watch_begins_at_its_position() -> None:
    output = JobOutput()
    output.feed(b"ready\n")
    watch = Watch(output, LinePattern("ready"), output.total)
    await asyncio.sleep(0)
    assert not watch.found.done()
    watch.close()
    output.feed(b"ready\n")
    assert watch.found.cancelled()


async def test_slow_pattern_ends_its_watch() -> None:
    output = JobOutput()
    watch = Watch(output, LinePattern("(a+)+$"), 0)
    output.feed(b"a" * 60 + b"b")
    with pytest.raises(ToolError, match="takes too long"):
        await watch.found
    assert output.on_data == []
