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
from zot.frontends.serve.access import TOKEN_LIFE_S, Access, AccessFile
from zot.frontends.serve.hub import Hub
from zot.frontends.serve.local_socket import PREFIX, LocalSocket
from zot.frontends.serve.running_server import LOCK, find_server
from zot.frontends.serve.server import ServeServer
from zot.system.daemon_locks import acquire_lifetime_lock
from zot.system.files import make_private_dir, zot_home
from zot.system.private_socket import remove_private_socket
from zot.system.process_mark import is_marked

_CHECK_S = 15.0
_FIND_S = 3.0


class ServeOptions(msgspec.Struct, frozen=True):
    """``flags`` are passed to each conversation. ``port`` 0: a free one; ``idle_s`` 0: never end by itself. ``host`` or
    ``lan``: also beyond this machine, with the certificate in two files or with its own."""

    cwd: Path
    flags: Sequence[str] = ()
    port: int = 0
    idle_s: float = 1800.0
    host: str = ""
    lan: bool = False
    tls_cert: str = ""
    tls_key: str = ""
    quiet: bool = False  # print no address

    @property
    def is_beyond(self) -> bool:
        return self.lan or bool(self.host)


def run_serve(options: ServeOptions) -> int:
    """Returns the exit code: 0, or 128 plus the signal number."""
    home = zot_home()
    make_private_dir(home)
    lock = acquire_lifetime_lock(home / LOCK)
    if lock < 0:
        return _show_running(home, options)
    try:
        return run_loop(_serve(home, options))
    finally:
        os.close(lock)


def _show_running(home: Path, options: ServeOptions) -> int:
    """The address of the server of another zot, with a new token. A command of an agent gets none: it could join the
    conversation that runs it, and approve its own calls."""
    if is_marked(os.getpid()):
        raise ZotError("denied: a command that an agent runs gets no address; run `zot serve` yourself")
    access, found = Access(home), _running(home)
    if options.port not in (0, found.port):
        raise ZotError(f"zot serve runs on port {found.port}; end it first with `zot serve stop`, for another port")
    if options.is_beyond and not found.beyond:
        flags = "--lan" if options.lan else f"--host {options.host}"
        raise ZotError(f"zot serve runs for this machine only; run `zot serve stop`, then `zot serve {flags}`")
    print_notice(f"zot serve is already running (process {found.pid}); its own flags apply")
    _print_addresses(access, found)
    return 0


def _running(home: Path) -> AccessFile:
    """The server of another zot; it may have just begun."""
    end = time.monotonic() + _FIND_S
    while time.monotonic() < end:
        if (file := find_server(home)) is not None:
            return file
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
    local = LocalSocket(hub)
    remove_private_socket(access.load().socket, PREFIX)  # of a server that was killed
    try:
        _open(server, home, options)
        await local.open()
        access.listening(local.path)
        here, *beyond = server.places
        network = (beyond[0].origin, beyond[0].fingerprint) if beyond else ("", "")
        access.started(here.port, os.getpid(), *network)
        if not options.quiet:
            _print_addresses(access, access.load())
        return await _until_the_end(server, hub, options.idle_s, stopped)
    finally:
        await local.close()
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


def _open(server: ServeServer, home: Path, options: ServeOptions) -> None:
    """Listen on this machine, and beyond it if that was asked for."""
    if not options.is_beyond:
        server.open(options.port)
        return
    from zot.frontends.serve import certificates, network

    address, name = (found := network.lan_address(), found) if options.lan else network.resolve_host(options.host)
    if network.is_plain(name):
        server.open(options.port)
        return
    names = tuple(dict.fromkeys((name, address, *network.machine_names())))
    if options.tls_cert:
        certificate = certificates.given_certificate(Path(options.tls_cert), Path(options.tls_key))
    else:
        certificate = certificates.own_certificate(home, names)
    context = certificates.server_context(certificate)
    server.open(options.port, (address, names, certificate.fingerprint), context)


def _print_addresses(access: Access, server: AccessFile) -> None:
    """Each with a token of its own."""
    print(access.local_address(server), flush=True)
    if server.beyond:
        _print_beyond(access.network_address(server), server.fingerprint)
    minutes, count = TOKEN_LIFE_S / 60, "each" if server.beyond else "this"
    print_notice(f"{count} address adds one device, within {minutes:g} minutes; run `zot serve` again for another")
    if sys.stderr.isatty():
        print_notice("`zot serve devices` lists devices, `zot serve revoke NAME` removes one; ctrl+c ends the server")


def _print_beyond(address: str, fingerprint: str) -> None:
    """The address for other machines, as a QR code on a terminal."""
    print(address, flush=True)
    pairs = ":".join(fingerprint[index : index + 2] for index in range(0, len(fingerprint), 2)).upper()
    print_notice(f"the browser warns once about the certificate; compare its SHA-256 fingerprint: {pairs}")
    if sys.stderr.isatty() and (sys.stderr.encoding or "").lower().replace("-", "") == "utf8":
        from zot.tui.qr_code import qr_rows

        sys.stderr.write("\n".join(qr_rows(address)) + "\n")
