"""What of an environment goes with a worker to another machine: what means the same there, and what a person named.

Never a secret, by its name or by what is in it, whoever let it through here: the worker's key goes another way, and an
environment can be read on its node.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from zot.swarm.engines.engine import Credential
from zot.swarm.worker_env import strip_keys
from zot.system.jail.policy import ENVIRONMENT
from zot.system.secret_variables import looks_like_secret, matches

# How to speak and what to build.
_COMMON = frozenset(
    {
        *("LANG", "LANGUAGE", "TZ", "CI", "NO_COLOR", "FORCE_COLOR", "NODE_ENV", "SOURCE_DATE_EPOCH"),
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "GOFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS"),
    }
)
# Places and ways of this machine, which a pattern such as ``*`` must not carry to one that has its own.
_STAYING = (ENVIRONMENT - _COMMON) | {"OLDPWD", "SHLVL", "MAIL", "DISPLAY", "PYTHONHOME", "_"}
_STAYING_KINDS = ("RAY_", "GIT_", "ZOT_", "ZOTCORE_", "LD_", "DYLD_", "XDG_", "SSH_", "DBUS_", "BASH_FUNC_")
_PASSWORD = re.compile(r"://[^/\s]*:[^/\s]*@")
_SHORTEST_KEY = 8  # a shorter one may be part of anything


def portable_environment(
    environment: Mapping[str, str], passthrough: Collection[str] = (), credential: Credential | None = None
) -> dict[str, str]:
    """``passthrough`` are names and patterns a person gave, ``credential`` is the worker's own."""
    return {
        name: value
        for name, value in strip_keys(environment).items()
        if (name in _COMMON or name.startswith("LC_") or matches(name, passthrough))
        and name not in _STAYING
        and not name.startswith(_STAYING_KINDS)
        and not _is_secret(name, value, credential)
    }


def _is_secret(name: str, value: str, credential: Credential | None) -> bool:
    """By its name, or because an address with a password, or the worker's own key, is in it."""
    key = credential.value if credential is not None else ""
    has_key = len(key) >= _SHORTEST_KEY and key in value
    return has_key or looks_like_secret(name) or _PASSWORD.search(value) is not None
