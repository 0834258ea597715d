"""``zot update [--check]``: says what is newer and how to get it; installing is the package manager's work."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import zot
from zot import __version__
from zot.agent.settings import Settings
from zot.agent.updates import Update, UpdateCheck
from zot.errors import UsageError, ZotError
from zot.provider.http.pool import HttpPool
from zot.system.files import zot_home

NEWER = 10  # the exit code of --check when there is an update


def run(argv: list[str]) -> int:
    if argv in (["-h"], ["--help"]):
        print("zot update [--check]: whether there is a newer zot and how to install it; --check exits 10 if there is")
        return 0
    if argv not in ([], ["--check"]):
        raise UsageError(f'zot update: unexpected "{argv[0]}"')
    settings = Settings(zot_home())
    if not settings.values.update_url:
        return _without_feed(check=bool(argv))
    found = asyncio.run(_find(settings))
    print(f"zot {__version__}" + (f", newest {found.latest} {found.url}".rstrip() if found else " is the newest known"))
    if found:
        print(f"install it with: {install_command()}")
    return NEWER if found and argv else 0


def _without_feed(*, check: bool) -> int:
    if check:
        raise ZotError("zot update --check: no update_url is configured, so nobody was asked")
    print(f"zot {__version__}; no update_url is configured, so nobody was asked for a newer one")
    print(f"upgrade with: {install_command()}")
    return 0


async def _find(settings: Settings) -> Update | None:
    pool = HttpPool(proxy=settings.values.http_proxy)
    try:
        return await UpdateCheck(zot_home(), __version__, settings.values.update_url).find(pool)
    finally:
        await pool.aclose()


def install_command() -> str:
    """The right command for how this zot was installed."""
    prefix = sys.prefix.replace("\\", "/")
    if "/pipx/" in prefix:
        return "pipx upgrade zot"
    if "/uv/tools/" in prefix:
        return "uv tool upgrade zot"
    if checkout := _checkout():
        return f"cd {checkout} && git pull && make try"
    return f"{sys.executable} -m pip install --upgrade zot"


def _checkout() -> Path | None:
    """The repository this zot runs from, if it does: a package manager knows nothing newer about that."""
    root = Path(zot.__file__).parents[2]
    return root if (root / "Makefile").is_file() and (root / "pyproject.toml").is_file() else None
