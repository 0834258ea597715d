"""The supervisor's runtime directory: lock file, socket and ``supervisor.json``."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from zot.system.daemon_locks import acquire_lifetime_lock, is_locked, try_startup_lock
from zot.system.files import make_private_dir, write_atomic
from zot.system.private_socket import listen_privately, remove_private_socket
from zot.system.safe_open import read_whole

_PREFIX = "zot-swarm-"


class SupervisorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """``supervisor.json``."""

    pid: int
    socket: str
    started: float


class SupervisorRuntimeDir:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.directory = home / "swarm"
        self.state, self.log = self.directory / "supervisor.json", self.directory / "supervisor.log"
        self._own: SupervisorInfo | None = None

    def running(self) -> SupervisorInfo | None:
        """The running supervisor; None if there is none or it is not ready."""
        return self.last() if self.is_alive() else None

    def last(self) -> SupervisorInfo | None:
        """The recorded supervisor, running or not."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeError):
            return msgspec.json.decode(read_whole(self.state), type=SupervisorInfo)
        return None

    def is_alive(self) -> bool:
        return is_locked(self.directory / "supervisor.lock")

    def lifetime_lock(self) -> int:
        """The supervisor's lock, as a descriptor it inherits; -1 if it is taken."""
        make_private_dir(self.directory)
        return acquire_lifetime_lock(self.directory / "supervisor.lock")

    @contextmanager
    def startup_lock(self) -> Generator[bool]:
        """Tries to take the startup lock, without waiting."""
        make_private_dir(self.directory)
        with try_startup_lock(self.directory / "start.lock") as ours:
            yield ours

    # --- the socket

    def listen(self) -> socket.socket:
        """A socket in a new private directory; ZotError if none is possible."""
        self.sweep()
        return listen_privately(_PREFIX, "the supervisor")

    def publish(self, running: SupervisorInfo) -> None:
        write_atomic(self.state, msgspec.json.encode(running))
        self._own = running

    @property
    def is_orphaned(self) -> bool:
        """True if the home was removed or has another supervisor, so that no client can find this one."""
        if self._own is None:
            return False
        last = self.last()
        return not self.directory.is_dir() or (last is not None and last != self._own)

    def unpublish(self) -> None:
        """Removes its own files only: the home may have another supervisor."""
        if self._own is not None:
            remove_private_socket(self._own.socket, _PREFIX)
        if self.last() == self._own:
            with suppress(OSError):
                self.state.unlink()

    def sweep(self) -> None:
        """Remove the socket of a supervisor that ended."""
        last = self.last()
        if last is not None:
            remove_private_socket(last.socket, _PREFIX)
