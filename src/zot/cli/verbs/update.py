"""``zot update [--check]``: prints the newest version and the command that installs it."""

from __future__ import annotations

from zot import __version__
from zot.agent.settings import Settings
from zot.cli.output import print_result
from zot.errors import UsageError, ZotError
from zot.frontends.console import run_loop
from zot.frontends.update_check import Update, UpdateCheck
from zot.provider.http.pool import HttpPool
from zot.system.files import zot_home
from zot.system.installation import installation

NEWER = 10  # exit code of --check if there is an update


def run(argv: list[str]) -> int:
    if argv not in ([], ["--check"]):
        raise UsageError(f'zot update: unexpected "{argv[0]}"')
    settings = Settings(zot_home())
    if not settings.values.update_url:
        if argv:
            raise ZotError("zot update --check: no feed configured (setting update_url)")
        print_result(f"zot {__version__}; cannot check for a newer version: no feed configured (setting update_url)")
        _show_how("upgrade with")
        return 0
    found = run_loop(_find(settings))
    if found is None:
        print_result(f"zot {__version__} is the newest version in the feed")
        return 0
    print_result(f"zot {found.latest} is available; you have {__version__}")
    if found.url:
        print_result(found.url)
    _show_how("install it with")
    return NEWER if argv else 0


def _show_how(words: str) -> None:
    here = installation()
    print_result(f"{words}: {here.command}" if here.command else here.advice)


async def _find(settings: Settings) -> Update | None:
    pool = HttpPool(proxy=settings.values.http_proxy)
    try:
        return await UpdateCheck(zot_home(), __version__, settings.values.update_url).find(pool)
    finally:
        await pool.aclose()
