"""Captures a command's output in bounded memory: head and tail, and above the cap a private file with everything.
A redrawn line (a progress bar) is stored in its last state; a named file is deleted after a week."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.tools.truncate import MAX_BYTES, MAX_LINES, from_character, truncate_utf8

if TYPE_CHECKING:
    from zot.system.temp_files import PendingFile

HEAD_SHARE = 0.4
SPOOL_CAP = 100 * 1024 * 1024
PROGRESS_BYTES = 4096

_HEAD_BYTES, _HEAD_LINES = int(MAX_BYTES * HEAD_SHARE), int(MAX_LINES * HEAD_SHARE)
_TAIL_BYTES, _TAIL_LINES = MAX_BYTES - _HEAD_BYTES, MAX_LINES - _HEAD_LINES
_NEAR = 4096  # a cut moves to the end of a line within this many bytes
_READ_BYTES = 65536
_LONGEST_REDRAWN = 4096  # bytes of a line that may still be redrawn; a longer one is no progress bar
_THINNED_PAUSE = 0.05
_LAST_READS = 64  # after a kill: more than a pipe can contain


class OutputPipe:
    """The reading end: owns ``fd`` until the last writer has closed it or ``close`` is called.
    It reads in the event loop's reader callbacks, one bounded read at a time, so that a flood cannot block the loop.
    Below the capture's cap all text goes to ``progress``; above it only the latest piece at intervals, to bound the
    queue."""

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
        """True when no process has the writing end open."""
        return self._fd is None

    async def wait(self, seconds: float) -> None:
        """Wait until the end, or ``seconds``."""
        if not self.ended:
            await asyncio.wait([self._ended], timeout=seconds)

    def detach(self) -> None:
        """Keep reading for background children, so that they do not block or fail."""
        self._emit_progress(final=True)
        self._progress = None

    def close(self) -> None:
        """Read the available output, then close."""
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
            self._report_progress(data)
        return True

    def _report_progress(self, data: bytes) -> None:
        if self._capture.truncated:
            now = self._loop.time()
            if now < self._next_thinned:
                return
            self._next_thinned = now + _THINNED_PAUSE
            self._decoder.reset()
            data = from_character(data[-PROGRESS_BYTES:])
        self._emit_progress(data)

    def _emit_progress(self, data: bytes = b"", *, final: bool = False) -> None:
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
        self._emit_progress(final=True)
        if self._capture.spool is not None:
            self._capture.spool.end()
        if not self._ended.done():
            self._ended.set_result(None)


class CarriageReturnFilter:
    """Removes text overwritten by carriage returns; CRLF stays. ``line`` has not ended yet."""

    def __init__(self) -> None:
        self.line = b""

    def feed(self, data: bytes) -> bytes:
        """Bytes that can no longer be overwritten."""
        if b"\r" not in data and b"\r" not in self.line:
            whole, newline, self.line = (self.line + data).rpartition(b"\n")
            return self._bounded(whole + newline)
        *lines, last = (self.line + data).split(b"\n")
        self.line = _last_drawn(last)
        return self._bounded(b"".join(_last_drawn(line) + b"\n" for line in lines))

    def _bounded(self, done: bytes) -> bytes:
        """Bound the length of an unfinished line."""
        if len(self.line) <= _LONGEST_REDRAWN:
            return done
        return done + self.rest()

    def rest(self) -> bytes:
        """The unfinished line."""
        rest, self.line = self.line, b""
        return rest


def _last_drawn(line: bytes) -> bytes:
    if b"\r" not in line:
        return line
    drawn = line.rstrip(b"\r")
    return drawn.rpartition(b"\r")[2] + line[len(drawn) :]


class OutputCapture:
    """Collects the output of one command; ``text`` is for the model. ``tap`` also gets everything, if set."""

    def __init__(self) -> None:
        self.tap: Callable[[bytes], None] | None = None
        self.spool: Spool | None = None
        self._raw = bytearray()  # everything, until there is a file
        self._redrawn = CarriageReturnFilter()
        self.total_bytes = 0
        self._newlines = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._overflowed = False

    @property
    def lines_truncated(self) -> bool:
        last = self._redrawn.line or self._tail or self._head
        return self._newlines + (bool(last) and not last.endswith(b"\n")) > MAX_LINES

    @property
    def bytes_truncated(self) -> bool:
        return self.total_bytes > MAX_BYTES

    @property
    def truncated(self) -> bool:
        return self._overflowed

    def feed(self, data: bytes) -> None:
        if self.tap is not None:
            self.tap(data)
        if self.spool is not None:
            self.spool.write(data)
        else:
            self._raw += data
            if len(self._raw) > MAX_BYTES:
                self.open_spool()
        self._keep(self._redrawn.feed(data))

    def _keep(self, data: bytes) -> None:
        self.total_bytes += len(data)
        self._newlines += data.count(b"\n")
        if self._overflowed:
            self._tail += data
            if len(self._tail) > 4 * _TAIL_BYTES:
                del self._tail[:-_TAIL_BYTES]
            return
        self._head += data
        if self.bytes_truncated or self.lines_truncated:
            self.open_spool()
            self._overflowed = True
            kept = _first_part(bytes(self._head))
            self._tail = self._head[len(kept) :]
            self._head = bytearray(kept)

    def open_spool(self) -> Spool:
        """Create the file with everything so far; later output is appended."""
        if self.spool is None:
            self.spool = Spool()
            self.spool.write(self._raw)
            self._raw.clear()
        return self.spool

    def discard_spool(self) -> None:
        """End of the call: delete a file that was not named."""
        if self.spool is not None and not self.spool.is_named:
            self.spool.close()

    def text(self) -> str:
        """The output, newline-terminated, with a marker for omitted text and one note per cap; or empty."""
        self._keep(self._redrawn.rest())
        if not self._overflowed:
            return _decoded(self._head)
        head = bytes(self._head)
        tail = _last_part(bytes(self._tail[-_TAIL_BYTES:]), whole=len(self._tail) <= _TAIL_BYTES)
        lines = self._newlines - head.count(b"\n") - tail.count(b"\n")
        missing = self.total_bytes - len(head) - len(tail)
        marker = f"... [{f'{lines} lines, ' if lines else ''}{missing} bytes omitted]\n" if missing else ""
        notes = f"... [truncated at {MAX_LINES} lines]\n" if self.lines_truncated else ""
        notes += f"... [truncated at {MAX_BYTES} bytes]\n" if self.bytes_truncated else ""
        return _decoded(head) + marker + _decoded(tail) + notes


def _first_part(data: bytes) -> bytes:
    """At most the head's share, up to a line end if one is near."""
    parts = data[:_HEAD_BYTES].split(b"\n", _HEAD_LINES)
    if len(parts) > _HEAD_LINES:
        return b"\n".join(parts[:_HEAD_LINES]) + b"\n"
    head = data[:_HEAD_BYTES]
    end = head.rfind(b"\n") + 1
    return head[:end] if end and len(head) - end <= _NEAR else truncate_utf8(head)


