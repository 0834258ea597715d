"""Which files of an extension changed: looked at again and again, told when the writing has come to rest.

What the extension itself may write as its data is not watched, or a program that keeps state beside itself would be
restarted for ever; neither are folders that others fill.
"""

from __future__ import annotations

import os
from pathlib import Path

from zot.errors import ExtensionError
from zot.features.extensions.loader.legacy_data import looks_like_data
from zot.features.extensions.loader.manifest import Manifest, read_manifest

_PASSED_OVER = {"node_modules", "__pycache__", "venv"}
_MOST = 20_000

Marks = dict[str, tuple[int, int]]


class Watch:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known = self._look()
        self._seen = self._known

    def changed(self) -> list[str]:
        """Names of what is new, gone or different since this was last answered; empty while it goes on changing."""
        now = self._look()
        at_rest, self._seen = now == self._seen, now
        if not at_rest or now == self._known:
            return []
        before, self._known = self._known, now
        return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))

    def _look(self) -> Marks:
        manifest = self._manifest()
        found: Marks = {}
        for folder, folders, names in os.walk(self._directory):
            folders[:] = [name for name in folders if name not in _PASSED_OVER and not name.startswith(".")]
            for path in (Path(folder, name) for name in names):
                try:
                    if not looks_like_data(path, manifest):
                        status = path.stat()
                        found[str(path.relative_to(self._directory))] = status.st_mtime_ns, status.st_size
                except OSError:
                    continue  # gone in this moment
            if len(found) > _MOST:
                break
        return found

    def _manifest(self) -> Manifest:
        try:
            return read_manifest(self._directory)
        except ExtensionError:
            return Manifest("", self._directory)
