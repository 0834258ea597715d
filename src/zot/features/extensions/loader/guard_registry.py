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

from zot.system.json_store import JsonStore

FILE = "guards.json"


class KnownGuards(msgspec.Struct):
    guards: set[str] = set()
    """Names of directories in the user's own extensions."""
    paths: set[str] = set()
    """Elsewhere, by ``project_key``: those that were named with ``--ext`` or run under ``--trust-project``."""


class _GuardsFile(JsonStore[KnownGuards]):
    """Without any guard there is no file."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / FILE, KnownGuards, "look at `zot ext list` for missing guards, then delete the file")

    def encode(self, content: KnownGuards) -> bytes:
        fields = {name: names for name, names in msgspec.structs.asdict(content).items() if names}
        return msgspec.json.format(msgspec.json.encode(fields, order="deterministic"), indent=2) + b"\n"

    def write(self, data: bytes) -> None:
        if data == self.encode(KnownGuards()):
            self.path.unlink(missing_ok=True)
        else:
            super().write(data)


def known_guards(home: Path) -> KnownGuards:
    """ConfigError when the file cannot be used: then nobody can say which guard is missing."""
    return _GuardsFile(home).load()


def remember(
    home: Path, *, learned: Collection[str] = (), forgotten: Collection[str] = (), paths: Collection[str] = ()
) -> None:
    """Change what is known, leaving alone what another process learned meanwhile. OSError when it cannot be written.

    ``forgotten`` are names or paths."""
    with _GuardsFile(home).edit() as known:
        known.guards = (known.guards | set(learned)) - set(forgotten)
        known.paths = (known.paths | set(paths)) - set(forgotten)


def forget(home: Path, name: str) -> bool:
    """Whether ``name`` was known as a guard until now."""
    if name not in known_guards(home).guards:
        return False
    remember(home, forgotten=[name])
    return True
