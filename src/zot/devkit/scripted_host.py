"""A host played by script: starts an extension as the real host does and exchanges exact bytes with it."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot import __version__
from zot.agent.settings import Settings
from zot.agent.tools.workspace import Workspace
from zot.devkit.conformance.frame_transcript import Asking, FrameTranscript, Question, TranscriptLine
from zot.errors import ExtensionError
from zot.features.child_process import stream
from zot.features.extensions.loader.manifest import Manifest
from zot.features.stderr_pipe import StderrPipe
from zot.provider.catalog import Catalog
from zot.provider.providers import credential_variables
from zot.system.files import zot_home
from zot.system.process_table import command_of
from zot.system.processes import ProcessTree, spawn
from zot.system.safe_open import open_to_append
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import PROTOCOL_VERSION, Frame, Hello, HelloAck, Ready, Shutdown
from zot.wire.limits import EXIT_AFTER_EOF, IDLE_READY, MAX_LINE, SHUTDOWN_TOTAL, TERMINATE_GRACE
from zot.wire.line_splitter import LineSplitter

if TYPE_CHECKING:
    from zot.system.jail.jail import Jail

MOST_LINES = 20_000  # lines of one run

_READ = 256 * 1024
_SETTLED = 0.12  # silence after which nothing more is expected
_SETTLE_AT_MOST = 2.0
_TAKEN_WITHIN = 0.3
_STALE = 0.5
_LOOK_AGAIN = 0.001

Listener = Callable[[TranscriptLine], None]


class RunPaths(msgspec.Struct, frozen=True):
    """Directories of a run: project, data and log."""

    cwd: Path
    data: Path
    log: Path

    @classmethod
    def below(cls, folder: Path) -> RunPaths:
        """New directories below ``folder``."""
        place = cls(folder / "project", folder / "data", folder / "log")
        for directory in (place.cwd, place.data):
            directory.mkdir(parents=True, exist_ok=True)
        return place


class ScriptedHost:
    """One running child. ``listeners`` receive each line, sent or received."""

    def __init__(
        self,
        tree: ProcessTree,
        stdin: int,
        stdout: int,
        manifest: Manifest,
        place: RunPaths,
        label: str,
        stderr: StderrPipe,
        jail: Jail | None = None,
    ) -> None:
        self.jail = jail
        self.manifest = manifest
        self.place = place
        self.transcript = FrameTranscript(label)
        self.listeners: list[Listener] = []
        self.started = time.monotonic()
        self.exit_code: int | None = None
        self.stdout_closed = False
        self.flooded = False  # it sent too many lines; the rest is ignored
        self.stderr = stderr
        self._tree = tree
        self._stdout = stdout
        self._stdin = stdin
        self._outbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._lines = LineSplitter(MAX_LINE - 1)  # the line feed counts
        self.last_read = 0.0
        self._count = 0
        self._news = asyncio.Event()

    # --- sending

    def send(self, frame: Frame, **extra: object) -> None:
        """One frame in one write; ``extra`` keys are unknown to the child."""
        data = encode(frame)
        if extra:
            data = msgspec.json.encode({**msgspec.json.decode(data, type=dict[str, object]), **extra}) + b"\n"
        self.send_bytes(data)

    def send_bytes(self, data: bytes) -> None:
        """Whole lines in one write."""
        self._keep(data)
        self._outbox.put_nowait(data)

    async def send_slowly(self, line: bytes) -> None:
        """Sends byte by byte, each after the child has read the last one or a timeout."""
        self._keep(line)
        for byte in line:
            self._outbox.put_nowait(bytes([byte]))
            waited = 0.0
            while self.alive and (not self._outbox.empty() or self._unread()) and waited < _TAKEN_WITHIN:
                await asyncio.sleep(_LOOK_AGAIN)
                waited += _LOOK_AGAIN

    def _unread(self) -> int:
        """Bytes in the pipe that the child has not read yet."""
        import fcntl  # only used here, with termios
        import termios

        if self._stdin >= 0:
            with suppress(OSError):  # not supported: send bytes one by one
                return int.from_bytes(fcntl.ioctl(self._stdin, termios.FIONREAD, b"\0" * 4), sys.byteorder)
        return 0

    def _keep(self, data: bytes) -> None:
        for line in data.splitlines(keepends=True):
            self.transcript.sent(time.monotonic(), line)
            self._report(self.transcript.lines[-1])

    def ask(self, frame: Asking, **extra: object) -> Question:
        question = self.note_question(frame)
        self.send(frame, **extra)
        return question

    def note_question(self, frame: Asking) -> Question:
        """Registers a request whose frame is sent separately."""
        return self.transcript.ask(time.monotonic(), frame)

    def close_stdin(self) -> None:
        self.transcript.ending = True
        self._outbox.put_nowait(None)

    # --- waiting

    @property
    def alive(self) -> bool:
        return self.exit_code is None and not self.stdout_closed

    @property
    def unfinished(self) -> bytes:
        """Pending output without a line feed; empty while more arrives."""
        return self._lines.unfinished if time.monotonic() - self.last_read > _STALE else b""

    async def until(self, happened: Callable[[], bool], within: float | None) -> bool:
        """Whether it happened in time; stops waiting if the child ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not happened() and self.alive:
                    await self._news.wait()
        return happened()

    async def answer(self, question: Question, within: float) -> bool:
        """Whether a valid one arrived."""
        await self.until(lambda: question.is_settled, within)
        return question.answer is not None

    async def fate(self) -> None:
        """After the end of stdout, waits briefly for the exit status."""
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_AFTER_EOF):
                while self.stdout_closed and self.exit_code is None:
                    await self._news.wait()

    async def settle(self) -> None:
        """Waits until output stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_AT_MOST):
                while self.alive and await self._more(_SETTLED):
                    pass

    async def _more(self, within: float) -> bool:
        seen = len(self.transcript.lines)
        return await self.until(lambda: len(self.transcript.lines) > seen, within)

    # --- the steps of a run

    async def hello(self, within: float) -> Hello | None:
        await self.until(lambda: bool(self.transcript.frames(Hello)), within)
        found = self.transcript.frames(Hello)
        return found[0] if found and isinstance(found[0], Hello) else None

    def acknowledge(self, capabilities: tuple[str, ...] = (), **extra: object) -> None:
        self.send(
            HelloAck(
                protocol_version=PROTOCOL_VERSION,
                capabilities=capabilities,
                zot_version=__version__,
                provider="anthropic",
                model="claude-sonnet-5-5",
                cwd=str(self.place.cwd),
                extension_dir=str(self.manifest.directory),
                data_dir=str(self.place.data),
            ),
            **extra,
        )

    async def registered(self, within: float) -> bool:
        """Waits for ``ready`` or the silence accepted instead; True for a real ``ready``."""

        def ready() -> bool:
            return bool(self.transcript.frames(Ready))

        deadline = time.monotonic() + within
        while not ready() and self.alive and time.monotonic() < deadline:
            seen = len(self.transcript.received)
            await self.until(ready, IDLE_READY)
            if len(self.transcript.received) == seen:
                break
        return ready()

    async def handshake(self, within: float, capabilities: tuple[str, ...] = (), **extra: object) -> Hello | None:
        hello = await self.hello(within)
        if hello is not None:
            self.acknowledge(capabilities, **extra)
            await self.registered(within)
        return hello

    async def end(self, *, shutdown: bool = True) -> float | None:
        """Ends it by ``shutdown`` and the end of input, or by that alone; seconds taken, None if too long."""
        began = time.monotonic()
        self.transcript.ending = True
        if shutdown:
            self.send(Shutdown())
        self.close_stdin()
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_TOTAL):
                while self.exit_code is None:
                    await self._news.wait()
        return None if self.exit_code is None else time.monotonic() - began

    def left_behind(self) -> list[str]:
        """Processes of its tree that are still running."""
        return [f"{process.pid} {command_of(process)}" for process in self._tree.members()]

    # --- the loop's callbacks

    async def run(self) -> None:
        """Transfers bytes and detects the end, until cancelled."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._stdout, self._readable)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._write_all())
                tasks.create_task(self._watch_exit())
        finally:
            loop.remove_reader(self._stdout)
            os.close(self._stdout)
            self._close_fd()
            await self._tree.stop(TERMINATE_GRACE)

    async def _write_all(self) -> None:
        while (piece := await self._outbox.get()) is not None:
            rest = memoryview(piece)
            while rest and self._stdin >= 0:
                rest = rest[await self._write(rest) :]
            await asyncio.sleep(0)
        self._close_fd()

    async def _write(self, data: memoryview) -> int:
        """One write; dropped if the child closed its stdin."""
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            loop = asyncio.get_running_loop()
            writable: asyncio.Future[None] = loop.create_future()
            loop.add_writer(self._stdin, lambda: writable.done() or writable.set_result(None))
            try:
                await writable
            finally:
                loop.remove_writer(self._stdin)
            return 0
        except OSError:
            return len(data)

    def _close_fd(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    async def _watch_exit(self) -> None:
        code = await self._tree.wait()
        while self._read():
            pass  # the rest in the pipe
        self.stderr.drain()
        if rest := self._lines.rest():
            self._take([rest], complete=False)
        self.exit_code = code
        self.wake()

    def _readable(self) -> None:
        if not self._read() and self.stdout_closed:
            asyncio.get_running_loop().remove_reader(self._stdout)

    def _read(self) -> bool:
        """One read; False if nothing is available."""
        if self.stdout_closed:
            return False
        try:
            data = os.read(self._stdout, _READ)
        except BlockingIOError:
            return False
        if not data:
            self.stdout_closed = True
            self.wake()
            return False
        self.last_read = time.monotonic()
        self._take(self._lines.feed(data))
        return True

    def _take(self, lines: list[bytes | None], *, complete: bool = True) -> None:
        for data in lines:
            if self._count > MOST_LINES:
                self.flooded = self.stdout_closed = True
                break
            self._count += 1
            self._report(self.transcript.receive(time.monotonic(), data, complete=complete))
        if lines:
            self.wake()

    def _report(self, line: TranscriptLine) -> None:
        for listener in self.listeners:
            listener(line)

    def wake(self) -> None:
        """Wakes waiting callers."""
        self._news.set()
        self._news = asyncio.Event()


@asynccontextmanager
async def started(manifest: Manifest, place: RunPaths, label: str = "") -> AsyncGenerator[ScriptedHost]:
    """A running child, killed with its processes at the end of the block. ExtensionError if it cannot start."""
    host = _start(manifest, place, label)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(host.run())
        try:
            yield host
        finally:
            running.cancel()
            host.stderr.drain()
            host.stderr.close()
    if host.jail is not None:
        host.jail.close()


def _start(manifest: Manifest, place: RunPaths, label: str) -> ScriptedHost:
    environment = child_environment(manifest.directory)
    argv = manifest.argv(environment.get("PATH", ""))
    jail, environment = _confined(manifest, place, argv, environment)
    stdin_read, stdin_write = stream(manifest.guard)
    stdout_read, stdout_write = stream(manifest.guard)
    stderr = _stderr(place.log)
    try:
        tree = spawn(
            argv,
            cwd=manifest.directory,
            env=environment,
            stdin=stdin_read,
            stdout=stdout_write,
            stderr=stderr.for_child,
            jail=jail,
        )
    except OSError as error:
        if jail is not None:
            jail.close()
        os.close(stdin_write)
        os.close(stdout_read)
        stderr.close()
        raise ExtensionError(f"cannot run {argv[0]}: {error.strerror or error}") from error
    finally:
        for fd in (stdin_read, stdout_write, stderr.for_child):
            os.close(fd)
    os.set_blocking(stdin_write, False)
    os.set_blocking(stdout_read, False)
    return ScriptedHost(tree, stdin_write, stdout_read, manifest, place, label, stderr, jail)


def _confined(
    manifest: Manifest, place: RunPaths, argv: list[str], environment: dict[str, str]
) -> tuple[Jail | None, dict[str, str]]:
    """Confined to its permissions, so that missing ones are found during development."""
    if manifest.permissions is None:
        return None, environment
    from zot.features.extensions.jail_policy import JailContext, build_jail

    granted = {name: os.environ[name] for name in manifest.permissions.env if name in os.environ}
    setting = JailContext(manifest.directory, place.data, place.cwd, zot_home())
    confined = build_jail(manifest.permissions, setting, argv, environment | granted, "")
    return confined.jail, confined.environment


def _stderr(log: Path) -> StderrPipe:
    """Writes stderr to the run's log, limited in size."""

    def keep(data: bytes) -> None:
        fd = open_to_append(log)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    keep(b"")
    return StderrPipe(keep, lambda count: keep(f"[zot] {count:,} bytes of its stderr were dropped\n".encode()))


def child_environment(directory: Path) -> dict[str, str]:
    """The host's environment without credentials, as for every child."""
    credentials, passthrough = _hidden(zot_home())
    workspace = Workspace(directory, credentials=credentials, passthrough=passthrough)
    ours = {"PYTHONDONTWRITEBYTECODE": "1", "ZOT_BYTECODE": str(zot_home() / "pycache")}
    return {**workspace.child_environment(), **ours}


@functools.cache
def _hidden(home: Path) -> tuple[frozenset[str], tuple[str, ...]]:
    """Withheld variables and exceptions, read once for all runs of a check."""
    credentials = credential_variables(Catalog(home).providers().values())
    return credentials, tuple(Settings(home).values.env_passthrough)
