"""Answers leading plain pings while the rest of zot is imported; other lines wait for the server.
Imports only small built-in modules."""

from __future__ import annotations

import _thread
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # `signal` itself imports `enum`, which takes longer than the first answer

TOKEN_VARIABLE = "ZOTCORE_RPC_TOKEN"
_MAX_PING = 1024  # so that an answer fits into a writable pipe without blocking


class EarlyPingServer:
    """``token`` is removed from the environment, so that no child process inherits it.
    After ``close``: ``unread`` has the unanswered bytes, ``at_end`` whether input ended, ``answered`` the number of
    pings."""

    def __init__(self, stdin: int = 0, stdout: int = 1) -> None:
        self.token = os.environ.pop(TOKEN_VARIABLE, "")
        self.unread = b""
        self.at_end = False
        self.answered = 0
        self._stdin = stdin
        self._stdout = stdout
        self._over = _thread.allocate_lock()  # locked while the thread works
        self._woken, self._wake = os.pipe()

    def open(self) -> None:
        """Answer waiting pings, then continue in the background."""
        if not self.token and self._serve(0):
            self._over.acquire()
            _thread.start_new_thread(self._serve_in_background, ())

    def close(self) -> None:
        """Stop; from here on the caller reads input."""
        os.write(self._wake, b"!")
        with self._over:
            os.close(self._woken)
            os.close(self._wake)

    def _serve_in_background(self) -> None:
        try:
            self._serve(None)
        finally:
            self._over.release()

    def _serve(self, patience_ms: int | None) -> bool:
        """Answer pings until there is no input for ``seconds``; true if more may come."""
        poll = select.poll()
        poll.register(self._stdin, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll(patience_ms)]
            if self._woken in ready or not ready:
                return not ready
            if not self._read() or not self._answer():
                return False

    def _read(self) -> bool:
        try:
            data = os.read(self._stdin, 4096)
        except BlockingIOError:
            return True
        except OSError:
            return False  # the server reads again and reports it
        self.unread += data
        self.at_end = not data
        return bool(data)

    def _answer(self) -> bool:
        """Answer whole lines; False at the first that is not a plain ping, or cannot be answered now."""
        while b"\n" in self.unread:
            line, _, rest = self.unread.partition(b"\n")
            pong = ping_reply(line)
            if pong is None or not self._write(pong):
                return False
            self.unread = rest
            self.answered += bool(pong)
        return len(self.unread) <= _MAX_PING

    def _write(self, data: bytes) -> bool:
        """A blocked pipe is left to the server."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLOUT)
        if not any(event & select.POLLOUT for _, event in poll.poll(0)):
            return False
        try:
            while data:
                data = data[os.write(self._stdout, data) :]
        except OSError:
            return False
        return True


def exit_on_signal() -> None:
    """Until the server has its handlers: exit with the signal's code.
    At once: an exception during an import beside this thread has crashed the interpreter."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


def _leave(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


def ping_reply(line: bytes) -> bytes | None:
    """The answer to a plain ping, nothing for a blank line, None for every other line.
    A plain ping is an object with ``type`` and perhaps ``id``, in printable ASCII without escapes."""
    text = line.strip()
    if not text:
        return b""
    if len(text) > _MAX_PING or b"\\" in text or not text.isascii() or not text.decode().isprintable():
        return None
    parts = text.split(b'"')
    structure, words = [part.strip() for part in parts[::2]], parts[1::2]
    if structure == [b"{", b":", b"}"] and words == [b"type", b"ping"]:
        return _pong(b"")
    if structure != [b"{", b":", b",", b":", b"}"]:
        return None
    fields = {words[0]: words[1], words[2]: words[3]}
    if set(fields) != {b"type", b"id"} or fields[b"type"] != b"ping":
        return None
    return _pong(b'"id":"%b",' % fields[b"id"] if fields[b"id"] else b"")


def _pong(id: bytes) -> bytes:
    return b'{"type":"response",%b"command":"ping","success":true,"data":{"pong":true}}\n' % id
