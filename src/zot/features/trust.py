"""Which guests of a project (MCP servers, hooks, commands, plugins) the user allowed to run: exactly that entry.

Records lie in ``$ZOT_HOME/trust.json`` beside those of extensions: for each project, a guest's kind and name, and the
SHA-256 of the entry as it was shown. Another entry under the same name is another guest, and asks again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from zot.features.json_store import StructFile
from zot.system.digest import sha256

GuestKind = Literal["mcp", "hooks", "commands", "plugin"]
ADVICE = "fix the file or delete it to trust nothing"


class _Records(msgspec.Struct):
    """The part of the file that is read here; what is written goes through the whole of it."""

    guests: dict[str, dict[str, str]] = {}


class GuestTrust:
    """Reads the file anew for each question, so that another process's answer is seen; a damaged one is a
    ConfigError."""

    def __init__(self, home: Path) -> None:
        self.path = home / "trust.json"

    def is_trusted(self, project: Path, kind: GuestKind, name: str, content: bytes) -> bool:
        return self.of_project(project).get(f"{kind} {name}") == sha256(content)

    def is_changed(self, project: Path, kind: GuestKind, name: str, content: bytes) -> bool:
        """Whether something else was trusted under that name."""
        return self.of_project(project).get(f"{kind} {name}", sha256(content)) != sha256(content)

    def of_project(self, project: Path) -> dict[str, str]:
        """``"kind name"`` and the digest of what was trusted."""
        return StructFile(self.path, _Records, ADVICE).load().guests.get(_key(project), {})

    def trust(self, project: Path, kind: GuestKind, name: str, content: bytes) -> None:
        from zot.features.extensions.loader.trust import trust_file  # only when something is trusted

        with trust_file(self.path).changing() as file:
            file.guests.setdefault(_key(project), {})[f"{kind} {name}"] = sha256(content)

    def untrust(self, project: Path, kind: GuestKind, name: str) -> bool:
        """Whether it had been trusted."""
        from zot.features.extensions.loader.trust import trust_file

        with trust_file(self.path).changing() as file:
            records = file.guests.get(_key(project), {})
            known = records.pop(f"{kind} {name}", None) is not None
            if not records:
                file.guests.pop(_key(project), None)
        return known


def _key(project: Path) -> str:
    return os.path.realpath(project).encode("utf-8", "replace").decode()
