"""Paths of zot's home and caches as texts, without imports: listing models needs no more."""

from __future__ import annotations

import os
import sys

from zot.errors import ConfigError


def zot_home_path() -> str:
    """``ZOT_HOME``, ``$XDG_STATE_HOME/zot`` or the platform's path, absolute. ConfigError if there is none: settings
    must never come from the working directory."""
    if explicit := os.environ.get("ZOT_HOME"):
        if (expanded := os.path.expanduser(explicit)).startswith("~"):
            raise ConfigError(f'ZOT_HOME is "{explicit}", which has no such home directory; set it to an absolute path')
        return os.path.abspath(expanded)
    if os.path.isabs(state := os.environ.get("XDG_STATE_HOME", "")):  # relative paths are ignored
        return os.path.join(state, "zot")
    home = _home_directory()
    if not home:
        raise ConfigError("no home directory for zot's files; set HOME or ZOT_HOME to an absolute path")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "zot")
    return os.path.join(home, ".local", "state", "zot")


def user_home() -> str:
    """The user's home directory; without one ``/``, where only root can write."""
    return _home_directory() or "/"


def cache_home() -> str:
    """Directory of downloads: ``$XDG_CACHE_HOME/zot``, else ``~/.cache/zot``; not created here."""
    place = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(place if os.path.isabs(place) else os.path.join(user_home(), ".cache"), "zot")


def _home_directory() -> str:
    """Absolute, or empty: a relative one would depend on the working directory."""
    home = os.path.expanduser("~")
    return home if os.path.isabs(home) else ""
