"""Trust in extensions of a project: records of their exact files, and the copies that run. Front ends ask the user."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ExtensionError
from zot.features.extensions.loader.declared_permissions import (
    OF_PROJECTS,
    Permissions,
    added_permissions,
    describe_permissions,
)
from zot.features.extensions.loader.declared_uses import added_uses, describe_uses
from zot.features.extensions.loader.manifest import FILE, MAX_BYTES, Manifest, read_manifest
from zot.features.trust import TrustStore, Untrusted, path_key, project_key
from zot.system.temp_files import remove_tree

if TYPE_CHECKING:
    from zot.features.extensions.loader.trusted_copy import FileDigest

NOT_AS_TRUSTED = "its files changed since you trusted them; review them, then run `zot ext trust`"

_MAKING = ".making-"
_A_DAY_S = 86_400


class ExtensionRecord(msgspec.Struct, frozen=True):
    """A trust record; ``guard`` is kept even if the files are lost, and implies enabled."""

    name: str = ""
    exec: str = ""
    args: tuple[str, ...] = ()
    guard: bool = False
    files: dict[str, str] = {}
    permissions: Permissions | None = None
    """Its permissions; None if undeclared."""
    unconfined: bool = False
    """The user let it run with all rights."""
    uses: tuple[str, ...] = ()


class _Records(msgspec.Struct):
    extensions: dict[str, ExtensionRecord] = {}


class ExtensionTrust:
    """Reads the store each time, since other processes change it.
    Hashing and copying are imported on demand."""

    def __init__(self, home: Path) -> None:
        self._store = TrustStore(home)
        self.path = self._store.path
        self._home = home
        self._editing: dict[str, tuple[Permissions, tuple[str, ...]]] = {}
        self.trusted_for_session: list[str] = []

    # --- checking

    def is_trusted(self, directory: Path) -> bool:
        """True if the directory has exactly the trusted content. Checked before every start."""
        return extension_key(directory) in self._editing or (
            self.record(directory) is not None and not self.changed(directory)
        )

    def record(self, directory: Path) -> ExtensionRecord | None:
        return self.record_by_key(extension_key(directory))

    def record_by_key(self, key: str) -> ExtensionRecord | None:
        return self._records().get(key)

    def changed(self, directory: Path) -> list[str]:
        """Differences from the trusted content, one line each; empty if equal or never trusted."""
        record = self.record(directory)
        if record is None:
            return []
        from zot.features.extensions.loader.trusted_copy import differences, fingerprint

        try:
            return differences(fingerprint(directory), record.files)
        except OSError as error:
            return [f"cannot read it: {error.strerror or error}"]
        except ExtensionError as error:
            return [str(error)]

    def is_unconfined(self, directory: Path) -> bool:
        """True if exactly this content was allowed all rights."""
        record = self.record(directory)
        return record is not None and record.unconfined and not self.changed(directory)

    def project_records(self, cwd: Path) -> dict[str, ExtensionRecord]:
        """Trust records of a project by ``extension_key``, including missing extensions."""
        parent = os.path.join(project_key(cwd), ".zot", "extensions")
        known = self._records()
        return {key: record for key, record in sorted(known.items()) if os.path.dirname(key) == parent}

    def trusted_path(self, directory: Path) -> Path:
        """The directory to run: the trusted copy, repaired if damaged, or the original if trusted for editing.
        ExtensionError if it may not run."""
        if (granted := self._editing.get(extension_key(directory))) is not None:
            manifest = read_manifest(directory)
            rights, words = granted
            more = [
                *added_permissions(rights, manifest.permissions or OF_PROJECTS),
                *added_uses(words, manifest.uses),
            ]
            if more:
                raise ExtensionError(f"requests more than you granted: {'; '.join(more)}; review it: `zot ext trust`")
            return directory
        record = self.record(directory)
        if record is None or self.changed(directory):
            raise ExtensionError(NOT_AS_TRUSTED)
        from zot.features.extensions.loader.trusted_copy import copy_path, is_intact, remove_untrusted_code

        copy = copy_path(self._home, extension_key(directory), directory.name, record.files)
        if not is_intact(copy, record.files):
            with self._copied(directory) as (making, _, files):
                if files != record.files:
                    raise ExtensionError(NOT_AS_TRUSTED)
                self._put(making, copy, files)
        remove_untrusted_code(copy, record.files)
        return copy

    def pending_decision(self, directory: Path) -> UntrustedExtension | None:
        """The decision for the user; None if it would not run.
        ExtensionError or OSError if it cannot be trusted. The manifest is the fingerprint's."""
        from zot.features.extensions.loader.trusted_copy import check_command, differences, fingerprint

        data = b""

        def keep(found: FileDigest, content: Iterator[bytes]) -> None:
            nonlocal data
            while found.name == FILE and len(data) <= MAX_BYTES and (chunk := next(content, b"")):
                data += chunk

        files = fingerprint(directory, keep)
        manifest = read_manifest(directory, data)
        if not (manifest.has_process and manifest.enabled):
            return None
        check_command(manifest, directory, directory, self._home)
        record = self.record(directory)
        changes = differences(files, record.files) if record else []
        asked, granted = manifest.permissions or OF_PROJECTS, record and (record.permissions or OF_PROJECTS)
        return UntrustedExtension(
            manifest.directory,
            manifest.name,
            manifest.command,
            manifest.args,
            manifest.guard,
            changes,
            files,
            [*describe_permissions(asked), *describe_uses(manifest.uses, manifest.host)],
            [*added_permissions(granted, asked), *added_uses(record.uses, manifest.uses)] if record and granted else [],
        )

    # --- deciding

    def trust(
        self, directory: Path, seen: dict[str, str] | None = None, *, unconfined: bool | None = False
    ) -> ExtensionRecord:
        """Trust the current content; ExtensionError if it differs from ``seen``.
        ``unconfined``: all rights, None for no change."""
        from zot.features.extensions.loader.trusted_copy import copy_path, differences, remove_copies

        key = extension_key(directory)
        with self._copied(directory) as (making, manifest, files):
            if seen is not None and (changes := differences(files, seen)):
                raise ExtensionError(f"changed during the review ({', '.join(changes[:5])}); review it again")
            copy = copy_path(self._home, key, directory.name, files)
            self._put(making, copy, files)
        with self._edit() as records:
            old = records.get(key)
            was_guard = old is not None and old.guard and not manifest.denies_guard
            guard = manifest.enabled and (manifest.guard or was_guard)
            free = (old is not None and old.unconfined) if unconfined is None else unconfined
            name, exec, args = manifest.name, manifest.command, manifest.args
            record = ExtensionRecord(name, exec, args, guard, files, manifest.permissions, free, manifest.uses)
            records[key] = record
        remove_copies(self._home, key, but=copy)
        return record

    def untrust(self, directory: Path) -> bool:
        """Delete the record of the directory; False without one."""
        return self.untrust_key(extension_key(directory))

    def untrust_key(self, key: str) -> bool:
        """The same for an ``extension_key``, also if the directory is missing."""
        from zot.features.extensions.loader.trusted_copy import remove_copies

        with self._edit() as records:
            known = records.pop(key, None) is not None
        remove_copies(self._home, key)
        return known

    def trust_for_session(self, directory: Path) -> None:
        """Accept the directory's content and permissions until this process ends; nothing is saved."""
        self.trusted_for_session.append(str(directory))
        manifest = read_manifest(directory)
        self._editing[extension_key(directory)] = manifest.permissions or OF_PROJECTS, manifest.uses

    def record_guard(self, directory: Path, guard: bool) -> bool:
        """Store what the hello of a trusted extension declared; False if it is untrusted."""
        key = extension_key(directory)
        with self._edit() as records:
            if (record := records.get(key)) is not None:
                records[key] = msgspec.structs.replace(record, guard=guard)
        return record is not None

    # --- inside

    def _records(self) -> dict[str, ExtensionRecord]:
        return self._store.load(_Records).extensions

    @contextmanager
    def _edit(self) -> Generator[dict[str, ExtensionRecord]]:
        with self._store.edit() as file:
            before = self._records()
            records = dict(before)
            yield records
            file.extensions = {
                key: file.extensions[key] if before.get(key) == record else msgspec.Raw(msgspec.json.encode(record))
                for key, record in records.items()
            }

    @contextmanager
    def _copied(self, directory: Path) -> Generator[tuple[Path, Manifest, dict[str, str]]]:
        """A new private copy with its manifest and fingerprint; removed at the end if still there."""
        from zot.features.extensions.loader.trusted_copy import PLACE, make_copy

        for stale in (self._home / PLACE).glob(f"{_MAKING}*"):
            with suppress(OSError):
                if time.time() - stale.stat().st_mtime > _A_DAY_S:  # left by a killed process
                    remove_tree(stale)
        making = self._home / PLACE / f"{_MAKING}{os.urandom(6).hex()}"
        try:
            manifest, files = make_copy(directory, making / directory.name, self._home)
            yield making, manifest, files
        finally:
            remove_tree(making)

    def _put(self, making: Path, copy: Path, files: dict[str, str]) -> None:
        """Rename into place; another process may have created the same."""
        from zot.features.extensions.loader.trusted_copy import is_intact

        copy.parent.parent.mkdir(mode=0o700, exist_ok=True)
        with self._store.locked():
            if is_intact(copy, files):
                return
            remove_tree(copy.parent)
            making.rename(copy.parent)


