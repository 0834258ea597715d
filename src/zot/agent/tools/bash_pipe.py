"""The reading end of a command's output: bytes go to the capture as they come, text to the live progress.

Reading happens in the event loop's own reader callbacks, one bounded read at a time, so a flood cannot starve the
loop. Below the capture's cap all text is passed on; beyond it progress is thinned to the latest piece, because
nobody can follow and a queue of it would only grow.
"""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable

from zot.agent.tools.bash_output import OutputCapture
from zot.agent.tools.utf8 import from_character

PROGRESS_BYTES = 4096
_READ_BYTES = 65536
_THINNED_PAUSE = 0.05
_LAST_READS = 64  # after a kill: what the pipe can still hold, with room to spare


class OutputPipe:
    """Owns the descriptor ``fd`` until the last writer closed it or ``close`` is called."""

    def __init__(self, fd: int, capture: OutputCapture, progress: Callable[[str], None]) -> None:
        self._fd: int | None = fd
        self._capture = capture
        self._progress: Callable[[str], None] | None = progress
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._next_thinned = 0.0
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read)

    @property
    def ended(self) -> bool:
        """True once no process holds the writing end any more."""
        return self._fd is None

    async def wait(self, seconds: float) -> None:
        """Until the end, or ``seconds`` later."""
        if not self.ended:
            await asyncio.wait([self._ended], timeout=seconds)

    def detach(self) -> None:
        """Keep reading for children left behind, so that they do not block or break; nobody watches any more."""
        self._say(final=True)
        self._progress = None

    def close(self) -> None:
        """Take what is already there and let go."""
        for _ in range(_LAST_READS):
            if self.ended or not self._read():
                break
        self._finish()

    def _read(self) -> bool:
        if self._fd is None:
            return False
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._finish()
            return False
        self._capture.feed(data)
        if self._progress is not None:
            self._tell(data)
        return True

    def _tell(self, data: bytes) -> None:
        if self._capture.truncated:
            now = self._loop.time()
            if now < self._next_thinned:
                return
            self._next_thinned = now + _THINNED_PAUSE
            self._decoder.reset()
            data = from_character(data[-PROGRESS_BYTES:])
        self._say(data)

    def _say(self, data: bytes = b"", *, final: bool = False) -> None:
        text = self._decoder.decode(data, final).replace("\0", "")
        size = PROGRESS_BYTES if text.isascii() else PROGRESS_BYTES // 4  # at most four bytes a character
        for start in range(0, len(text), size):
            if self._progress is not None:
                self._progress(text[start : start + size])

    def _finish(self) -> None:
        if self._fd is None:
            return
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = None
        self._say(final=True)
        if self._capture.spool is not None:
            self._capture.spool.close()
        if not self._ended.done():
            self._ended.set_result(None)
