"""A listening socket of one user: in a private directory, since a home may not support sockets or may have a too long
path."""

from __future__ import annotations

import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from zot.errors import ZotError, describe_error

_LONGEST = 90  # bytes of a socket's path; the kernel takes 107, some take 103
_BACKLOG = 128


def listen_privately(prefix: str, purpose: str) -> socket.socket:
    """A socket in a new private directory whose name has this prefix; ZotError if none is possible."""
    why = ""
    for base in _places():
        directory = os.path.join(base, prefix + os.urandom(6).hex())
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.mkdir(directory, 0o700)
            listening.bind(os.path.join(directory, "s"))
            listening.listen(_BACKLOG)
            return listening
        except OSError as error:
            why = describe_error(error)
            listening.close()
            rmtree(directory, ignore_errors=True)
    raise ZotError(f"no directory for the socket of {purpose}: {why or 'no private directory'}")


def remove_private_socket(path: str, prefix: str) -> None:
    """Remove the socket with its directory; another path stays."""
    if Path(path).parent.name.startswith(prefix):
        rmtree(Path(path).parent, ignore_errors=True)


def is_own_peer(connection: socket.socket) -> bool:
    """True if the other end runs as this user."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the directory is private
    return _peer(connection)[1] == os.geteuid()


def peer_process(connection: socket.socket) -> int:
    """The process at the other end; 0 where the kernel does not tell."""
    return _peer(connection)[0] if hasattr(socket, "SO_PEERCRED") else 0


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user, as they were when it connected."""
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def _places() -> list[str]:
    """Directories in which other users cannot replace ours."""
    found: list[str] = []
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("TMPDIR", ""), "/tmp"):
        with suppress(OSError):
            if os.path.isabs(place) and len(os.fsencode(place)) + 30 < _LONGEST:
                info = os.stat(place)
                ours = info.st_uid == os.geteuid() and not info.st_mode & 0o022
                if stat.S_ISDIR(info.st_mode) and (ours or info.st_mode & stat.S_ISVTX):
                    found.append(place)
    return found