def extension_key(directory: Path) -> str:
    """The real project path and the extension's path in it as written, so that a link has the same key."""
    place = Path(os.path.abspath(directory))
    inside = place.parts[-3:-1] == (".zot", "extensions")
    project = place.parents[2] if inside else place.parent
    return path_key(os.path.join(os.path.realpath(project), place.relative_to(project)))


class UntrustedExtension(msgspec.Struct, frozen=True):
    """One project extension awaiting a decision, as it was when read."""

    directory: Path
    name: str
    exec: str
    args: tuple[str, ...]
    guard: bool
    changes: list[str]
    """Empty if never trusted."""
    fingerprint: dict[str, str]
    """Pass it back with the answer: it identifies the reviewed content."""
    permissions: list[str] = []
    """Descriptions of its permissions."""
    wider: list[str] = []
    """Permissions beyond those granted before."""

    @property
    def files(self) -> list[str]:
        return sorted(self.fingerprint)

    def as_item(self) -> Untrusted:
        details = [f"new: it {line}" for line in self.wider]
        details += [f"it {line}" for line in self.permissions]
        return Untrusted(
            kind="extension",
            name=self.name,
            source=str(self.directory),
            runs=(shlex.join([self.exec, *self.args]),),
            details=(*details, *(self.changes or self.files)),
            changed=bool(self.changes),
            guard=self.guard,
        )


def untrusted_extensions(cwd: Path, trust: ExtensionTrust) -> list[UntrustedExtension]:
    """The project's extensions that trust would let run, sorted for one question."""
    from zot.features.extensions.loader.discovery import candidates, project_dir

    found: list[UntrustedExtension] = []
    directories: list[Path] = []
    with suppress(ExtensionError):  # discovery reports why they cannot be listed
        directories = candidates(project_dir(cwd))
    for directory in directories:
        with suppress(ExtensionError, OSError):  # discovery reports why it cannot run
            if not trust.is_trusted(directory) and (entry := trust.pending_decision(directory)):
                found.append(entry)
    return found
