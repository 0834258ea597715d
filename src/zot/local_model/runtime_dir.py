"""Runtime directory of a model server: lock files show that the server and its users are alive.

The kernel releases the locks when a process ends. Start and exit decisions are made under ``start.lock``.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from zot.errors import ZotError, describe_error
from zot.local_model.weights import ModelFile
from zot.system.daemon_locks import acquire_lifetime_lock, is_locked, try_startup_lock
from zot.system.digest import blake2b
from zot.system.files import cache_home, make_private_dir, try_lock, write_atomic
from zot.system.safe_open import create, open_for_update, read_whole

_TRIES = 100


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """``state.json``: a server's address and the ``key`` for requests."""

    pid: int
    address: str
    key: str
    model: str
    path: str
    started: float

    def __repr__(self) -> str:
        """Without the key: tracebacks show this."""
        return f"ServerInfo({self.pid}, {self.address!r}, {self.model!r})"


class User(msgspec.Struct, frozen=True):
    """A running zot; ``last`` is the time of its last request."""

    pid: int
    last: float


class ServerRuntimeDir:
    """The directory of one model's server."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state, self.log, self.key_file = (directory / name for name in ("state.json", "log", "key"))
        self._users = directory / "users"

    # --- the server

    def running(self) -> ServerInfo | None:
        """The running server; None if there is none or it is not ready."""
        if not self.is_alive():
            return None
        with suppress(OSError, msgspec.DecodeError, UnicodeError):
            return msgspec.json.decode(read_whole(self.state), type=ServerInfo)
        return None

    def is_alive(self) -> bool:
        """Whether a process holds the server's lock."""
        return is_locked(self.directory / "server.lock")

    def server_lock(self) -> int:
        """The server's lock, as a descriptor it inherits; -1 if it is taken."""
        return acquire_lifetime_lock(self.directory / "server.lock")

    def publish(self, running: ServerInfo) -> None:
        write_atomic(self.key_file, running.key.encode() + b"\n")
        write_atomic(self.state, msgspec.json.encode(running))

    def withdraw(self) -> None:
        for file in (self.state, self.key_file):
            with suppress(OSError):
                file.unlink()

    @contextmanager
    def starting(self) -> Generator[bool]:
        """Tries to take the startup lock, without waiting."""
        with try_startup_lock(self.directory / "start.lock") as ours:
            yield ours

    # --- its users

    def users(self) -> list[User]:
        """Running users; removes files of ended ones."""
        found: list[User] = []
        try:
            names = os.listdir(self._users)
        except OSError:
            return found
        for name in names:
            with suppress(OSError, ValueError):
                if (user := self._user(name)) is not None:
                    found.append(user)
        return found

    def _user(self, name: str) -> User | None:
        path = self._users / name
        fd = open_for_update(path)
        try:
            if not try_lock(fd):
                return User(int(name.partition("-")[0]), os.fstat(fd).st_mtime)
            path.unlink(missing_ok=True)
        finally:
            os.close(fd)
        return None

    def register(self) -> Lease:
        """Registers this process as a user until it releases the server or ends."""
        try:
            make_private_dir(self._users)
            for _ in range(_TRIES):
                path = self._users / f"{os.getpid()}-{os.urandom(4).hex()}"
                fd = create(path, flags=os.O_RDWR)
                if try_lock(fd) and _is_there(path, fd):
                    return Lease(path, fd)
                os.close(fd)  # a server removed it during cleanup
        except OSError as error:
            raise ZotError(f"cannot share the local model: {describe_error(error)}") from error
        raise ZotError(f"cannot share the local model: {self._users} does not store files")


class Lease:
    """A process's registration as a user of the server."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path, self._fd = path, fd

    def note_use(self) -> None:
        """Updates the time of last use."""
        if self._fd >= 0:
            os.utime(self._fd)

    def release(self) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._fd)
            self._fd = -1


def _is_there(path: Path, fd: int) -> bool:
    try:
        return os.stat(path).st_ino == os.fstat(fd).st_ino
    except OSError:
        return False


def rooms_dir() -> Path:
    """Includes the machine: a home may be shared by several."""
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", platform.node()) or "here"
    return cache_home() / "local" / host


def room_for(model: ModelFile) -> ServerRuntimeDir:
    """Includes the file's identity: replaced weights get another server."""
    real = os.path.realpath(model.path)
    info = os.stat(real)
    mark = blake2b(f"{real}\0{info.st_size}\0{info.st_mtime_ns}".encode("utf-8", "surrogateescape"), 6)
    label = re.sub(r"[^a-z0-9.-]+", "-", Path(real).stem.lower())[:40].strip("-.") or "own"
    return ServerRuntimeDir(rooms_dir() / f"{label}-{mark}")


def all_rooms() -> list[ServerRuntimeDir]:
    try:
        return [ServerRuntimeDir(entry) for entry in sorted(rooms_dir().iterdir()) if entry.is_dir()]
    except OSError:
        return []
