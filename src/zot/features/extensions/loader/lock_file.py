"""``$ZOT_HOME/ext-lock.json``: pinned files and granted permissions of the user's extensions.
Each start compares the files, reading only those with changed metadata; a difference prevents the start. More
permissions than granted are refused."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.errors import ConfigError, ExtensionError
from zot.features.extensions.loader.data_dir import LOCK
from zot.features.extensions.loader.declared_permissions import Permissions, added_permissions, describe_permissions
from zot.features.extensions.loader.manifest import FILE, Manifest, host_of_address, read_manifest
from zot.system.digest import sha256_of
from zot.system.json_store import JsonStore
from zot.system.safe_open import open_buffered

VERSION = 1


class Pin(msgspec.Struct, frozen=True):
    """``digest`` is of the content or a link's target; ``mark`` is the file's metadata."""

    digest: str
    mark: str = ""


class LockEntry(msgspec.Struct, frozen=True):
    """``pins``: accepted contents, two during an update. ``confined``: limited to ``granted``; otherwise all rights."""

    pins: tuple[dict[str, Pin], ...] = ()
    confined: bool = False
    granted: Permissions = Permissions()
    uses: tuple[str, ...] | None = None
    """Granted words of ``uses``; None if the entry is older than they are."""
    secrets: tuple[str, ...] = ()
    """Providers whose key the user let it read."""


class _LockFields(msgspec.Struct):
    version: int = VERSION
    extensions: dict[str, LockEntry] = {}


class LockFile:
    """By directory name in the user's extensions."""

    def __init__(self, home: Path) -> None:
        self.path = home / LOCK
        advice = "repair the file, or delete it to drop all pins and grants"
        self._file = JsonStore(self.path, _LockFields, advice)

    def of(self, name: str) -> LockEntry | None:
        return self._file.load().extensions.get(name)

    def check(self, manifest: Manifest) -> LockEntry | None:
        """ExtensionError if files or permissions differ from the accepted ones."""
        name = manifest.directory.name
        known = self.of(name)
        if known is None:
            return None
        if known.pins and (wrong := min((_differences(manifest.directory, pins) for pins in known.pins), key=len)):
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            fix = f"restore it: `zot ext update --force {name}`; accept it as it is: `zot ext trust {name}`"
            path, what = manifest.directory / wrong[0][0], wrong[0][1]
            raise ExtensionError(f"{path} {what} since it was installed{more}; {fix}")
        if known.confined and (more := added_permissions(known.granted, manifest.permissions)):
            raise ExtensionError(f"requests more than you granted: {'; '.join(more)}; {_grant(name)}")
        if more := _added_uses(known, manifest):
            raise ExtensionError(f"wants more of zot than you granted: it {'; it '.join(more)}; {_grant(name)}")
        return known

    def is_intact(self, directory: Path) -> bool:
        known = self.of(directory.name)
        return known is not None and any(not _differences(directory, pins) for pins in known.pins)

    # --- deciding

    def stage_update(self, name: str, files: dict[str, Pin]) -> None:
        """Pin the next version beside the current one: during an update either may be found."""
        with self._file.edit() as content:
            old = content.extensions.get(name)
            if old is not None and old.pins:
                content.extensions[name] = msgspec.structs.replace(old, pins=(old.pins[0], files))

    def accept(self, name: str, manifest: Manifest, files: dict[str, Pin] | None) -> None:
        """Pin these files, if known, and grant what the manifest requests."""
        pins = (files,) if files is not None else ()
        with self._file.edit() as content:
            content.extensions[name] = _entry(pins, manifest.permissions, manifest.uses)

    def grant(self, name: str, permissions: Permissions | None, uses: tuple[str, ...]) -> None:
        """Grant this; the files stay pinned."""
        with self._file.edit() as content:
            pins = known.pins if (known := content.extensions.get(name)) else ()
            content.extensions[name] = _entry(pins, permissions, uses)

    def grant_first(self, manifest: Manifest) -> None:
        """Limit an extension to what it requests now, if that was not decided yet."""
        with self._file.edit() as content:
            known = content.extensions.get(manifest.directory.name)
            if known is None:
                known = _entry((), manifest.permissions, manifest.uses)
            elif known.uses is None:
                known = msgspec.structs.replace(known, uses=manifest.uses)
            content.extensions[manifest.directory.name] = known

    def grant_secret(self, name: str, provider: str) -> None:
        with self._file.edit() as content:
            known = content.extensions.get(name, LockEntry())
            content.extensions[name] = msgspec.structs.replace(known, secrets=(*known.secrets, provider))

    def repin(self, directory: Path, name: str) -> None:
        """Pin a file that zot itself rewrote."""
        with self._file.edit() as content:
            old = content.extensions.get(directory.name)
            if old is not None and old.pins:
                pins = tuple({**files, name: pin(directory / name)} for files in old.pins if name in files)
                content.extensions[directory.name] = msgspec.structs.replace(old, pins=pins or old.pins)

    def forget(self, name: str) -> None:
        if self.path.exists():
            with self._file.edit() as content:
                content.extensions.pop(name, None)


