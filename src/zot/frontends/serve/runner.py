"""``zot serve``: one server per user, found by its lock; it ends when idle, or with a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.errors import ZotError
from zot.frontends.console import EXIT_CODES, print_notice, run_loop
from zot.frontends.serve.access import TOKEN_LIFE_S, Access
from zot.frontends.serve.hub import Hub
from zot.frontends.serve.server import ServeServer
from zot.system.daemon_locks import acquire_lifetime_lock
from zot.system.files import make_private_dir, zot_home

LOCK = "serve.lock"
_CHECK_S = 15.0
_FIND_S = 3.0


class ServeOptions(msgspec.Struct, frozen=True):
    """``flags`` are passed to each conversation. ``port`` 0: a free one; ``idle_s`` 0: never end by itself."""

    cwd: Path
    flags: Sequence[str] = ()
    port: int = 0
    idle_s: float = 1800.0


def run_serve(options: ServeOptions) -> int:
    """Returns the exit code: 0, or 128 plus the signal number."""
    home = zot_home()
    make_private_dir(home)
    lock = acquire_lifetime_lock(home / LOCK)
    if lock < 0:
        return _show_running(Access(home), options)
    try:
        return run_loop(_serve(home, options))
    finally:
        os.close(lock)


def _show_running(access: Access, options: ServeOptions) -> int:
    """The address of the server of another zot, with a new token."""
    port, pid = _running(access)
    if options.port not in (0, port):
        raise ZotError(f"zot serve is running on port {port} (process {pid}); end it first, for another port")
    print_notice(f"zot serve is already running (process {pid}); its own flags apply")
    _print_address(access, port)
    return 0


def _running(access: Access) -> tuple[int, int]:
    """Port and process; it may have just begun."""
    end = time.monotonic() + _FIND_S
    while time.monotonic() < end:
        file = access.load()
        with suppress(ProcessLookupError):
            if file.port and file.pid > 0:
                os.kill(file.pid, 0)
                return file.port, file.pid
        time.sleep(0.05)
    raise ZotError("another zot serve is starting or ending; try again. If this stays, end that process")


async def _serve(home: Path, options: ServeOptions) -> int:
    access = Access(home)
    access.load()  # a damaged file ends the start
    hub = Hub(home, options.cwd, options.flags, idle_s=options.idle_s)
    server = ServeServer(access, hub, home)
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(number: signal.Signals) -> None:
        if not stopped.done():
            stopped.set_result(EXIT_CODES[number])

    for number in (each for each in EXIT_CODES if signal.getsignal(each) is not signal.SIG_IGN):  # as with nohup
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    await server.open(options.port)
    try:
        access.started(server.port, os.getpid())
        _print_address(access, server.port)
        return await _until_the_end(server, hub, options.idle_s, stopped)
    finally:
        await server.close()
        await hub.close()


async def _until_the_end(server: ServeServer, hub: Hub, idle_s: float, stopped: asyncio.Future[int]) -> int:
    """0 when idle, or the exit code of a signal."""
    pause = min(_CHECK_S, idle_s / 4) if idle_s else None
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                return await asyncio.shield(stopped)
        await hub.end_idle()
        if not server.client_count and not len(hub) and time.monotonic() - server.used_at > idle_s:
            print_notice(f"ended: not used for {idle_s / 60:g} minutes")
            return 0


def _print_address(access: Access, port: int) -> None:
    """The token is in the fragment, which browsers do not send."""
    print(f"http://127.0.0.1:{port}/#token={access.invite()}", flush=True)
    minutes = TOKEN_LIFE_S / 60
    print_notice(f"this address adds one device, within {minutes:g} minutes; run `zot serve` again for another")
    if sys.stderr.isatty():
        print_notice("`zot serve devices` lists devices, `zot serve revoke NAME` removes one; ctrl+c ends the server")
