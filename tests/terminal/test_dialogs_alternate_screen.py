"""Reading an earlier turn leaves the terminal's own screen and scrollback as they were (in tmux, a real terminal)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.fakes.terminal import answer_first_question

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


class Tmux:
    """One window of a separate tmux server."""

    def __init__(self, socket: Path, zot: Zot, argv: list[str]) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        answer_first_question(zot.env())
        env = [f"{name}={value}" for name, value in zot.env().items()]
        self._run("new-session", "-d", "-x", "80", "-y", "24", "-c", str(zot.project), "env", "-i", *env, *argv)

    def _run(self, *args: str) -> str:
        return subprocess.run([*self._tmux, *args], check=True, capture_output=True, text=True).stdout

    def keys(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def screen(self) -> str:
        return self._run("capture-pane", "-p")

    def history(self) -> str:
        return self._run("capture-pane", "-p", "-S", "-")

    def wait(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 15
        while not holds():
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.02)  # tmux tells nobody when its screen changes

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def tmux(zot: Zot, tmp_path: Path) -> Iterator[Callable[[], Tmux]]:
    opened: list[Tmux] = []

    def start() -> Tmux:
        zot.environment["TERM"] = "tmux-256color"
        opened.append(Tmux(tmp_path / "s", zot, [f"{sys.prefix}/bin/zot", *zot.endpoint(True)]))
        return opened[0]

    yield start
    for terminal in opened:
        terminal.close()


def test_the_scrollback_is_the_same_after_a_turn_was_read_again(serve: Any, tmux: Callable[[], Tmux]) -> None:
    """iface-193: reading an earlier turn leaves the scrollback unchanged."""
    serve([Say("\n\n".join(f"paragraph {number}" for number in range(40)))])
    terminal = tmux()
    terminal.wait(lambda: "▌" in terminal.screen() and "starting" not in terminal.screen())
    terminal.keys("tell me", "Enter")
    terminal.wait(lambda: "paragraph 39" in terminal.screen() and "$0.0" in terminal.screen())
    terminal.keys("/cost", "Enter")  # a hint fades once it was used
    terminal.wait(lambda: "by model" in terminal.screen())
    terminal.keys("Escape")
    terminal.wait(lambda: "ask anything · @ for files" in terminal.screen())
    before = terminal.history()
    terminal.keys("/jump tell", "Enter")
    terminal.wait(lambda: "turn 1 of 1" in terminal.screen())
    terminal.keys("NPage")
    terminal.wait(lambda: "paragraph 15" in terminal.screen())
    terminal.keys("q")
    terminal.wait(lambda: "turn 1 of 1" not in terminal.screen() and "/jump" not in terminal.screen())
    assert terminal.history() == before
