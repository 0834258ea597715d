"""A home and a project with extensions in them, made of real files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zot.features.extensions.loader.discovery import Discovery, discover
from zot.features.extensions.loader.extension_trust import ExtensionTrust


@dataclass
class Places:
    home: Path
    cwd: Path

    @property
    def trust(self) -> ExtensionTrust:
        return ExtensionTrust(self.home)

    def explicit(self, folder: str, /, **fields: Any) -> Path:
        return extension(self.cwd.parent / "elsewhere" / folder, **fields)

    def project(self, folder: str, /, *, trusted: bool = True, **fields: Any) -> Path:
        directory = extension(self.cwd / ".zot" / "extensions" / folder, **fields)
        if trusted:
            self.trust.trust(directory)
        return directory

    def own(self, folder: str, /, **fields: Any) -> Path:
        return extension(self.home / "extensions" / folder, **fields)

    def discover(self, *explicit: Path, scan: bool = True, trust_project: bool = False) -> Discovery:
        return discover(
            explicit=explicit, cwd=self.cwd, home=self.home, scan=scan, trust=self.trust, trust_project=trust_project
        )

    def names(self, *explicit: Path, **options: Any) -> list[tuple[str, str]]:
        return [(entry.scope, entry.manifest.name) for entry in self.discover(*explicit, **options).entries]


def extension(directory: Path, /, **fields: Any) -> Path:
    """A directory with a manifest and a script; fields given as None are left out of the manifest."""
    directory.mkdir(parents=True)
    (directory / "main.py").write_text("print('hello')\n")
    manifest = {"name": directory.name, "exec": "python3", "args": ["main.py"], **fields}
    kept = {key: value for key, value in manifest.items() if value is not None}
    (directory / "extension.json").write_text(json.dumps(kept))
    return directory
