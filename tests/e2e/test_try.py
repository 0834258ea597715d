"""`make try`: without a network it plays a labelled recording; a model that does not fix the test is reported as
failed.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Say

ROOT = Path(__file__).parents[2]
FIX = {"path": "prices.py", "edits": [{"oldText": "price + price *", "newText": "price - price *"}]}
CHEAT = {"path": "test_prices.py", "content": "import unittest\n"}
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG")}
    unreachable = {
        "PIP_INDEX_URL": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "https_proxy": NOWHERE,
        "PIP_CONFIG_FILE": "/dev/null",
    }
    home = {"HOME": str(tmp_path), "ZOT_HOME": str(tmp_path / "zot"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return {**keep, **unreachable, **home, "TMPDIR": str(tmp_path)}


def argv(*args: str) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / "try" / "run.py"), *args]


def serve(tmp_path: Path, server: FakeModelServer) -> tuple[str, ...]:
    (tmp_path / "zot").mkdir()
    mine = {"baseUrl": server.url, "api": "openai", "auth": "none", "models": [{"id": "fake"}]}
    (tmp_path / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
    return "--provider", "mine", "--model", "fake"


def run(environment: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv(*args), env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=110
    )


def test_try_without_network_plays_recording_and_reports_it(environment: dict[str, str]) -> None:
    ran = run(environment)
    assert ran.returncode == 0, ran.stderr
    said = " ".join(ran.stdout.split())
    assert "could not be fetched: is there no network?" in said
    assert "What follows is RECORDED" in said and "no model was asked" in said
    assert "+ return price - price * percent / 100" in said and "fixed: the tests pass now" in said


def test_try_succeeds_if_tests_pass(tmp_path: Path, environment: dict[str, str]) -> None:
    turns = [CallTools([("read", {"path": "prices.py"})]), CallTools([("edit", FIX)]), Say("I did it.")]
    with FakeModelServer(turns) as server:
        ran = run(environment, *serve(tmp_path, server))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "fixed: the tests pass now" in ran.stdout and "3 turns" in ran.stdout and "RECORDED" not in ran.stdout
    assert max(len(line) for line in ran.stdout.splitlines()) <= 80


def test_try_fails_if_model_only_claims_success(tmp_path: Path, environment: dict[str, str]) -> None:
    with FakeModelServer([CallTools([("write", CHEAT)]), Say("All tests pass now!")]) as server:
        ran = run(environment, *serve(tmp_path, server))
    assert ran.returncode == 1
    assert "not fixed: the tests still fail" in ran.stdout and "Try again: make try" in ran.stdout


def test_terminal_offers_another_try(tmp_path: Path, environment: dict[str, str]) -> None:
    with FakeModelServer([Say("Done."), CallTools([("edit", FIX)]), Say("Done.")]) as server:
        ours, theirs = pty.openpty()
        line = argv(*serve(tmp_path, server))
        with subprocess.Popen(line, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as child:
            os.close(theirs)
            seen = read_until(ours, "Try again? [Y/n]")
            assert "not fixed" in seen
            os.write(ours, b"y\n")
            assert "fixed: the tests pass now" in read_until(ours, "zot auth login")
            assert child.wait(60) == 0
        os.close(ours)


def read_until(terminal: int, words: str) -> str:
    """The screen text without styles and with single spaces: a line may wrap anywhere."""
    seen, end = b"", time.monotonic() + 100
    while words not in (text := " ".join(re.sub(r"\x1b\[[0-9;]*[mK]", "", seen.decode(errors="replace")).split())):
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{words!r} did not come: {text[-2000:]}"
        seen += os.read(terminal, 65536)
    return text
