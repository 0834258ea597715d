"""tmux as a terminal: its own server, one pane, and its history as the scrollback."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.fakes.terminal import answer_first_question

TIMEOUT = 20.0


class FakeTmux:
    """Use as a context manager; needs tmux on PATH. ``first_start``: zot asks how it may run, as in a new home."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        socket: Path,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        first_start: bool = False,
    ) -> None:
        if not first_start:
            answer_first_question(env)
        self._socket = socket
        assignments = [f"{name}={value}" for name, value in env.items()]
        # A shell stays behind, so that what is on the screen after zot has left can be seen.
        self._command = shlex.join(["env", "-i", *assignments, *argv]) + "; echo LEFT-WITH-$?; exec sleep 600"
        self._cwd, self._size = cwd, (columns, rows)

    def __enter__(self) -> FakeTmux:
        columns, rows = self._size
        self._tmux(
            "-f",
            "/dev/null",
            "start-server",
            ";",
            "set",
            "-g",
            "history-limit",
            "50000",
            ";",
            "set",
            "-g",
            "status",
            "off",
            ";",
            "new-session",
            "-d",
            "-s",
            "zot",
            "-x",
            str(columns),
            "-y",
            str(rows),
            "-c",
            str(self._cwd),
            self._command,
        )
        self._tmux("set-option", "-g", "window-size", "manual")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print(f"--- the pane\n{self.screen}\n---")
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], capture_output=True, timeout=10)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "zot", "-l", text)

    def press(self, *names: str) -> None:
        """By tmux's names: Enter, Escape, C-c, Up."""
        self._tmux("send-keys", "-t", "zot", *names)

    def submit(self, text: str) -> None:
        self.type(text)
        self.wait_for(text)
        self.press("Enter")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", "zot", "-x", str(columns), "-y", str(rows))

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "zot")

    @property
    def styled_screen(self) -> str:
        """The screen with the sequences for bold text and colours."""
        return self._tmux("capture-pane", "-p", "-e", "-t", "zot")

    @property
    def everything(self) -> str:
        """History and screen; rows the terminal had broken are joined again."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "zot")

    def wait_for(self, text: str, timeout: float = TIMEOUT) -> None:
        deadline = time.monotonic() + timeout
        while text not in self.screen:
            assert time.monotonic() < deadline, f"waited for {text!r}; the pane:\n{self.screen}"
            time.sleep(0.03)

    def wait_gone(self, text: str, timeout: float = TIMEOUT) -> None:
        deadline = time.monotonic() + timeout
        while text in self.screen:
            assert time.monotonic() < deadline, f"waited for {text!r} to disappear; the pane:\n{self.screen}"
            time.sleep(0.03)

    def wait_stable(self, timeout: float = TIMEOUT) -> None:
        """Waits until two captures are equal, further apart than zot's resize delay."""
        deadline, last = time.monotonic() + timeout, ""
        while (now := self.screen) != last and time.monotonic() < deadline:
            last = now
            time.sleep(0.45)

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(["tmux", "-S", str(self._socket), *args], capture_output=True, text=True, timeout=10)
        assert done.returncode == 0, done.stderr
        return done.stdout