def _entry(pins: tuple[dict[str, Pin], ...], permissions: Permissions | None, uses: tuple[str, ...]) -> LockEntry:
    return LockEntry(pins, permissions is not None, permissions or Permissions(), uses)


def _added_uses(known: LockEntry, manifest: Manifest) -> list[str]:
    if not manifest.uses:
        return []
    from zot.features.extensions.loader.declared_uses import added_uses  # most extensions have none

    return added_uses(known.uses, manifest.uses)


def _grant(name: str) -> str:
    return f"grant it: `zot ext trust {name}`"


def pins_of(directory: Path, names: Iterable[str]) -> dict[str, Pin]:
    found: dict[str, Pin] = {}
    for name in names:
        with suppress(FileNotFoundError):
            found[name] = pin(directory / name)
    return found


def pin(path: Path) -> Pin:
    mark = _mark(path)  # first, so that a change during the read is detected
    return Pin(_digest(path), mark)


def _differences(directory: Path, pins: dict[str, Pin]) -> list[tuple[str, str]]:
    """Each file with its difference; the manifest last, since it changes most often."""
    found: list[tuple[str, str]] = []
    for name in sorted(pins, key=lambda name: (name == FILE, name)):
        path, expected = directory / name, pins[name]
        try:
            if expected.mark != _mark(path) and _digest(path) != expected.digest:
                found.append((name, "changed"))
        except FileNotFoundError:
            found.append((name, "is missing"))
        except OSError as error:
            found.append((name, f"cannot be read ({error.strerror})"))
    return found


def _mark(path: Path) -> str:
    """Metadata with the status-change time, which cannot be set back."""
    info = path.lstat()
    return f"{info.st_ino} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_mode:o}"


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    with open_buffered(path) as file:
        return sha256_of(file)


# The user's extensions that request more than granted. Changed files are not covered by this question.


class PermissionChange(msgspec.Struct, frozen=True):
    """One of them as it was when read; ``asked`` None is all rights."""

    directory: Path
    name: str
    exec: str
    args: tuple[str, ...]
    guard: bool
    asked: Permissions | None
    wider: tuple[str, ...]
    """Descriptions of the additional permissions and words."""
    uses: tuple[str, ...] = ()

    @property
    def permissions(self) -> list[str]:
        from zot.features.extensions.loader.declared_uses import describe_uses

        return [*describe_permissions(self.asked), *describe_uses(self.uses, host_of_address(self.exec))]


def find_permission_changes(home: Path) -> list[PermissionChange]:
    """Extensions that a grant would let run, sorted for one question."""
    from zot.features.extensions.loader.discovery import candidates, global_dir

    lock, found = LockFile(home), list[PermissionChange]()
    directories: list[Path] = []
    with suppress(ExtensionError):  # discovery reports why they cannot be listed
        directories = candidates(global_dir(home))
    for directory in directories:
        with suppress(ExtensionError, ConfigError, OSError):  # the start reports why it cannot run
            if (entry := _looked_at(directory, lock)) is not None:
                found.append(entry)
    return found


def grant(home: Path, seen: PermissionChange) -> None:
    """Grant exactly what was shown; ExtensionError if it changed."""
    lock = LockFile(home)
    if _looked_at(seen.directory, lock) != seen:
        raise ExtensionError("changed during the review; review it again")
    lock.grant(seen.directory.name, seen.asked, seen.uses)


def _looked_at(directory: Path, lock: LockFile) -> PermissionChange | None:
    manifest = read_manifest(directory)
    known = lock.of(directory.name)
    if not (manifest.has_process and manifest.enabled) or known is None:
        return None
    more = added_permissions(known.granted, manifest.permissions) if known.confined else []
    more += _added_uses(known, manifest)
    if not more or not (not known.pins or lock.is_intact(manifest.directory)):
        return None
    name, exec, args = manifest.name, manifest.command, manifest.args
    return PermissionChange(
        directory, name, exec, args, manifest.guard, manifest.permissions, tuple(more), manifest.uses
    )
