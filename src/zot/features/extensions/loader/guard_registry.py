"""Known guards (``$ZOT_HOME/guards.json``).
A damaged or missing manifest cannot declare a guard, so this file ensures that such a guard denies instead of being
skipped. Guards of projects are part of their trust."""

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
    """Elsewhere, by ``project_key``: guards named with ``--ext`` or run under ``--trust-project``."""


class _GuardsFile(JsonStore[KnownGuards]):
    """Without guards there is no file."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / FILE, KnownGuards, "check `zot ext list` for missing guards, then delete the file")

    def encode(self, content: KnownGuards) -> bytes:
        fields = {name: names for name, names in msgspec.structs.asdict(content).items() if names}
        return msgspec.json.format(msgspec.json.encode(fields, order="deterministic"), indent=2) + b"\n"

    def write(self, data: bytes) -> None:
        if data == self.encode(KnownGuards()):
            self.path.unlink(missing_ok=True)
        else:
            super().write(data)


def known_guards(home: Path) -> KnownGuards:
    """ConfigError if the file cannot be used: missing guards are then unknown."""
    return _GuardsFile(home).load()


def remember(
    home: Path, *, learned: Collection[str] = (), forgotten: Collection[str] = (), paths: Collection[str] = ()
) -> None:
    """Add and remove guards (names or paths) without losing changes of other processes. Raises OSError."""
    with _GuardsFile(home).edit() as known:
        known.guards = (known.guards | set(learned)) - set(forgotten)
        known.paths = (known.paths | set(paths)) - set(forgotten)


def forget(home: Path, name: str) -> bool:
    """True if ``name`` is a known guard."""
    if name not in known_guards(home).guards:
        return False
    remember(home, forgotten=[name])
    return True
