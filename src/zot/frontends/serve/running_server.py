"""The server of this user, for another zot: found by its lock, started if none runs, asked over its socket."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket

import msgspec

from zot.errors import NotThere, ZotError
from zot.frontends.serve.access import Access, AccessFile
from zot.frontends.serve.local_socket import Reply, Request
from zot.system.daemon_locks import is_locked
from zot.system.files import make_private_dir
from zot.system.safe_open import open_to_append

LOCK = "serve.lock"
LOG = "serve.log"
_START_S = 20.0
_ANSWER_S = 70.0  # starting a conversation takes up to 60
_LOG_MAX = 1_000_000


def find_server(home: Path) -> AccessFile | None:
    """The running server; None if there is none, or if it is not ready."""
    if not is_locked(home / LOCK):
        return None
    file = Access(home).load()
    with suppress(OSError):
        if file.port and file.socket and file.pid > 0:
            os.kill(file.pid, 0)
            return file
    return None


def require_server(home: Path) -> AccessFile:
    """NotThere if none runs."""
    if (found := find_server(home)) is None:
        raise NotThere("zot serve is not running; start it with `zot serve`, or type /serve in a running zot")
    return found


def start_server(home: Path, cwd: Path, flags: Sequence[str]) -> AccessFile:
    """The running server, started with these flags if there is none. ZotError if it does not start; blocks."""
    if (found := find_server(home)) is not None:
        return found
    log = _log_file(home)
    with os.fdopen(open_to_append(log), "ab") as output:
        if os.fstat(output.fileno()).st_size > _LOG_MAX:
            os.ftruncate(output.fileno(), 0)
        process = subprocess.Popen(
            [sys.executable, "-m", "zot", "serve", "--quiet", *flags],
            cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        if (found := find_server(home)) is not None:
            return found
        if process.poll() not in (None, 0):  # 0: another zot was faster
            break
        time.sleep(0.03)
    raise ZotError(f"zot serve did not start; see {log}")


def stop_server(home: Path) -> int:
    """End the running server and wait for it; its process, or 0 if none ran. ZotError if it does not end."""
    if (found := find_server(home)) is None:
        return 0
    with suppress(ProcessLookupError):
        os.kill(found.pid, signal.SIGTERM)
    end = time.monotonic() + _START_S
    while is_locked(home / LOCK):
        if time.monotonic() > end:
            raise ZotError(f"zot serve (process {found.pid}) does not end; use `kill -9 {found.pid}`")
        time.sleep(0.03)
    return found.pid


def ask_server(file: AccessFile, request: Request) -> tuple[Reply, socket]:
    """Its answer, and the connection, which goes on. ZotError if it is refused or there is no answer; blocks."""
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(_ANSWER_S)
        connection.connect(file.socket)
        connection.sendall(msgspec.json.encode(request) + b"\n")
        reply = msgspec.json.decode(_line(connection), type=Reply)
    except (OSError, msgspec.MsgspecError) as error:
        connection.close()
        raise ZotError(f"zot serve (process {file.pid}) does not answer: {error}; see `zot serve`") from error
    if reply.error:
        connection.close()
        raise ZotError(reply.error)
    return reply, connection


def _line(connection: socket) -> bytes:
    """One line, and no byte after it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = connection.recv(1 if len(line) < 64 * 1024 else 0)
        if not piece:
            raise OSError("it closed the connection")
        line += piece
    return bytes(line)


def _log_file(home: Path) -> Path:
    make_private_dir(home / "logs")
    return home / "logs" / LOG
