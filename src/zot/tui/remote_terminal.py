"""A terminal at the other end of a connection: its bytes are given and taken by the caller, who also knows its size."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping

from zot.tui.terminal import RESTORE_TITLE, Size, Terminal, limited_size


class RemoteTerminal(Terminal):
    """``send`` gets output. The program at the real terminal has put it into raw mode, and restores it."""

    is_here = False

    def __init__(self, environ: Mapping[str, str], size: Size, send: Callable[[bytes], None]) -> None:
        super().__init__(environ)
        self._size = limited_size(*size)
        self._send = send
        self._typed = bytearray()
        self._on_input: Callable[[], None] = lambda: None

    @contextlib.contextmanager
    def raw(self) -> Generator[Terminal]:
        yield self

    def enter(self) -> None: ...

    def leave(self) -> None:
        if self._titled:
            self.write(RESTORE_TITLE)
            self._titled = False

    def size(self) -> Size:
        return self._size

    def resize(self, columns: int, rows: int) -> None:
        self._size = limited_size(columns, rows)

    # --- reading

    def listen(self, on_input: Callable[[], None]) -> None:
        self._on_input = on_input

    def stop_listening(self) -> None:
        self._on_input = lambda: None

    def type(self, data: bytes) -> None:
        """Input of the user has arrived."""
        self._typed += data
        self._on_input()

    def read(self) -> bytes:
        data = bytes(self._typed)
        self._typed.clear()
        return data

    # --- writing

    def output(self, data: bytes) -> None:
        if data and not self.closed:
            self._send(data)
