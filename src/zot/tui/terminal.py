"""The terminal device: raw mode, size, capabilities; its state is restored on exit.
Writes never block: pending output is buffered, and ``congested`` makes painters skip frames."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import termios
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal, NamedTuple

from zot.tui.sanitize import one_line

# Focus reports, bracketed paste, kitty keyboard, modifyOtherKeys for xterm (a terminal that reads it as a style gets a
# reset).
ENTER = "\x1b[?1004h\x1b[?2004h\x1b[>1u\x1b[>4;1m\x1b[0m"
LEAVE = "\x1b[?2026l\x1b[0m\x1b[>4;0m\x1b[0m\x1b[<u\x1b[?2004l\x1b[?1004l\x1b[?25h"
SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"
ASK_BACKGROUND = "\x1b]11;?\x1b\\"
_ASK_ROW = "\x1b[6n"  # of the cursor
_ASK_KIND = "\x1b[>0q\x1b[>c\x1b[c"  # name and version, device number, and a query that every terminal answers
_XTERM_JS = "[>0;276;0c"  # its device number; it tells its name since 6.1

_CURSOR = re.compile(r"\[(\d{1,4});\d{1,4}R")
_LARGEST = (1000, 500)
_FLUSH_S = 1.0
_LARGEST_COPY = 1_000_000  # characters of base64


Bell = Literal["on", "quiet", "off"]  # quiet: desktop notification without sound


class Size(NamedTuple):
    columns: int
    rows: int


def limited_size(columns: int, rows: int) -> Size:
    if columns <= 0 or rows <= 0:
        return Size(80, 24)
    return Size(min(columns, _LARGEST[0]), min(rows, _LARGEST[1]))


class Terminal:
    """``enter`` and ``leave`` may be called again, as suspending does; ``leave`` never raises."""

    is_here = True  # programs and signals of this process reach it

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ
        self.term = environ.get("TERM", "")
        self.multiplexed = bool(environ.get("TMUX") or environ.get("STY")) or self.term.startswith(("screen", "tmux"))
        # True if the terminal re-wraps rows in a narrower window. Those that do answer the query; a terminal
        # without an answer is not complete and does not.
        self._crops = bool(environ.get("XTERM_VERSION") or environ.get("STY") or self.term == "linux")
        self.reflows = not self._crops and bool(environ.get("TMUX") or self.term.startswith("tmux"))
        self.shifts_cursor = False  # the re-wrapping of rows below the cursor moves it down (xterm.js)
        self.hyperlinks = _links(environ, self.term)
        self.on_closed: Callable[[], None] = lambda: None
        self.closed = False
        self.bell: Bell = "on"
        self._in, self._out, self._own = 0, 1, False
        self._modes: list[Any] | None = None
        self._waiting = bytearray()
        self._loop: Any = None
        self._titled = False
        self._notification = _notification(environ, self.term)
        self.first_row = 0  # of the cursor at the start, from 1; 0: the terminal has not answered
        self.focused = True  # until the terminal reports that it is not

    # --- entering and leaving

    @contextlib.contextmanager
    def raw(self) -> Generator[Terminal]:
        """Raw mode inside the block; always restores the previous state."""
        with contextlib.suppress(OSError):  # a new open file description: the shell's stays blocking
            self._out = os.open(os.ttyname(1), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._own = True
        try:
            self.enter()
            yield self
        finally:
            self.leave()
            if self._own:
                os.close(self._out)
            self._out, self._own = 1, False

    def enter(self) -> None:
        with contextlib.suppress(termios.error, OSError):
            # Continued without ``leave``: the current state is ours, not the original one.
            modes = self._modes if self._modes is not None else termios.tcgetattr(self._in)
            self._modes = modes
            iflag, oflag, cflag, lflag, ispeed, ospeed, cc = modes
            iflag &= ~(termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP)
            iflag &= ~(termios.INLCR | termios.IGNCR | termios.ICRNL | termios.IXON)
            lflag &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
            cflag = cflag & ~(termios.CSIZE | termios.PARENB) | termios.CS8
            cc = list(cc)
            cc[termios.VMIN], cc[termios.VTIME] = 1, 0
            termios.tcsetattr(self._in, termios.TCSADRAIN, [iflag, oflag, cflag, lflag, ispeed, ospeed, cc])
        self.write(ENTER)

    def leave(self) -> None:
        """Restore the terminal."""
        self.write(LEAVE + (RESTORE_TITLE if self._titled else ""))
        self._titled = False
        deadline = time.monotonic() + _FLUSH_S  # a stopped terminal must not delay the exit
        while self._waiting and not self.closed and time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):
                select.select([], [self._out], [], 0.1)
            self._drain()
        if self._loop is not None:
            self._loop.remove_writer(self._out)
        if self._modes is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._in, termios.TCSADRAIN, self._modes)
            self._modes = None

    def title(self, text: str) -> None:
        """Set the window title; the previous one is restored at the end."""
        self.write(f"{'' if self._titled else SAVE_TITLE}\x1b]2;{one_line(text)}\x07")
        self._titled = True

    def alert(self, text: str) -> None:
        """Ring, and notify the desktop if the terminal can, as ``bell`` allows."""
        notification = self._notification.format(one_line(text)) if self.bell != "off" else ""
        self.write(notification + ("\x07" if self.bell == "on" else ""))

    def copy(self, text: str) -> bool:
        """Set the terminal's clipboard (OSC 52); False if it is known to ignore that. There is no reply."""
        from base64 import b64encode

        data = b64encode(text.encode("utf-8", "replace")).decode()
        if self.term in ("linux", "dumb", "") or len(data) > _LARGEST_COPY:
            return False
        self.write(f"\x1b]52;c;{data}\x07")
        return True

    # --- reading

    def listen(self, on_input: Callable[[], None]) -> None:
        """Call ``on_input`` whenever ``read`` returns something."""
        asyncio.get_running_loop().add_reader(self._in, on_input)

    def stop_listening(self) -> None:
        asyncio.get_running_loop().remove_reader(self._in)

    def ask(self) -> None:
        """Queries whose answers arrive among the keys: row of the cursor, background, kind of terminal."""
        self.write(_ASK_ROW + ASK_BACKGROUND + ("" if self.term == "linux" else _ASK_KIND))

    def replied(self, body: str) -> None:
        """An answer of the terminal to a query."""
        if body in ("[I", "[O"):
            self.focused = body == "[I"
        elif found := _CURSOR.fullmatch(body):
            self.first_row = self.first_row or int(found[1])
        elif body.startswith("P>|"):
            self._crops = self._crops or body.startswith("P>|XTerm(")
            self.shifts_cursor = body.startswith("P>|xterm.js(")
            self.reflows = not self._crops
        elif body == _XTERM_JS:
            self.shifts_cursor = True
        elif body.startswith("[?") and body.endswith("c"):
            self.reflows = not self._crops and (self.reflows or not self.term.startswith("screen"))

    def size(self) -> Size:
        """Columns and rows; 80 by 24 if unknown, never absurdly large."""
        try:
            columns, rows = os.get_terminal_size(self._out)
        except OSError:
            columns, rows = 0, 0
        return limited_size(columns, rows)

    def read(self) -> bytes:
        """Typed input; empty if none, or if the terminal was closed."""
        try:
            if not select.select([self._in], [], [], 0)[0]:  # another process read it
                return b""
            data = os.read(self._in, 1 << 16)
        except InterruptedError:
            return b""
        except (OSError, ValueError):
            data = b""
        if not data:
            self._gone()
        return data

    # --- writing

    @property
    def congested(self) -> bool:
        return bool(self._waiting)

    def attach(self, loop: Any) -> None:
        """Let an event loop write the pending output."""
        self._loop = loop

    def write(self, text: str) -> None:
        self.output(text.encode("utf-8", "replace"))

    def output(self, data: bytes) -> None:
        if data and not self.closed:
            self._waiting += data
            self._drain()

    def _drain(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._out, bytes(self._waiting[: 1 << 16]))]
        except BlockingIOError:
            if self._loop is not None:
                self._loop.add_writer(self._out, self._drain)
            return
        except OSError:
            self._gone()
        if self._loop is not None:
            self._loop.remove_writer(self._out)

    def _gone(self) -> None:
        self._waiting.clear()
        if not self.closed:
            self.closed = True
            self.on_closed()