def _last_part(data: bytes, *, whole: bool) -> bytes:
    """At most the tail's share of lines, from a line start if one is near; ``whole`` if untruncated."""
    parts = data.removesuffix(b"\n").rsplit(b"\n", _TAIL_LINES)
    if len(parts) > _TAIL_LINES:
        return data[len(parts[0]) + 1 :]
    if whole:
        return data
    start = data.find(b"\n", 0, _NEAR) + 1
    return data[start:] if start else from_character(data)


def _decoded(data: bytes | bytearray) -> str:
    text = data.decode("utf-8", "replace").replace("\0", "")
    return text if not text or text.endswith("\n") else f"{text}\n"


class Spool:
    """The full output in a private file; a full disk or the cap ends the file, never the command.
    It is deleted on close unless ``named`` was called."""

    def __init__(self) -> None:
        self.size = 0
        self.trouble = ""
        self._open = True  # more may be written
        self.is_named = False
        self._file: PendingFile | None = None
        self._path = Path(os.environ.get("TMPDIR") or "/tmp") / f"zot-bash-{os.urandom(6).hex()}.log"
        from zot.system.temp_files import PendingFile, user_temp_dir  # most outputs are short

        with suppress(OSError):  # another user owns that directory: this file is not cleaned up
            self._path = user_temp_dir() / self._path.name
        try:
            self._file = PendingFile(self._path)
        except OSError as error:
            self._stop(f"it could not be created: {error.strerror}")

    def named(self) -> Path:
        """The path of the output, from now on kept."""
        if self._file is not None and not self.is_named:
            try:
                self._file.commit(replace=False)
                self.is_named = True
            except OSError as error:
                self._stop(f"it could not be created: {error.strerror}")
            if not self._open:
                self.close()
        return self._path

    def write(self, data: bytes | bytearray) -> None:
        if self._file is None or not self._open:
            return
        room = SPOOL_CAP - self.size
        try:
            self.size += os.write(self._file.fd, data[:room])
        except OSError as error:
            self._stop(f"writing to it failed: {error.strerror}")
        if len(data) > room:
            self._stop(f"only the first {SPOOL_CAP // (1024 * 1024)} MB were kept")

    def end(self) -> None:
        """End of the output; the file may still be named."""
        self._open = False
        if self.is_named:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _stop(self, why: str) -> None:
        self.trouble = self.trouble or why
        self.end()
