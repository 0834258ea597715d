"""Child process that exchanges JSON lines with zot: an extension or an MCP server.
Reading is fair: a callback handles lines for 0.1 ms, so that a flood slows down only its child. Writing never waits;
output is queued within limits. The process is over when it exits or its stdout ends, even if a grandchild holds the
pipe."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from zot.errors import ExtensionError
from zot.system.processes import ProcessTree, SandboxLauncher, spawn
from zot.wire import limits
from zot.wire.line_splitter import LineSplitter

_READ = 2 * 1024
_READ_LONG = 256 * 1024
_TURN_S = 0.0001
_LAST_READS = 256  # after the exit: what the pipe can still hold, with room to spare

_SOCKET_DEPTH = 64 * 1024

Receive = Callable[[bytes | None], None]


class JsonLineProcess:
    """``receive`` gets each line (None for one that was too long); ``over`` gets why it ended, "" for a plain end."""

    def __init__(
        self, tree: ProcessTree, stdin: int, stdout: int, receive: Receive, longest: int = limits.MAX_LINE
    ) -> None:
        self.tree = tree
        self._receive = receive
        self._stdout: int | None = stdout
        self._lines = LineSplitter(longest - 1)  # including the line feed
        self._backlog: deque[bytes | None] = deque()
        self._at_end = False
        self._continuing = False
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[str] = self._loop.create_future()
        self._writer = LineWriter(stdin, self.disconnect)
        os.set_blocking(stdout, False)
        self._loop.add_reader(stdout, self._readable)

    def send(self, line: bytes) -> bool:
        return self._writer.send(line)

    @property
    def is_backlogged(self) -> bool:
        return self._writer.is_backlogged

    def close_stdin(self) -> None:
        """Close its stdin after all queued output."""
        self._writer.finish()

    def disconnect(self, reason: str) -> None:
        """Close both pipes at once."""
        self._writer.close()
        self._backlog.clear()
        self._close_stdout()
        self._end(reason)

    async def watch_exit(self) -> None:
        """Wait for the exit, then read the rest and end, even if another process holds the pipe."""
        await self.tree.wait()
        for _ in range(_LAST_READS):
            if self._stdout is None or not self._read():
                break
            await asyncio.sleep(0)
        self._finish_reading()

    async def exit_code(self, seconds: float) -> int | None:
        """The exit code, if it arrives in time."""
        try:
            async with asyncio.timeout(seconds):
                return await self.tree.wait()
        except TimeoutError:
            return None

    async def stop(self, grace: float) -> None:
        """Close its stdin, wait half of ``grace``, then stop it and its descendants."""
        self.close_stdin()
        await self.exit_code(grace / 2)
        self.disconnect("")
        await self.tree.stop(grace)  # even if it exited: a launcher may have left a process

    is_final = False  # another start may work

    async def wait(self) -> object:
        return await self.tree.wait()

    async def terminate(self, grace: float) -> object:
        """SIGTERM, and SIGKILL after ``grace``."""
        return await self.tree.stop(grace)

    async def reap(self) -> None:
        """Kill the process and its descendants."""
        self.disconnect("")
        if self.tree.group_is_empty:
            self.tree.detach()
        else:
            await self.tree.stop(limits.TERMINATE_GRACE)

    # --- reading

    def _readable(self) -> None:
        self._read()

    def _read(self) -> bool:
        """One read; False if nothing is available."""
        assert self._stdout is not None
        try:
            data = os.read(self._stdout, _READ_LONG if self._lines.is_inside_a_long_line else _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._finish_reading()
            return False
        self._backlog.extend(self._lines.feed(data))
        self._handle()
        return True

    def _finish_reading(self) -> None:
        if not self._at_end:
            self._at_end = True
            self._close_stdout()
            if rest := self._lines.rest():
                self._backlog.append(rest)
            self._handle()

    def _handle(self) -> None:
        """Pass on lines for 0.1 ms; while some are left, no more are read."""
        stop = time.perf_counter() + _TURN_S
        while self._backlog:
            self._receive(self._backlog.popleft())
            if self._backlog and time.perf_counter() > stop:
                self._pause()
                return
        if self._at_end:
            self._end("")

    def _pause(self) -> None:
        if self._stdout is not None:
            self._loop.remove_reader(self._stdout)
        if not self._continuing:
            self._continuing = True
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._continuing = False
        self._handle()
        if not self._backlog and self._stdout is not None:
            self._loop.add_reader(self._stdout, self._readable)

    def _close_stdout(self) -> None:
        if self._stdout is not None:
            self._loop.remove_reader(self._stdout)
            os.close(self._stdout)
            self._stdout = None

    def _end(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_result(reason)


def start_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stderr: int,
    receive: Receive,
    private: bool,
    jail: SandboxLauncher | None = None,
    longest: int = limits.MAX_LINE,
) -> JsonLineProcess:
    """Start ``argv`` with streams for stdin and stdout; OSError if it cannot run. ``longest``: of a line from it."""
    if private:  # bash treats a socket on stdin as a network login and reads .bashrc, unless nested in a shell
        env = {"SHLVL": "1", **env}
    stdin_read, stdin_write = stream(private)
    stdout_read, stdout_write = stream(private)
    try:
        tree = spawn(argv, cwd=cwd, env=env, stdin=stdin_read, stdout=stdout_write, stderr=stderr, jail=jail)
    except BaseException:
        os.close(stdin_write)
        os.close(stdout_read)
        raise
    finally:
        os.close(stdin_read)
        os.close(stdout_write)
    return JsonLineProcess(tree, stdin_write, stdout_read, receive, longest)


def stream(private: bool) -> tuple[int, int]:
    """A one-way stream, read end and write end: a pipe, or an equally large socket pair.
    Processes of the same user can open pipes through ``/proc/PID/fd`` and write answers, but not sockets. Only guards
    get sockets, since a program cannot open ``/dev/stdin`` by name if it is a socket."""
    if not private:
        return os.pipe()
    read_end, write_end = socket.socketpair()
    read_end.shutdown(socket.SHUT_WR)
    write_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_DEPTH)
    return read_end.detach(), write_end.detach()


class LineWriter:
    """Frames to one child, in order. Owns ``fd``, its stdin, until closed.
    More than 256 frames or 16 MiB waiting, or one write stuck for 5 s, is a fault: the child is disconnected, so that
    no frames are lost silently."""

    def __init__(self, fd: int, on_fault: Callable[[str], None]) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._on_fault = on_fault
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._in_flight = memoryview(b"")
        self._deadline: asyncio.TimerHandle | None = None
        self._finishing = False

    def send(self, line: bytes) -> bool:
        """Write or queue one line; False if the child cannot receive it."""
        if self._fd is None or self._finishing:
            return False
        if not self._in_flight:
            return self._begin(line)
        if len(self._queue) >= limits.QUEUE_FRAMES or self._queued_bytes + len(line) > limits.QUEUE_BYTES:
            self._fault(f"does not read its stdin: {len(self._queue)} frames waiting")
            return False
        self._queue.append(line)
        self._queued_bytes += len(line)
        return True

    @property
    def is_backlogged(self) -> bool:
        """True while a line is not written yet."""
        return bool(self._in_flight)

    def finish(self) -> None:
        """Close after all queued output."""
        self._finishing = True
        if not self._in_flight:
            self.close()

    def close(self) -> None:
        """Close now; queued output is lost."""
        if self._fd is None:
            return
        self._stop_waiting()
        os.close(self._fd)
        self._fd = None
        self._queue.clear()
        self._in_flight = memoryview(b"")

    def _begin(self, line: bytes) -> bool:
        self._in_flight = memoryview(line)
        self._write()
        if self._fd is not None and self._in_flight:
            self._loop.add_writer(self._fd, self._writable)
            self._wait()
        return self._fd is not None

    def _writable(self) -> None:
        self._write()
        if self._fd is None or self._in_flight:
            return
        if self._queue:
            line = self._queue.popleft()
            self._queued_bytes -= len(line)
            self._in_flight = memoryview(line)
            self._wait()
        else:
            self._stop_waiting()
            if self._finishing:
                self.close()

    def _write(self) -> None:
        """One write call; nothing more after the child closed its stdin."""
        assert self._fd is not None
        try:
            self._in_flight = self._in_flight[os.write(self._fd, self._in_flight) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def _wait(self) -> None:
        """Restart the 5 s limit of the current frame."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._loop.call_later(limits.WRITE_DEADLINE, self._stuck)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._fd is not None:
            self._loop.remove_writer(self._fd)

    def _stuck(self) -> None:
        self._fault(f"did not read its stdin for {limits.WRITE_DEADLINE:g} s")

    def _fault(self, reason: str) -> None:
        self.close()
        self._on_fault(reason)


def resolve_exec(exec_: str, directory: Path, path_variable: str) -> str:
    """An absolute path stays; one with a separator is in ``directory``; a bare name is on PATH only."""
    if os.path.isabs(exec_):
        return exec_
    if exec_ in (".", "..") or "/" in exec_:
        return os.path.normpath(directory / exec_)
    return _on_path(exec_, path_variable)


def _on_path(name: str, path_variable: str) -> str:
    for folder in path_variable.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if not (os.path.isfile(candidate) and os.access(candidate, os.X_OK)):
            continue
        if not os.path.isabs(folder):
            raise ExtensionError(
                f'exec "{name}" is on PATH only through the relative entry "{folder}", which is not allowed'
            )
        return candidate
    raise ExtensionError(f'exec "{name}" was not found on PATH; for a file beside the manifest write "./{name}"')
