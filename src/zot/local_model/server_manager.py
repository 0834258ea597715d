"""Finds or starts the server of a model; other zot processes use the same one."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec

import msgspec

from zot.errors import ZotError, describe_error
from zot.local_model.memory import check_memory, threads
from zot.local_model.runtime_dir import Lease, ServerInfo, ServerRuntimeDir, room_for
from zot.local_model.server_process import LocalServerConfig
from zot.local_model.weights import ModelFile, known, read_header
from zot.provider.installed_models import WINDOW
from zot.provider.providers import credential_variables
from zot.system import process_setup
from zot.system.daemon_locks import wait_for_ready_line
from zot.system.installation import with_extra
from zot.system.process_mark import marked_children
from zot.system.process_table import MARK_VARIABLE
from zot.system.safe_open import open_to_replace, read_prefix

IDLE_S = 600.0
_PATIENCE_S = 300.0  # a large file on a slow disk
_LOOK_S = 0.05
_LONGEST_REASON = 300
_PROGRAM = "import sys; sys.path[:0] = sys.argv[1:]; from zot.local_model.server_process import main; main()"


def missing_runtime() -> str:
    """What is missing to run a local model, and the fix; empty if nothing."""
    if find_spec("xllamacpp") is not None:
        return ""
    return f"the runtime for local models is not installed: {how_to_install_runtime()}"


def how_to_install_runtime() -> str:
    """The install command for this zot."""
    return with_extra("local", "xllamacpp")


class LocalServerManager:
    """One process's use of a model's server. ``ensure`` starts it."""

    def __init__(self, model: ModelFile, *, idle_s: float = IDLE_S) -> None:
        self.model = model
        self._idle_s = idle_s
        self._room: ServerRuntimeDir | None = None
        self._lease: Lease | None = None
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def room(self) -> ServerRuntimeDir:
        if self._room is None:
            try:
                self._room = room_for(self.model)
            except OSError as error:
                raise ZotError(f"cannot read weights: {describe_error(error)}") from error
        return self._room

    async def ensure(self) -> ServerInfo:
        """A running server; ZotError with the reason if it cannot be started."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                room = self.room
                self._reap()
                if self._lease is None:
                    self._lease = room.register()
                self._lease.note_use()
                while True:
                    with room.starting() as ours:
                        # Without the lock, the last server's state could be read as that of the new one.
                        if ours and (running := room.running()):
                            self._lease.note_use()
                            return running
                        if ours and (lock := room.server_lock()) >= 0:
                            try:
                                return await self._start(room, lock)
                            finally:
                                os.close(lock)
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError as error:
            raise ZotError(f"{self.model.name}: its server did not start in {_PATIENCE_S:g} s") from error
        except OSError as error:
            raise ZotError(f"{self.model.name}: cannot share its server: {describe_error(error)}") from error

    def note_use(self) -> None:
        """Updates the time of last use."""
        if self._lease is not None:
            self._lease.note_use()

    async def has_exited(self, server: ServerInfo, within: float = 1.0) -> bool:
        """Whether that server has ended, is exiting, or was replaced."""
        for _ in range(max(1, int(within / _LOOK_S))):
            self._reap()
            running = self.room.running()
            if running is None or running.pid != server.pid:
                return True
            await asyncio.sleep(_LOOK_S)
        return False

    def release(self) -> None:
        """Releases the server; it exits if no other process uses it."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None
        self._reap()

    # --- starting one

    async def _start(self, room: ServerRuntimeDir, lock: int) -> ServerInfo:
        if missing := missing_runtime():
            raise ZotError(missing)
        header = read_header(self.model.path)
        check_memory(self.model.name, self.model.memory)
        row = known().get(self.model.name)
        if row is not None and self.model.path.stat().st_size != row.bytes:  # truncated after the check
            raise ZotError(f"{self.model.path} is damaged; download it again with `zot local install {row.name}`")
        task = LocalServerConfig(
            room=str(room.directory),
            model=self.model.name,
            path=str(self.model.path),
            key=secrets.token_urlsafe(32),
            window=min(WINDOW, header.window or WINDOW),
            threads=threads(),
            idle_s=self._idle_s,
        )
        room.withdraw()
        child = self._child = _started(room, task, lock)
        process_setup.helpers.add(child.pid)
        assert child.stdout is not None
        try:
            ready = await wait_for_ready_line(child.stdout.fileno())
        finally:
            child.stdout.close()
        running = room.running() if ready else None
        if running is None:
            raise ZotError(self._why_not(room, child))
        return running

    def _why_not(self, room: ServerRuntimeDir, child: subprocess.Popen[bytes]) -> str:
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=5)
        self._reap()
        text = ""
        with suppress(OSError):
            text = read_prefix(room.log).decode("utf-8", "replace")
        code = child.returncode
        ended = f"its server ended with code {code}"
        if code is not None and code < 0:
            ended = f"its server was killed by signal {-code}" + (", possibly out of memory" if code == -9 else "")
        errors = [line.partition(" E ")[2].strip() for line in text.splitlines() if " E " in line]
        telling = [detail for line in errors if (detail := line.partition("error loading model: ")[2])]
        own = [line.removeprefix("zot: ") for line in text.splitlines() if line.startswith("zot: ")]
        reason = (telling or errors or own or [""])[0][:_LONGEST_REASON] or ended
        return f"{self.model.name} cannot be started: {reason} (log: {room.log})"

    def _reap(self) -> None:
        child = self._child
        if child is not None and child.poll() is not None:
            process_setup.helpers.discard(child.pid)
            self._child = None


def _started(room: ServerRuntimeDir, task: LocalServerConfig, lock: int) -> subprocess.Popen[bytes]:
    """Starts it in its own session, so that it outlives this zot and gets no keyboard signals."""
    hidden = {*credential_variables(), MARK_VARIABLE}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    try:
        log = open_to_replace(room.log)
        try:
            with marked_children(0):  # it outlives this zot, and a zot around it
                child = subprocess.Popen(
                    [sys.executable, "-I", "-c", _PROGRAM, *(place for place in sys.path if os.path.isabs(place))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                    cwd="/",
                    pass_fds=(lock,),
                    # With the default, waiting threads use processor time of other programs.
                    env={**environment, "OMP_WAIT_POLICY": "passive"},
                )
        finally:
            os.close(log)
    except OSError as error:
        raise ZotError(f"cannot start the server of the local model: {describe_error(error)}") from error
    assert child.stdin is not None
    with suppress(BrokenPipeError), child.stdin:
        child.stdin.write(msgspec.json.encode(task))
    return child
