"""What is new, shown once after an upgrade; only with a configured release feed, like the update check.

The first launch ever only records the version. A text that cannot be fetched is tried again at the next launch.
"""

from __future__ import annotations

from zot.agent.settings import Settings
from zot.agent.updates import fetch_release
from zot.provider.http.pool import HttpPool


async def whats_new(settings: Settings, version: str, pool: HttpPool) -> str:
    """The text to show now, or nothing. ``dismissed`` records that it was seen."""
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
