"""A terminal for tests: the real program in a real pty, an emulator as its screen, every byte kept.

Everything waits for what should appear, never for time to pass. ``screen`` is what a person would see, whole frames
only (synchronized output is honoured), ``history`` what scrolled away, ``raw`` what was written. ``press`` takes key
names as ``zot.tui.keys`` has them.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import itertools
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

from tests.fakes.emulator import Emulator
from zot.tui.keys import ESCAPE_WAIT_S

TIMEOUT = 15.0

KEYS = {
    **{"enter": "\r", "esc": "\x1b", "tab": "\t", "backspace": "\x7f", "space": " ", "delete": "\x1b[3~"},
    **{"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F"},
    **{"pageup": "\x1b[5~", "pagedown": "\x1b[6~", "shift+tab": "\x1b[Z", "shift+enter": "\x1b[13;2u"},
    **{f"ctrl+{c}": chr(ord(c) - 96) for c in "abcdefghijklmnopqrstuvwxyz"},
    "ctrl+_": "\x1f",
    **{"alt+up": "\x1b[1;3A", "alt+enter": "\x1b\r", "alt+left": "\x1b[1;3D", "alt+right": "\x1b[1;3C"},
    **{"alt+backspace": "\x1b\x7f", "ctrl+left": "\x1b[1;5D", "ctrl+right": "\x1b[1;5C"},
    **{f"alt+{c}": f"\x1b{c}" for c in "abcdefghijklmnopqrstuvwxyz"},
}

# What the emulator does not know and would print: keyboard protocols and graphics.
_UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b_[^\x1b]*\x1b\\|\x1bP[^\x1b]*\x1b\\")
_ALTERNATE = re.compile(rb"(\x1b\[\?1049[hl])")
_OPEN = re.compile(rb"\x1b(?:\[[0-?]*|[\]P_][^\x07\x1b]*\x1b?)?\Z")
_FRAME_BEGINS, _FRAME_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"


def answer_first_question(env: Mapping[str, str]) -> None:
    """Set ``start_mode``, unless the home has a mode or cannot be read: only the first start asks."""
    home = Path(env.get("ZOT_HOME") or "/nonexistent")
    try:
        values = json.loads(text) if (text := (home / "config.json").read_text()) else {}
    except FileNotFoundError:
        values = {}
    except (OSError, ValueError):
        return
    if isinstance(values, dict) and not values.keys() & {"start_mode", "permission_mode", "jail_by_default"}:
        with contextlib.suppress(OSError):
            home.mkdir(mode=0o700, exist_ok=True)
            (home / "config.json").write_text(json.dumps({**values, "start_mode": "everything"}))


class FakeTerminal:
    """Use as a context manager. ``background``: its reply to a colour query; None: no reply.
    ``first_start``: zot asks how it may run, as in a new home."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        background: str | None = "0000/0000/0000",
        before: str = "",
        first_start: bool = False,
    ) -> None:
        if not first_start:
            answer_first_question(env)
        self.raw = b""
        self.exit_code: int | None = None
        self._argv, self._cwd = list(argv), cwd
        self._env = {"TERM": "xterm-256color", **env}
        self._answer = f"\x1b]11;rgb:{background}\x1b\\".encode() if background else b""
        self._emulated = Emulator(columns, rows)
        self._stream = pyte.ByteStream(self._emulated)
        self._pending = b""
        self._main: Any = None
        self._asked = False
        self._fd = self._pid = -1
        self._escaped = 0.0  # when escape was pressed last
        self.columns, self.rows = columns, rows
        if before:
            self._stream.feed(before.encode())

    def __enter__(self) -> FakeTerminal:
        self.started = time.monotonic()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            try:
                os.chdir(self._cwd)
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
                os.execve(self._argv[0], self._argv, dict(self._env))
            finally:
                os._exit(127)
        self._set_size()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        with contextlib.suppress(OSError):
            os.close(self._fd)
        if error is not None:
            print(f"--- the screen\n{self.screen}\n---")

    @property
    def pid(self) -> int:
        return self._pid

    # --- what a person does

    def type(self, text: str) -> None:
        """No finger is as quick as to make alt out of an escape before it."""
        while time.monotonic() < self._escaped + 2 * ESCAPE_WAIT_S:
            self.pump(0.01)
        os.write(self._fd, text.encode())

    def press(self, *names: str) -> None:
        for name in names:
            os.write(self._fd, KEYS.get(name, name).encode())
            self._escaped = time.monotonic() if name == "esc" else 0.0

    def paste(self, text: str) -> None:
        self.type(f"\x1b[200~{text}\x1b[201~")

    def submit(self, text: str) -> None:
        """Type it and press enter."""
        self.type(text)
        self.wait_for(text[-10:])
        self.press("enter")

    def resize(self, columns: int, rows: int) -> None:
        self.pump(0.01)
        self.columns, self.rows = columns, rows
        self._keep_cursor_in(rows)
        self._emulated.resize(rows, columns)
        self._set_size()

    def _keep_cursor_in(self, rows: int) -> None:
        """Resizes like terminals that cut rows: rows above the cursor without room scroll away, rows below are
        lost. The emulator alone takes rows from the top without moving the cursor.
        """
        screen = self._emulated
        if rows >= screen.lines:
            return
        row, column = screen.cursor.y, screen.cursor.x
        screen.cursor.y = screen.lines - 1
        for _ in range(max(row - rows + 1, 0)):
            screen.index()
        row = min(row, rows - 1)
        kept = {y: screen.buffer[y] for y in range(rows)}
        # It is about to drop as many rows from its top as the window loses.
        screen.buffer.clear()
        screen.buffer.update({y + screen.lines - rows: line for y, line in kept.items()})
        screen.cursor.y, screen.cursor.x = row, column

    def signal(self, number: int) -> None:
        os.kill(self._pid, number)

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._fd)

    # --- what a person sees

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._emulated.display)

    @property
    def history(self) -> list[str]:
        """Rows that scrolled off the top, oldest first."""
        columns = range(self._emulated.columns)
        return ["".join(line[x].data for x in columns).rstrip() for line in self._emulated.top]

    @property
    def everything(self) -> str:
        return "\n".join([*self.history, self.screen])

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column: of the terminal's own, or of the one that is drawn while that is parked."""
        if self.cursor_hidden:
            for y, x in itertools.product(range(self._emulated.lines), range(self._emulated.columns)):
                if self._emulated.buffer[y][x].reverse:
                    return y, x
        return self._emulated.cursor.y, self._emulated.cursor.x

    @property
    def cursor_hidden(self) -> bool:
        return bool(self._emulated.cursor.hidden)

    def row_of(self, text: str) -> int:
        """The first row of the screen with this text; -1 when there is none."""
        return next((y for y, line in enumerate(self._emulated.display) if text in line), -1)

    def cell(self, text: str, offset: int = 0) -> Any:
        """The cell where a text begins: ``.fg``, ``.bg``, ``.bold``, ``.reverse``."""
        y = self.row_of(text)
        assert y >= 0, f"{text!r} is not on the screen"
        return self._emulated.buffer[y][self._emulated.display[y].index(text) + offset]

    # --- waiting

    def wait_for(self, text: str, timeout: float = TIMEOUT) -> None:
        self.wait_until(lambda: text in self.screen, f"{text!r} to appear", timeout)

    def wait_gone(self, text: str, timeout: float = TIMEOUT) -> None:
        self.wait_until(lambda: text not in self.screen, f"{text!r} to disappear", timeout)

    def wait_until(self, holds: Callable[[], bool], what: str = "it", timeout: float = TIMEOUT) -> None:
        deadline = time.monotonic() + timeout
        while not holds():
            if time.monotonic() > deadline or not self.pump(0.05):
                assert holds(), f"waited for {what}; the screen:\n{self.screen}"
                return

    def wait_idle(self, quiet: float = 0.2, timeout: float = TIMEOUT) -> None:
        """Waits until nothing is written for a short time."""
        deadline, last = time.monotonic() + timeout, time.monotonic()
        while time.monotonic() - last < quiet and time.monotonic() < deadline:
            size = len(self.raw)
            self.pump(0.05)
            if len(self.raw) != size:
                last = time.monotonic()

    def wait_exit(self, timeout: float = TIMEOUT) -> int:
        """The exit code, negative for a signal."""
        deadline = time.monotonic() + timeout
        while self.exit_code is None:
            with contextlib.suppress(OSError):
                self.pump(0.05)
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, f"zot did not end; the screen:\n{self.screen}"
        with contextlib.suppress(OSError):
            while self.pump(0.05) and select.select([self._fd], [], [], 0)[0]:
                pass
        return self.exit_code

    def pump(self, seconds: float) -> bool:
        """Reads pending output; False when the other end is closed."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            self._show(_UNKNOWN.sub(b"", self._pending))
            self._pending = b""
            return False
        self.raw += data
        self._reply()
        shown, self._pending = _whole(self._pending + data)
        self._show(_UNKNOWN.sub(b"", shown))
        return bool(data)

    def _show(self, data: bytes) -> None:
        """Feeds the emulator, which has no alternate screen: the main screen is saved here."""
        for part in _ALTERNATE.split(data):
            if part == b"\x1b[?1049h":
                screen = self._emulated
                self._main = (copy.deepcopy(screen.buffer), screen.cursor.y, screen.cursor.x, screen.top.copy())
                self._stream.feed(b"\x1b[2J\x1b[H")
            elif part == b"\x1b[?1049l" and self._main is not None:
                buffer, row, column, top = self._main
                self._emulated.buffer.clear()
                self._emulated.buffer.update(buffer)
                self._emulated.top.clear()
                self._emulated.top.extend(top)
                self._emulated.forget()
                self._stream.feed(f"\x1b[{row + 1};{column + 1}H".encode())
                self._main = None
            else:
                self._stream.feed(part)

    def _reply(self) -> None:
        if self._answer and not self._asked and b"\x1b]11;?" in self.raw:
            self._asked = True
            os.write(self._fd, self._answer)

    def _set_size(self) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))


def _whole(data: bytes) -> tuple[bytes, bytes]:
    """The bytes a terminal would show now, and the rest: a cut sequence or an unfinished frame."""
    tail = _OPEN.search(data)
    cut = tail.start() if tail else len(data)
    begun = data.rfind(_FRAME_BEGINS, 0, cut)
    if begun >= 0 and data.find(_FRAME_ENDS, begun, cut) < 0:
        cut = begun
    return data[:cut], data[cut:]
