"""``$ZOT_HOME/ext-lock.json``: pinned files and granted permissions of the user's extensions. Each start compares the
files, reading only those with changed metadata; a difference prevents the start. More permissions than granted are
refused."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.errors import ConfigError, ExtensionError
from zot.features.extensions.loader.data_dir import LOCK
from zot.features.extensions.loader.declared_permissions import Permissions, added_permissions, describe_permissions
from zot.features.extensions.loader.manifest import FILE, Manifest, read_manifest
from zot.system.digest import sha256_of
from zot.system.json_store import JsonStore
from zot.system.safe_open import open_buffered

VERSION = 1


class Pin(msgspec.Struct, frozen=True):
    """``digest`` is of the content, or says where a link leads; ``mark`` is what the file system says about it."""

    digest: str
    mark: str = ""


class LockEntry(msgspec.Struct, frozen=True):
    """``pins``: accepted contents, two during an update. ``confined``: limited to ``granted``; otherwise all rights."""

    pins: tuple[dict[str, Pin], ...] = ()
    confined: bool = False
    granted: Permissions = Permissions()


class _LockFields(msgspec.Struct):
    version: int = VERSION
    extensions: dict[str, LockEntry] = {}


class LockFile:
    """By the name of the directory in the user's extensions."""

    def __init__(self, home: Path) -> None:
        self.path = home / LOCK
        advice = "repair the file, or delete it: then nothing is pinned and granted any more"
        self._file = JsonStore(self.path, _LockFields, advice)

    def of(self, name: str) -> LockEntry | None:
        return self._file.load().extensions.get(name)

    def check(self, manifest: Manifest) -> LockEntry | None:
        """ExtensionError when the files, or the permissions, are not those that were accepted."""
        name = manifest.directory.name
        known = self.of(name)
        if known is None:
            return None
        if known.pins and (wrong := min((_differences(manifest.directory, pins) for pins in known.pins), key=len)):
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            mend = f"`zot ext update --force {name}` brings it back, `zot ext trust {name}` accepts it as it is"
            path, what = manifest.directory / wrong[0][0], wrong[0][1]
            raise ExtensionError(f"{path} {what} since it was installed{more}; {mend}")
        if known.confined and (more := added_permissions(known.granted, manifest.permissions)):
            raise ExtensionError(
                f"asks for more than you granted it: {'; '.join(more)}; `zot ext trust {name}` grants it"
            )
        return known

    def is_intact(self, directory: Path) -> bool:
        known = self.of(directory.name)
        return known is not None and any(not _differences(directory, pins) for pins in known.pins)

    # --- deciding

    def stage_update(self, name: str, files: dict[str, Pin]) -> None:
        """What is about to take the place of what is there: until it has, both may be found."""
        with self._file.edit() as content:
            old = content.extensions.get(name)
            if old is not None and old.pins:
                content.extensions[name] = msgspec.structs.replace(old, pins=(old.pins[0], files))

    def accept(self, name: str, permissions: Permissions | None, files: dict[str, Pin] | None) -> None:
        """Exactly these files, if somebody knows which, and the permissions that it asks for now."""
        pins = (files,) if files is not None else ()
        with self._file.edit() as content:
            content.extensions[name] = LockEntry(pins, permissions is not None, permissions or Permissions())

    def grant(self, name: str, permissions: Permissions | None) -> None:
        """What it asks for by now; its files stay pinned as they are."""
        with self._file.edit() as content:
            pins = known.pins if (known := content.extensions.get(name)) else ()
            content.extensions[name] = LockEntry(pins, permissions is not None, permissions or Permissions())

    def grant_first(self, manifest: Manifest) -> None:
        """One that nobody installed and that says what it needs: from now on it gets no more than that."""
        with self._file.edit() as content:
            granted = LockEntry((), True, manifest.permissions or Permissions())
            content.extensions.setdefault(manifest.directory.name, granted)

    def repin(self, directory: Path, name: str) -> None:
        """A file of a pinned extension was rewritten by zot itself."""
        with self._file.edit() as content:
            old = content.extensions.get(directory.name)
            if old is not None and old.pins:
                pins = tuple({**files, name: pin(directory / name)} for files in old.pins if name in files)
                content.extensions[directory.name] = msgspec.structs.replace(old, pins=pins or old.pins)

    def forget(self, name: str) -> None:
        if self.path.exists():
            with self._file.edit() as content:
                content.extensions.pop(name, None)


def pins_of(directory: Path, names: Iterable[str]) -> dict[str, Pin]:
    found: dict[str, Pin] = {}
    for name in names:
        with suppress(FileNotFoundError):
            found[name] = pin(directory / name)
    return found


def pin(path: Path) -> Pin:
    mark = _mark(path)  # first: what changes while it is read does not count as read
    return Pin(_digest(path), mark)


def _differences(directory: Path, pins: dict[str, Pin]) -> list[tuple[str, str]]:
    """Each file with what happened to it; the manifest last, because its change is the one least surprising."""
    found: list[tuple[str, str]] = []
    for name in sorted(pins, key=lambda name: (name == FILE, name)):
        path, expected = directory / name, pins[name]
        try:
            if expected.mark != _mark(path) and _digest(path) != expected.digest:
                found.append((name, "has changed"))
        except FileNotFoundError:
            found.append((name, "is gone"))
        except OSError as error:
            found.append((name, f"cannot be read ({error.strerror})"))
    return found


def _mark(path: Path) -> str:
    """Nobody can give a changed file its old time of change of status back."""
    info = path.lstat()
    return f"{info.st_ino} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_mode:o}"


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    with open_buffered(path) as file:
        return sha256_of(file)


# The user's extensions that ask for more than they were granted. Changed files are another matter, which no question
# settles.


class PermissionChange(msgspec.Struct, frozen=True):
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
        return describe_permissions(self.asked)


def find_permission_changes(home: Path) -> list[PermissionChange]:
    """Those that would run if it were granted, sorted: one question lists them all."""
    from zot.features.extensions.loader.discovery import candidates, global_dir

    lock, found = LockFile(home), list[PermissionChange]()
    directories: list[Path] = []
    with suppress(ExtensionError):  # they cannot be listed; discovery tells why
        directories = candidates(global_dir(home))
    for directory in directories:
        with suppress(ExtensionError, ConfigError, OSError):  # it cannot run; its start tells why
            if (entry := _looked_at(directory, lock)) is not None:
                found.append(entry)
    return found


def grant(home: Path, seen: PermissionChange) -> None:
    """Exactly what was shown; ExtensionError when it asks for something else by now."""
    lock = LockFile(home)
    if _looked_at(seen.directory, lock) != seen:
        raise ExtensionError("has changed since you were asked; look again")
    lock.grant(seen.directory.name, seen.asked)


def _looked_at(directory: Path, lock: LockFile) -> PermissionChange | None:
    manifest = read_manifest(directory)
    known = lock.of(directory.name)
    if not (manifest.has_process and manifest.enabled) or known is None or not known.confined:
        return None
    more = added_permissions(known.granted, manifest.permissions)
    if not more or not (not known.pins or lock.is_intact(manifest.directory)):
        return None
    name, exec, args = manifest.name, manifest.exec, manifest.args
    return PermissionChange(directory, name, exec, args, manifest.guard, manifest.permissions, tuple(more))
