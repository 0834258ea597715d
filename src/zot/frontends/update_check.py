"""Checks for a newer zot, only if the user configured a release feed (``update_url``).
Requests take at most four seconds and fail silently; a found version is cached for twelve hours."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path

import msgspec

from zot.agent.settings import Settings
from zot.errors import ProviderError
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool
from zot.system.files import write_atomic
from zot.system.safe_open import read_whole

FRESH_S = 12 * 3600
_TIMEOUT_S = 4.0
_BODY_MAX = 1 << 20
_DEVELOPMENT = ("", "dev", "0.0.0")


class Update(msgspec.Struct, frozen=True):
    latest: str
    url: str = ""


class Release(msgspec.Struct, frozen=True):
    """A release in the feed; unknown fields are ignored."""

    tag_name: str = ""
    html_url: str = ""
    body: str | None = None


class UpdateCheckState(msgspec.Struct, frozen=True):
    """``update-check.json``: result of the last check and the version it was made for."""

    checked_at: float
    current_at: str
    latest: str
    url: str = ""


class UpdateCheck:
    """``find`` returns a newer version from the cache or the feed, or None."""

    def __init__(self, home: Path, version: str, update_url: str) -> None:
        self._path = home / "update-check.json"
        self._version = version
        self._url = update_url.rstrip("/")

    @property
    def enabled(self) -> bool:
        plain = self._version.split(" ")[0]
        return bool(self._url) and plain not in _DEVELOPMENT and not os.environ.get("ZOT_NO_UPDATE_CHECK")

    async def find(self, pool: HttpPool) -> Update | None:
        if not self.enabled:
            return None
        if cached := self._cached():
            return cached
        release = await fetch_release(pool, f"{self._url}/latest")
        if release is None or not release.tag_name:
            return None
        checked = UpdateCheckState(time.time(), self._version, release.tag_name, release.html_url)
        with contextlib.suppress(OSError):  # the feed is checked again next time
            write_atomic(self._path, msgspec.json.encode(checked))
        return self._newer(release.tag_name, release.html_url)

    def _cached(self) -> Update | None:
        """Only a found update is cached."""
        try:
            checked = msgspec.json.decode(read_whole(self._path), type=UpdateCheckState)
        except (OSError, msgspec.DecodeError):
            return None
        fresh = 0 <= time.time() - checked.checked_at < FRESH_S and checked.current_at == self._version
        return self._newer(checked.latest, checked.url) if fresh else None

    def _newer(self, latest: str, url: str) -> Update | None:
        return Update(latest.removeprefix("v"), url) if version_key(latest) > version_key(self._version) else None


async def fetch_release(pool: HttpPool, url: str) -> Release | None:
    """One release of the feed; None for every failure."""
    request = HttpRequest("GET", url, [("accept", "application/json"), ("user-agent", "zot")], b"")
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            response = await pool.dispatch(request)
            body = await response.read(_BODY_MAX)
        return msgspec.json.decode(body, type=Release) if response.status == 200 else None
    except (ProviderError, TimeoutError, msgspec.DecodeError):
        return None


def version_key(text: str) -> tuple[int, int, int]:
    """The first three numbers of a version, without a leading ``v`` and text after a space or ``(``."""
    plain = text.strip().removeprefix("v").split(" ")[0].split("(")[0]
    parts = [int(part) if part.isascii() and part.isdigit() else 0 for part in plain.split(".")[:3]]
    first, second, third = (*parts, 0, 0, 0)[:3]
    return first, second, third


# --- what is new, shown once after an upgrade


async def whats_new(settings: Settings, version: str, pool: HttpPool) -> str:
    """The text to show now, or nothing. ``dismissed`` stores that it was seen."""
    plain = version.split(" ")[0]
    url, shown = settings.values.update_url.rstrip("/"), settings.values.last_changelog_shown
    if not url or plain in ("", "dev"):
        return ""
    if not shown:
        settings.save(last_changelog_shown=plain)
        return ""
    if shown.split(" ")[0] == plain:
        return ""
    release = await fetch_release(pool, f"{url}/latest" if plain == "0.0.0" else f"{url}/tags/v{plain}")
    return changelog_part(release.body or "") if release else ""


def dismissed(settings: Settings, version: str) -> None:
    settings.save(last_changelog_shown=version.split(" ")[0])


def changelog_part(body: str) -> str:
    """From a ``## Changelog`` heading to the end, else everything."""
    lines = body.splitlines()
    starts = [number for number, line in enumerate(lines) if line.strip().lower() == "## changelog"]
    return "\n".join(lines[starts[0] :] if starts else lines).strip()
