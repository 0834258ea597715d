"""A worker's host on a node: one ``zot rpc`` process and its private directory. It does not import Ray.

If the host dies, a janitor shell kills processes with the host's mark and removes the directory.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path

import msgspec

import zot
from zot.errors import EngineFault, GitFailed, describe_error
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.engines.local import spawn_worker
from zot.swarm.engines.ray.frames import (
    AttemptEnded,
    Batch,
    Begin,
    Begun,
    ReadPosition,
    decode_begin,
    decode_credential,
    decode_taken,
    encode,
)
from zot.swarm.git.bundle import NodeTree, TreeBundle
from zot.swarm.worker_env import worker_environment
from zot.system.background_tasks import BackgroundTasks
from zot.system.files import make_private_dir, write_atomic
from zot.system.process_table import MARK_VARIABLE, started
from zot.system.processes import ProcessTree
from zot.system.safe_open import create, open_buffered
from zot.system.secret_variables import looks_like_secret
from zot.wire.line_splitter import LineSplitter

POLL_S = 15.0
LOOK_S = 0.1  # at the session's size
TREE_S = 0.2  # seconds between two snapshots of the tree
_FAILED_LOOKS = 5  # failures after which a changing tree delays nothing
_RESULT = b'{"type":"tool_result"'
_CLAIMS = (b"tool_outcome", b"tool_result")  # session records that claim an effect
_HELD_BACK = (b'{"type":"user_message"', b'{"type":"done"')  # events that clients record
_LARGEST_GROWTH = 64 << 20
_MOST_HELD = 4 << 20  # bytes of unread lines before the child blocks
_MOST_AT_ONCE = 1 << 20
_CHUNK = 64 * 1024
_LAST_WORDS = 300

_JANITOR = """
trap '' INT TERM HUP QUIT PIPE
while IFS= read -r line; do :; done
for round in 1 2 3 4 5; do
  found=$(grep -lsF "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || [ $round = 1 ] || break
  for file in $found; do
    pid=${file#/proc/}
    kill -s KILL "${pid%/environ}" 2>/dev/null
  done
  sleep 0.05
done
rm -rf -- "$2"
"""


class NodeHost:
    """Attempts of one worker in sequence, with rising numbers."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self._attempt: NodeAttempt | None = None
        self._beginning = asyncio.Lock()

    async def begin(self, data: bytes, bundle: bytes, secret: bytes) -> bytes:
        """Starts an attempt; for the same one again, returns where it runs. EngineFault for an older one."""
        begin = decode_begin(data)
        async with self._beginning:
            current = self._attempt
            if current is not None and begin.attempt == current.number:
                return encode(current.begun)
            if current is not None and begin.attempt < current.number:
                raise EngineFault(f"attempt {begin.attempt} of {self.worker} is over: {current.number} runs")
            if begin.zot != zot.__version__:
                node = socket.gethostname()
                raise EngineFault(
                    f"node {node} has zot {zot.__version__}, expected zot {begin.zot}; install the same version"
                )
            if current is not None:
                await current.discard()
            attempt = NodeAttempt(begin, decode_credential(secret))
            await attempt.begin(bundle)
            self._attempt = attempt
            return encode(attempt.begun)

    async def poll(self, attempt: int, taken: bytes) -> bytes:
        """New output, or nothing after a timeout. Empty if this host does not have the attempt."""
        if (current := self._current(attempt)) is None:
            return b""
        return encode(await current.poll(decode_taken(taken)))

    async def send(self, attempt: int, number: int, line: bytes) -> bool:
        """A repeated number is not sent again: only the answer was lost."""
        current = self._current(attempt)
        return current is not None and current.send(number, line)

    async def stop(self, attempt: int, grace: float) -> None:
        if (current := self._current(attempt)) is not None:
            await current.stop(grace)

    async def release(self, attempt: int) -> None:
        """Its results were taken: removes everything."""
        if (current := self._current(attempt)) is not None:
            await current.discard()
            self._attempt = None

    def _current(self, attempt: int) -> NodeAttempt | None:
        current = self._attempt
        return current if current is not None and current.number == attempt else None


class NodeAttempt:
    """One ``zot rpc``, its directory and its unread output."""

    def __init__(self, begin: Begin, credential: WorkerKey | None) -> None:
        self.number = begin.attempt
        self.begun = Begun(pid=0, started=0, node=socket.gethostname())
        self._begin = begin
        self._credential = credential
        self._directory = Path()
        self._tree: NodeTree
        self._child: ProcessTree
        self._stdin: asyncio.WriteTransport | None = None
        self._lines: deque[bytes] = deque()
        self._first = 1  # number of the oldest unread line
        self._held = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._seen: TreeBundle | None = None
        self._looks = 0  # snapshots with changes
        self._results = 0  # tool results so far that may have changed the tree
        self._seen_results = 0  # tool results covered by the last snapshot
        self._sound = len(begin.session)  # session bytes covered by a snapshot
        self._looking = asyncio.Lock()  # one snapshot at a time
        self._over: AttemptEnded | None = None
        self._sent: set[int] = set()
        self._tasks = BackgroundTasks()

    async def begin(self, bundle: bytes) -> None:
        """The directory, the checkout in it, and the child."""
        try:
            self._directory = Path(tempfile.mkdtemp(prefix="attempt-", dir=_room().directory))
            begin, home = self._begin, self._directory / "home"
            make_private_dir(home)
            for name, data in begin.home.items():
                write_atomic(home / os.path.basename(name), data)
            if begin.session:
                write_atomic(self._session, begin.session)
            self._tree = NodeTree(self._directory)
            await self._tree.unpack(msgspec.structs.replace(begin.tree, bundle=bundle))
            await self._spawn()
        except (OSError, GitFailed) as error:
            await self.discard()
            raise EngineFault(f"cannot start the worker on {self.begun.node}: {describe_error(error)}") from error
        except BaseException:
            await self.discard()
            raise

    async def _spawn(self) -> None:
        given, cwd = self._begin.config, self._tree.path / self._begin.inside
        script = given.script
        if isinstance(script, str):
            script = script.replace("{directory}", str(self._directory)).replace("{tree}", str(self._tree.path))
        config = msgspec.structs.replace(
            given, script=script, cwd=str(cwd if cwd.is_dir() else self._tree.path), session_file=str(self._session)
        )
        kept = {
            name: value
            for name, value in worker_environment(self._begin.worker).items()
            if not name.startswith(("RAY_", "GIT_")) and not looks_like_secret(name)
        }
        env = {**kept, **self._begin.environment, "ZOT_HOME": str(self._directory / "home")}
        self._child, self._stdin, reader = await spawn_worker(
            config, self._credential, self._directory, env, create(self._log)
        )
        self.begun = Begun(pid=self._child.pid, started=started(self._child.pid), node=self.begun.node)
        self._tasks.start(self._read(reader))
        self._tasks.start(self._watch())

    # --- output

    async def poll(self, taken: ReadPosition) -> Batch:
        """Output after that position. The session is read after the lines, so it is never behind them."""
        while self._lines and self._first <= taken.line:
            self._held -= len(self._lines.popleft())
            self._first += 1
        self._room.set()
        deadline = asyncio.get_running_loop().time() + POLL_S
        while (batch := self._news_since(taken)).says_nothing:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_S)):  # the session may grow without an event
                    await self._news.wait()
        return batch

    def _news_since(self, taken: ReadPosition) -> Batch:
        """Claims about files wait for a snapshot of the tree, so that a continued attempt finds the files."""
        at, session, whole, is_all = self._session_since(taken.session)
        is_seen = is_all and self._seen_results == self._results
        lines: list[bytes] = []
        size = 0
        for line in self._lines:
            if (lines and size + len(line) > _MOST_AT_ONCE) or (not is_seen and line.startswith(_HELD_BACK)):
                break
            lines.append(line)
            size += len(line)
        all_lines = len(lines) == len(self._lines)
        _, log, _ = _grown(self._log, taken.log, _MOST_AT_ONCE)
        rest = len(session) >= _MOST_AT_ONCE or len(log) >= _MOST_AT_ONCE
        return Batch(
            worker=self._begin.worker,
            attempt=self.number,
            first=self._first,
            lines=tuple(lines),
            session_at=at,
            session=session,
            session_whole=whole,
            log=log,
            tree=self._seen if self._looks > taken.tree else None,
            tree_number=self._looks,
            over=self._over if all_lines and not rest else None,
        )

    def _session_since(self, taken: int) -> tuple[int, bytes, bool, bool]:
        """As ``_grown`` has it, as far as it is sound or claims nothing; and whether there is no more. The child writes
        its session before it says so, and its words may be long on their way: what is in the file counts."""
        at, data, whole = _grown(self._session, taken, _MOST_AT_ONCE)
        sound = self._sound if self._sound <= _size(self._session) else 0
        safe = min(len(data), max(0, sound - at))
        claim = _first_claim(data, safe)
        free = max(safe, data.rfind(b"\n", safe, claim) + 1)
        if whole and free < len(data):
            return taken, b"", False, False
        return at, data[:free], whole, _first_claim(data, safe) is None

    async def _read(self, reader: asyncio.StreamReader) -> None:
        lines = LineSplitter()
        while chunk := await reader.read(_CHUNK):
            self._hold([line for line in lines.feed(chunk) if line is not None])
            while self._held > _MOST_HELD:
                self._room.clear()
                await self._room.wait()
        if rest := lines.rest():
            self._hold([rest])
        code = await self._child.wait()
        await self._child.stop(grace=0.0)  # its last changes
        async with self._looking:
            await self._look_at_tree()
            self._seen_results, self._sound = self._results, _size(self._session)
            output = ""
            with suppress(OSError), open_buffered(self._log) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
                output = file.read().decode("utf-8", "replace").strip()
            self._over = AttemptEnded(code=code, reason=output.splitlines()[-1][:_LAST_WORDS] if output else "")
            self._news.set()

    def _hold(self, lines: list[bytes]) -> None:
        self._lines.extend(lines)
        self._held += sum(map(len, lines))
        self._results += sum(line.startswith(_RESULT) for line in lines)
        self._news.set()

    async def _watch(self) -> None:
        """Takes a snapshot after each tool, so that a lost node loses little."""
        loop, failed = asyncio.get_running_loop(), 0
        while self._over is None:
            began = loop.time()
            async with self._looking:
                failed = await self._look_if_needed(failed)
            await asyncio.sleep(TREE_S + loop.time() - began)

    async def _look_if_needed(self, failed: int) -> int:
        """Takes a snapshot; returns the number of failures in a row."""
        at, data, _ = _grown(self._session, self._sound, _LARGEST_GROWTH)
        end = data.rfind(b"\n") + 1
        results, session, claims = self._results, at + end, _first_claim(data[:end]) is not None
        if self._over is not None:
            return 0
        if self._seen_results < results or claims:
            failed = 0 if await self._look_at_tree() else failed + 1
            if 0 < failed < _FAILED_LOOKS:
                return failed
        if (self._seen_results, self._sound) != (results, session):
            self._seen_results, self._sound = results, session
            self._news.set()
        return failed

    async def _look_at_tree(self) -> bool:
        """Whether it succeeded: files may change during a snapshot."""
        try:
            seen = await self._tree.look()
        except (GitFailed, OSError):
            return False
        if seen is not None:
            self._seen = seen
            self._looks += 1
            self._news.set()
        return True

    # --- input

    def send(self, number: int, line: bytes) -> bool:
        stdin = self._stdin
        if stdin is None or stdin.is_closing() or self._over is not None:
            return False
        if number not in self._sent:
            self._sent.add(number)
            stdin.write(line if line.endswith(b"\n") else line + b"\n")
        return True

    async def stop(self, grace: float) -> None:
        """Closes its input, then sends SIGTERM, then SIGKILL to the rest."""
        if self._over is None:
            if self._stdin is not None:
                self._stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._child.wait()
            await self._child.stop(grace=min(grace, 1.0))
            with suppress(TimeoutError):
                async with asyncio.timeout(30):
                    while self._over is None:
                        self._room.set()
                        await asyncio.sleep(0.01)

    async def discard(self) -> None:
        if hasattr(self, "_child") and self._over is None:
            await self.stop(0.0)
        self._tasks.cancel()
        if self._directory.name:
            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    # --- helpers

    @property
    def _session(self) -> Path:
        return self._directory / self._begin.session_name

    @property
    def _log(self) -> Path:
        return self._directory / "log.txt"


