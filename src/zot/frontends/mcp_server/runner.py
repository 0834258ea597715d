"""``zot mcp serve``: serves one client on stdin and stdout, or several over HTTP, until it is stopped."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys

import msgspec

from zot.agent.config import RunConfig
from zot.core.permission_modes import is_wider, parse_mode
from zot.errors import UsageError, ZotError
from zot.frontends.console import EXIT_CODES, print_notice, run_loop
from zot.frontends.mcp_server.service import Service
from zot.system.process_setup import resume_gc

INSIDE = "ZOT_MCP_SERVE"  # set for everything this server starts
TOKEN = "ZOT_MCP_TOKEN"
_SHORTEST_TOKEN = 16
_LOOPBACK = {"localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1", "::1": "::1"}


def run_server(config: RunConfig, http: str = "", *, token: bool = False) -> int:
    """``http`` is ``[HOST:]PORT``, empty for stdio. Returns the exit code.
    Nothing but messages may reach stdout: what a library prints goes to stderr."""
    if os.environ.get(INSIDE):
        raise ZotError("`zot mcp serve` was started by itself; its agents may not start it again")
    os.environ[INSIDE] = "1"
    config = _fixed(config)
    if token and not http:
        raise UsageError("--token: only with --http")
    if not http:
        sys.stdout = sys.stderr
        return run_loop(_serve_stdio(config))
    host, port = _address(http, token=token)
    return run_loop(_serve_http(config, host, port, _token() if token else ""))


def _fixed(config: RunConfig) -> RunConfig:
    """Read-only unless a mode was named. It is also the limit, unless a wider one was named: then the client's user can
    approve a plan up to it. No other answer and no session widens anything."""
    wanted, limit = parse_mode(config.permission_mode or "plan"), parse_mode(config.permission_limit or "everything")
    assert wanted is not None and limit is not None  # the flags were checked
    mode = limit if is_wider(wanted, limit) else wanted
    root = os.path.realpath(os.path.expanduser(config.cwd) if config.cwd else os.getcwd())
    if not os.path.isdir(root):
        raise UsageError(f'--cwd "{config.cwd}": not a directory')
    return msgspec.structs.replace(
        config,
        cwd=root,
        permission_mode=mode,
        permission_limit=limit if mode == "plan" and config.permission_limit else mode,
    )


def _address(typed: str, *, token: bool) -> tuple[str, int]:
    host, _, port = typed.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise UsageError(f'--http "{typed}": expected PORT or HOST:PORT')
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if host not in _LOOPBACK and not token:
        raise UsageError(f"--http {typed}: other machines could connect; require a token with --token")
    return _LOOPBACK.get(host, host), int(port)


def _token() -> str:
    """That of the environment, which nothing started here inherits, else a new one."""
    given = os.environ.pop(TOKEN, "")
    if not given:
        given = secrets.token_urlsafe(24)
        print_notice(f"token: {given}")
    if len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable() or " " in given:
        raise UsageError(f"{TOKEN}: expected at least {_SHORTEST_TOKEN} characters without spaces")
    return given


class _Stopping:
    """Calls ``end`` at the first signal; ``code`` is the exit code."""

    def __init__(self) -> None:
        self.code = 0
        self.ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in EXIT_CODES:
            loop.add_signal_handler(number, self._stop, number)

    def _stop(self, number: signal.Signals) -> None:
        self.code = EXIT_CODES[number]
        self.ended.set()


async def _serve_stdio(config: RunConfig) -> int:
    from zot.frontends.mcp_server.stdio import StdioServer
    from zot.system.background_tasks import BackgroundTasks

    engine, stopping, tasks = Service(config).engine(), _Stopping(), BackgroundTasks()
    server = StdioServer(engine)
    if os.isatty(0):
        print_notice("waiting for an MCP client on stdin; see `zot docs mcp-server` (ctrl+c ends)")
    resume_gc()

    async def end() -> None:
        await stopping.ended.wait()
        server.end()

    tasks.start(end())
    try:
        await server.run()
    finally:
        await engine.aclose()
        tasks.cancel()
    if server.reason:
        print_notice(server.reason)
    return stopping.code or (1 if server.reason else 0)


async def _serve_http(config: RunConfig, host: str, port: int, token: str) -> int:
    from zot.frontends.mcp_server.http_server import HttpServer

    engine, stopping = Service(config).engine(), _Stopping()
    server = HttpServer(engine, token)
    await server.start(host, port)
    shown = f"[{host}]" if ":" in host else host
    print_notice(f"MCP server at http://{shown}:{server.port}/mcp (ctrl+c ends)")
    resume_gc()
    try:
        await stopping.ended.wait()
    finally:
        await server.aclose()
        await engine.aclose()
    return stopping.code
