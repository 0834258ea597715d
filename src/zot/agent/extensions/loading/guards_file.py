"""Which of the user's own extensions are guards, by the name of their directory: kept in ``$ZOT_HOME/guards.json``.

A manifest that can no longer be read does not say that it is a guard's; this file does, so that a damaged, unreadable
or vanished guard refuses instead of being passed over. Removing or disabling one with ``zot ext`` forgets it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from zot.errors import ConfigError
from zot.system.files import locked, read_bytes, write_atomic

FILE = "guards.json"


class _GuardsFile(msgspec.Struct, frozen=True):
    guards: frozenset[str] = frozenset()


def known_guards(home: Path) -> frozenset[str]:
    """Names of directories. ConfigError when the file cannot be used: then nobody can say which guard is missing."""
    path = home / FILE
    data = read_bytes(path)
    if data is None:
        return frozenset()
    try:
        return msgspec.json.decode(data, type=_GuardsFile).guards
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ConfigError(
            f"{path}: {error}; look at `zot ext list` for missing guards, then delete the file"
        ) from error


def remember(home: Path, *, learned: Collection[str] = (), forgotten: Collection[str] = ()) -> None:
    """Change what is known, leaving alone what another process learned meanwhile. OSError when it cannot be written."""
    path = home / FILE
    with locked(path):
        known = known_guards(home)
        kept = (known | set(learned)) - set(forgotten)
        if not kept:
            path.unlink(missing_ok=True)
        elif kept != known:
            encoded = msgspec.json.encode(_GuardsFile(kept), order="deterministic")
            write_atomic(path, msgspec.json.format(encoded, indent=2) + b"\n")


def forget(home: Path, name: str) -> bool:
    """Whether ``name`` was known as a guard until now."""
    if name not in known_guards(home):
        return False
    remember(home, forgotten=[name])
    return True
