"""Installed extensions of the project and the user, by manifest or directory name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from zot.errors import ExtensionError, UsageError, ZotError
from zot.features.extensions.loader.discovery import Scope, candidates, global_dir, project_dir
from zot.features.extensions.loader.manifest import Manifest, check_name, read_manifest
from zot.system.files import zot_home


class Installed(msgspec.Struct, frozen=True):
    """``manifest`` is None if the file cannot be used; ``problem`` is why."""

    scope: Scope
    directory: Path
    manifest: Manifest | None
    problem: str = ""

    @property
    def name(self) -> str:
        return self.manifest.name if self.manifest else self.directory.name


def all_installed(home: Path | None = None, cwd: Path | None = None) -> list[Installed]:
    project, own = project_dir(cwd or Path.cwd()), global_dir(home or zot_home())
    places: list[tuple[Scope, Path]] = [("project", project), ("global", own)]
    found = [_read(scope, directory) for scope, place in places for directory in candidates(place)]
    return sorted(found, key=lambda item: (item.scope != "project", item.name, str(item.directory)))


def find(name: str, notify: Callable[[str], None]) -> Installed:
    """The one installation with this name; ZotError for none or several, which are listed."""
    typed_name(name)
    matches = [item for item in all_installed() if name in (item.name, item.directory.name)]
    if not matches:
        raise ZotError(f'no extension named "{name}" is installed; see `zot ext list`')
    if len(matches) > 1:
        for item in matches:
            notify(f"  {item.scope}  {item.directory}")
        raise ZotError(f'"{name}" matches {len(matches)} installations (listed above); nothing was changed')
    return matches[0]


def typed_name(name: str) -> str:
    """Validates a typed name before it becomes part of a path."""
    try:
        return check_name(name)
    except ExtensionError as error:
        raise UsageError(f"invalid extension name {name!r}: path separators are not allowed") from error


def _read(scope: Scope, directory: Path) -> Installed:
    try:
        return Installed(scope, directory, read_manifest(directory))
    except ExtensionError as error:
        return Installed(scope, directory, None, str(error))