def _first_claim(data: bytes, start: int = 0) -> int | None:
    """Whether a line claims an effect."""
    return min((at for word in _CLAIMS if (at := data.find(word, start)) >= 0), default=None)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _grown(path: Path, at: int, most: int) -> tuple[int, bytes, bool]:
    """The bytes of a file after ``at``; all of it, and True, if it is shorter now."""
    try:
        with open_buffered(path) as file:
            whole = os.fstat(file.fileno()).st_size < at
            at = 0 if whole else at
            file.seek(at)
            return at, file.read(most), whole
    except OSError:
        return at, b"", False


class _Room:
    """This process's directory and the mark of all its child processes."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        mark = f"host-{os.urandom(8).hex()}"
        self.directory = Path(tempfile.mkdtemp(prefix="zot-swarm-")).resolve()
        read, write = os.pipe()
        try:
            # Its parent exits at once, since Ray kills the children of a worker process.
            script = 'exec 3<&0; /bin/sh -c "$0" janitor "$1" "$2" <&3 3<&- &'
            subprocess.run(
                ["/bin/sh", "-c", script, _JANITOR, f"{MARK_VARIABLE}={mark}", self.directory],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                check=False,
            )
        finally:
            os.close(read)
        self._pipe = write  # closed by the kernel when this process ends
        os.environ[MARK_VARIABLE] = mark  # inherited by everything started from here on


_own_room: _Room | None = None


def _room() -> _Room:
    global _own_room
    if _own_room is None or _own_room.owner != os.getpid():
        _own_room = _Room()
    return _own_room
