"""``zot mcp login``: the server is asked what it wants, the browser is opened, and the login is kept.

Over ssh, or where no browser can be opened, the address is printed and what comes back may be pasted.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.settings import Settings
from zot.agent.tools.workspace import Workspace
from zot.cli.output import show, tell
from zot.cli.verbs.mcp import host_for
from zot.errors import ZotError
from zot.features.login.browser import has_browser, open_in_browser
from zot.features.mcp.config import ServerConfig, expanded
from zot.features.mcp.list_cache import forget
from zot.features.mcp.oauth import log_in
from zot.features.mcp.protocol import McpError, NeedsLogin
from zot.provider.http.pool import HttpPool
from zot.system.password_prompt import LineReader

if TYPE_CHECKING:
    from zot.provider.auth.oauth.login_progress import LoginStep


async def run_login(home: Path, cwd: Path, entry: ServerConfig, seconds: float) -> int:
    """The exit code; ZotError says why nobody is logged in."""
    if entry.kind != "http":
        raise ZotError(f"{entry.name} is a program on this machine: it needs no login here")
    host = host_for(home, cwd, entry)
    store = host.store
    assert store is not None
    url = expanded(entry, os.environ.get)[0].url
    pool = HttpPool(proxy=Settings(home).values.http_proxy)
    try:
        challenge = await _challenge(host.running(entry.name))
        if challenge is None:
            show(f"{entry.name} takes you as you are: no login is needed")
            return 0
        lines = LineReader(0)

        async def pasted() -> str:
            typed = await lines.next()
            if typed is None:  # nobody can paste any more: the browser may still come
                await asyncio.Future[None]()
            return typed or ""

        def show_step(step: LoginStep) -> None:
            tell(step.text)
            if step.kind == "open":
                tell(step.url)
                if has_browser(os.environ):
                    open_in_browser(step.url, Workspace(cwd).free_environment())

        await log_in(
            pool,
            store,
            url,
            challenge,
            expanded(entry, os.environ.get)[0].login,
            tell=show_step,
            pasted=pasted if os.isatty(0) else None,
            limit_s=seconds,
        )
        forget(home, entry)  # what it shows to strangers is not what it shows to you
    finally:
        await host.stop()
        await pool.aclose()
    show(f"logged in to {entry.name}")
    return 0


async def _challenge(server: object) -> str | None:
    """What the server says to somebody who is not logged in; None when it does not mind."""
    from zot.features.mcp.server import Server

    assert isinstance(server, Server)
    try:
        await server.session()
        await server.request("tools/list", {}, seconds=30.0)
    except NeedsLogin as error:
        return error.challenge
    except McpError as error:
        raise ZotError(str(error)) from error
    return None
