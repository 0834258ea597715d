"""The user's own extensions that ask for more than they were granted: what to decide about, and what a yes stores.

Only what a manifest asks for has changed: files that are not those that were installed are another matter, which no
question settles.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from zot.errors import ConfigError, ExtensionError
from zot.features.extensions.loader.declared_permissions import Permissions, wider, words
from zot.features.extensions.loader.discovery import candidates, global_dir
from zot.features.extensions.loader.lock_file import Locked, LockFile
from zot.features.extensions.loader.manifest import Manifest, read_manifest


class Widened(msgspec.Struct, frozen=True):
    """One of them as it was when it was looked at; ``asked`` None is everything."""

    directory: Path
    name: str
    exec: str
    args: tuple[str, ...]
    guard: bool
    asked: Permissions | None
    wider: tuple[str, ...]
    """What is more than was granted, in words."""

    @property
    def permissions(self) -> list[str]:
        """All that it would get, in words."""
        return words(self.asked)


def widened(home: Path) -> list[Widened]:
    """Those that would run if it were granted, sorted: one question lists them all."""
    lock, found = LockFile(home), list[Widened]()
    directories: list[Path] = []
    with suppress(ExtensionError):  # they cannot be listed; discovery tells why
        directories = candidates(global_dir(home))
    for directory in directories:
        with suppress(ExtensionError, ConfigError, OSError):  # it cannot run; its start tells why
            if (entry := _looked_at(directory, lock)) is not None:
                found.append(entry)
    return found


def grant(home: Path, seen: Widened) -> None:
    """Exactly what was shown; ExtensionError when it asks for something else by now."""
    lock = LockFile(home)
    if _looked_at(seen.directory, lock) != seen:
        raise ExtensionError("has changed since you were asked; look again")
    lock.grant(seen.directory.name, seen.asked)


def _looked_at(directory: Path, lock: LockFile) -> Widened | None:
    manifest = read_manifest(directory)
    known = lock.of(directory.name)
    if not (manifest.has_process and manifest.enabled) or known is None or not known.confined:
        return None
    more = wider(known.granted, manifest.permissions)
    if not more or not _is_as_installed(manifest, known, lock):
        return None
    name, exec, args = manifest.name, manifest.exec, manifest.args
    return Widened(directory, name, exec, args, manifest.guard, manifest.permissions, tuple(more))


def _is_as_installed(manifest: Manifest, known: Locked, lock: LockFile) -> bool:
    return not known.pins or lock.is_intact(manifest.directory)