class _Notifier(NamedTuple):
    """Terminals that show a desktop notification for a sequence with ``{}`` for its text; others ignore it."""

    sequence: str
    programs: frozenset[str]  # values of TERM_PROGRAM and LC_TERMINAL
    variables: tuple[str, ...]  # tmux leaves them set
    terms: tuple[str, ...]


_NOTIFIERS = (
    _Notifier(
        "\x1b]9;{}\x07",
        frozenset(("iTerm.app", "iTerm2", "WezTerm", "ghostty", "WarpTerminal", "zed")),
        ("WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR"),
        ("xterm-ghostty",),
    ),
    _Notifier("\x1b]99;;{}\x1b\\", frozenset(("vscode",)), ("KITTY_WINDOW_ID",), ("xterm-kitty",)),
    _Notifier("\x1b]777;notify;zot;{}\x07", frozenset(), ("WT_SESSION",), ("foot", "rxvt")),
)


def _notification(environ: Mapping[str, str], term: str) -> str:
    """The sequence for a desktop notification with ``{}`` for its text; empty if the terminal has none.
    tmux passes it on with ``allow-passthrough``, and otherwise ignores it."""
    names = {environ.get("TERM_PROGRAM"), environ.get("LC_TERMINAL")}
    for sequence, programs, variables, terms in _NOTIFIERS:
        if names & programs or any(environ.get(name) for name in variables) or term.startswith(terms):
            in_tmux = environ.get("TMUX") or term.startswith("tmux")
            return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\" if in_tmux else sequence
    return ""


def _links(environ: Mapping[str, str], term: str) -> bool:
    """True if OSC 8 links are supported; others would hide the address."""
    if term in ("linux", "dumb", "") or environ.get("TERM_PROGRAM") == "Apple_Terminal" or environ.get("STY"):
        return False
    if not environ.get("TMUX"):
        return True
    version = environ.get("TERM_PROGRAM_VERSION", "") if environ.get("TERM_PROGRAM") == "tmux" else ""
    return tuple(map(int, re.findall(r"\d+", version))) >= (3, 4)  # tmux drops them before 3.4
