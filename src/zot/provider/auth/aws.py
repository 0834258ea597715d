"""Amazon's access keys where Amazon's own programs keep them: the environment, then a profile of the shared files.

Only keys that stand there are read. A profile that has to be asked for one (SSO, a role, another program) is left to
``api_key_command``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from zot.system.safe_open import read_whole

_SPOTS = {"credentials": "AWS_SHARED_CREDENTIALS_FILE", "config": "AWS_CONFIG_FILE"}


def environment_key(environ: Mapping[str, str]) -> str:
    """``ID:SECRET[:TOKEN]``, or nothing."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    return _joined([environ.get(name, "").strip() for name in names])


def profile_key(environ: Mapping[str, str]) -> str:
    """The same out of the profile ``AWS_PROFILE`` names, or ``default``."""
    profile = _profile(environ)
    return _joined([profile.get(f"aws_{name}", "") for name in ("access_key_id", "secret_access_key", "session_token")])


def profile_region(environ: Mapping[str, str]) -> str:
    return _profile(environ).get("region", "")


def _joined(parts: list[str]) -> str:
    return ":".join(part for part in parts if part) if all(parts[:2]) else ""


def _profile(environ: Mapping[str, str]) -> dict[str, str]:
    """What both files say of the profile; the file of credentials wins."""
    name = environ.get("AWS_PROFILE") or environ.get("AWS_DEFAULT_PROFILE") or "default"
    found: dict[str, str] = {}
    for file, headings in (("config", (name, f"profile {name}")), ("credentials", (name,))):
        place = environ.get(_SPOTS[file]) or str(Path(environ.get("HOME", "~"), ".aws", file))
        for heading in headings:
            found |= _section(Path(place).expanduser(), heading)
    return found


def _section(path: Path, heading: str) -> dict[str, str]:
    """The lines ``key = value`` under one heading; a file that is missing or unreadable has none."""
    try:
        text = read_whole(path).decode("utf-8", "replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.strip()[1:].partition("]")[0].strip() == heading
        elif inside and not line.startswith((" ", "\t", "#", ";")) and "=" in line:
            key, _, value = line.partition("=")
            found[key.strip().lower()] = value.strip()
    return found
