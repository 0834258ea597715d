"""Killed at any moment of going back: no file is torn, nothing is lost, and doing it again finishes it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say

FILES = 40
KILLS = 8


def test_rewinding_survives_kills(zot: Zot, serve: Any) -> None:
    files = [zot.project / f"file{number}" for number in range(FILES)]
    before = {file: f"{file.name} before\n" * 500 for file in files}
    after = {file: f"{file.name} after\n" * 600 for file in files}
    for file, text in before.items():
        file.write_text(text)
    calls = CallTools([("write", {"path": file.name, "content": text}) for file, text in after.items()])
    serve([calls, Say("done")])
    assert zot("-p", "change them all").out == "done\n"
    zot.url = ""  # from here on nobody is asked
    words = ("sessions", "rewind", "--to", "1", "--files", "--yes")
    killed = 0
    for number in range(KILLS):
        killed += _kill_while_working(zot, words, files, before, number)
        for file in files:
            assert file.read_text() in (before[file], after[file])
    assert killed
    last = zot(*words, model=False)
    assert last.code == 0, last.err
    assert all(file.read_text() == text for file, text in before.items())
    assert zot("sessions", "rewind", "--undo", "--yes", model=False).code == 0


def _kill_while_working(
    zot: Zot, words: tuple[str, ...], files: list[Path], before: dict[Path, str], number: int
) -> bool:
    """As soon as some more files are seen to be back, so that it is in the middle of it."""
    child = zot.start(*words)
    wanted = min((number + 1) * 3, len(files))
    while child.poll() is None and sum(file.read_text() == before[file] for file in files) < wanted:
        time.sleep(0)
    alive = child.poll() is None
    if alive:
        os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    return alive
