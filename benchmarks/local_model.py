"""The small model on this machine: how long its first token takes when it is warm, and how much it is told beforehand.

Warm means that its server is up and has read the part that every prompt begins with; the prompt itself is new to it.
Only where the model is installed: fetching half a gigabyte is not a benchmark's business.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.row import Row

ZOT = [sys.executable, "-m", "zot"]
PROJECT = Path(__file__).parent.parent / "examples" / "try" / "project"
FIRST_TOKEN_S = 5
PREFIX_TOKENS = 600
TASK = "The tests in this directory fail. Find out why, fix the code (not the tests), and run them again."
OTHER = "Which files are in this directory?"


def rows() -> Iterator[Row]:
    first, prefix = "local small, warm: zot spawned → first token", "local small: tokens of system prompt and tools"
    if why := _missing():
        yield Row(first, 0, None, "s", note=why)
        yield Row(prefix, 0, None, "tokens", note=why)
        return
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory, _served():
        project = shutil.copytree(PROJECT, Path(directory, "project"))
        _, tokens = _first_turn(project, "x")
        seconds = min(_warm(project) for _ in range(3))
    yield Row(first, seconds, FIRST_TOKEN_S, "s")
    yield Row(prefix, tokens, PREFIX_TOKENS, "tokens", note="with a prompt of one letter")


def _warm(project: Path) -> float:
    """Another prompt in between: the server must not know the rest of this one already."""
    _first_turn(project, OTHER)
    seconds, _ = _first_turn(project, TASK)
    return seconds


def _missing() -> str:
    listed = subprocess.run([*ZOT, "local", "list", "--json"], capture_output=True, text=True, check=True)
    small = next(model for model in json.loads(listed.stdout)["models"] if model["name"] == "small")
    return "" if small["path"] else "not installed; run `zot local install small`"


@contextmanager
def _served() -> Iterator[None]:
    with subprocess.Popen([*ZOT, "local", "serve", "small"], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            if not server.stdout.readline():
                raise SystemExit("bench: the small model cannot be served")
            yield
        finally:
            server.terminate()


def _first_turn(project: Path, prompt: str) -> tuple[float, int]:
    """Seconds to the first token, and the tokens that went in; zot is ended after the first turn."""
    flags = ["--json", "--provider", "local", "--model", "small", "--no-session", "--no-ext", "--cwd", str(project)]
    started, seconds = time.monotonic(), 0.0
    with subprocess.Popen([*ZOT, *flags, prompt], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as zot:
        assert zot.stdout is not None
        try:
            for line in zot.stdout:
                event = json.loads(line)
                if event["type"] in ("text_delta", "tool_use_start") and not seconds:
                    seconds = time.monotonic() - started
                if event["type"] == "usage":
                    return seconds, event["input"] + event["cache_read"]
        finally:
            zot.terminate()
    raise SystemExit("bench: the small model did not answer")
