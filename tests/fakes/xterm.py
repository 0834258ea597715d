"""xterm.js, the terminal of VS Code, around a real pty: the library itself runs in node, without a window."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import pty
import queue
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.fakes.terminal import KEYS, answer_first_question

TIMEOUT = 20.0
_MODULES = Path(__file__).parents[2] / "page" / "node_modules"


def is_installed() -> bool:
    """True if node and the library are there; `make page` installs the library."""
    return shutil.which("node") is not None and (_MODULES / "@xterm" / "headless").exists()


class XtermJs:
    """The terminal alone, as a context manager; needs ``is_installed``. ``on_reply`` gets its replies to queries."""

    def __init__(self, columns: int, rows: int, on_reply: Callable[[str], None] = lambda reply: None) -> None:
        self._command = ["node", str(Path(__file__).with_suffix(".cjs")), str(columns), str(rows)]
        self._on_reply = on_reply
        self._shown: queue.Queue[str] = queue.Queue()
        self._writing = threading.Lock()

    def __enter__(self) -> XtermJs:
        env = {**os.environ, "NODE_PATH": str(_MODULES)}
        self._node = subprocess.Popen(self._command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._node.kill()
        self._node.wait()
        self._reading.join(TIMEOUT)

    def write(self, data: bytes) -> None:
        self._tell(data=base64.b64encode(data).decode())

    def resize(self, columns: int, rows: int) -> None:
        """After what was written before."""
        self._tell(size=[columns, rows])

    @property
    def screen(self) -> str:
        return self._show("screen")

    @property
    def everything(self) -> str:
        """Scrollback and screen; rows that the terminal had broken are joined again."""
        return self._show("everything")

    def _show(self, what: str) -> str:
        self._tell(show=what)
        return self._shown.get(timeout=TIMEOUT)

    def _tell(self, **message: Any) -> None:
        assert self._node.stdin is not None
        with self._writing:
            self._node.stdin.write(json.dumps(message).encode() + b"\n")
            self._node.stdin.flush()

    def _read(self) -> None:
        assert self._node.stdout is not None
        for line in self._node.stdout:
            message = json.loads(line)
            if "shown" in message:
                self._shown.put(message["shown"])
            else:
                self._on_reply(message["reply"])


class FakeXterm:
    """A program in a pty and the terminal around it; use as a context manager."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        answer_first_question(env)
        self._argv, self._cwd = list(argv), cwd
        self._env = {"TERM": "xterm-256color", **env}
        self._size = (columns, rows)
        self._terminal = XtermJs(columns, rows, on_reply=self._reply)

    def __enter__(self) -> FakeXterm:
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            try:
                os.chdir(self._cwd)
                self._set_size(0)
                os.execve(self._argv[0], self._argv, self._env)
            finally:
                os._exit(127)
        self._terminal.__enter__()
        self._drawing = threading.Thread(target=self._draw, daemon=True)
        self._drawing.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print(f"--- the terminal\n{self.everything}\n---")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._drawing.join(TIMEOUT)
        self._terminal.__exit__()
        os.close(self._fd)

    # --- what a user does

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def press(self, *names: str) -> None:
        for name in names:
            self.type(KEYS.get(name, name))

    def submit(self, text: str) -> None:
        self.type(text)
        self.wait_for(text)
        self.press("enter")

    def resize(self, columns: int, rows: int) -> None:
        """The pty first, so that no frame is on its way. Real programs resize the terminal first: for such frames see
        tests/unit/tui/test_live_region_in_xterm_js.py."""
        self._size = (columns, rows)
        self._set_size(self._fd)
        time.sleep(0.025)  # zot draws nothing for 50 ms
        self._terminal.resize(columns, rows)

    # --- what a user sees

    @property
    def screen(self) -> str:
        return self._terminal.screen

    @property
    def everything(self) -> str:
        return self._terminal.everything

    def wait_for(self, text: str, timeout: float = TIMEOUT) -> None:
        deadline = time.monotonic() + timeout
        while text not in (screen := self.screen):
            assert time.monotonic() < deadline, f"waited for {text!r}; the screen:\n{screen}"
            time.sleep(0.03)

    # --- the wires

    def _set_size(self, fd: int) -> None:
        columns, rows = self._size
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _draw(self) -> None:
        """Pass on what the program writes, until it ends."""
        with contextlib.suppress(OSError):
            while data := os.read(self._fd, 1 << 16):
                self._terminal.write(data)

    def _reply(self, reply: str) -> None:
        with contextlib.suppress(OSError):
            self.type(reply)
