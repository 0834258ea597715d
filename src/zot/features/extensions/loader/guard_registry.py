"""Which extensions are guards: kept in ``$ZOT_HOME/guards.json``, the user's own by the name of their directory.

A manifest that can no longer be read does not say that it is a guard's, and one whose guard says so only in its hello
never does; this file does, so that a guard that is damaged, unreadable, gone or dead before its hello refuses instead
of being passed over. Removing or disabling one with ``zot ext`` forgets it. What a project's guards are is part of
their trust.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from zot.errors import ConfigError
from zot.system.files import locked, read_bytes, write_atomic

FILE = "guards.json"


class KnownGuards(msgspec.Struct, frozen=True):
    guards: frozenset[str] = frozenset()
    """Names of directories in the user's own extensions."""
    paths: frozenset[str] = frozenset()
    """Elsewhere, by ``project_key``: those that were named with ``--ext`` or run under ``--trust-project``."""


def known_guards(home: Path) -> KnownGuards:
    """ConfigError when the file cannot be used: then nobody can say which guard is missing."""
    path = home / FILE
    data = read_bytes(path)
    if data is None:
        return KnownGuards()
    try:
        return msgspec.json.decode(data, type=KnownGuards)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ConfigError(
            f"{path}: {error}; look at `zot ext list` for missing guards, then delete the file"
        ) from error


def remember(
    home: Path, *, learned: Collection[str] = (), forgotten: Collection[str] = (), paths: Collection[str] = ()
) -> None:
    """Change what is known, leaving alone what another process learned meanwhile. OSError when it cannot be written.

    ``forgotten`` are names or paths."""
    path = home / FILE
    with locked(path):
        known = known_guards(home)
        kept = KnownGuards((known.guards | set(learned)) - set(forgotten), (known.paths | set(paths)) - set(forgotten))
        if not (kept.guards or kept.paths):
            path.unlink(missing_ok=True)
        elif kept != known:
            fields = {name: names for name, names in msgspec.structs.asdict(kept).items() if names}
            encoded = msgspec.json.encode(fields, order="deterministic")
            write_atomic(path, msgspec.json.format(encoded, indent=2) + b"\n")


def forget(home: Path, name: str) -> bool:
    """Whether ``name`` was known as a guard until now."""
    if name not in known_guards(home).guards:
        return False
    remember(home, forgotten=[name])
    return True
