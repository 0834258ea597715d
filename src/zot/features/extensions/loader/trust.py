"""Which project extensions the user allowed to run: exactly that content, kept in ``$ZOT_HOME/trust.json``.

A record holds the files an extension came with and their hashes; beside it lies the copy that runs. Modes with a person
in front of them do the asking; here trust is only looked up, stored and dropped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ExtensionError
from zot.features.extensions.loader.declared_permissions import OF_PROJECTS, Permissions, wider, words
from zot.features.extensions.loader.manifest import FILE, MAX_BYTES, Manifest, read_manifest
from zot.features.json_store import StructFile
from zot.system.files import locked
from zot.system.temp_files import remove_tree

if TYPE_CHECKING:
    from zot.features.extensions.loader.fingerprint import Found

VERSION = 1
NOT_AS_TRUSTED = "its files are not those you trusted; look at them, then run `zot ext trust`"

_MAKING = ".making-"
_A_DAY_S = 86_400


class TrustRecord(msgspec.Struct, frozen=True):
    """What was trusted; ``guard`` stays known whatever becomes of the files, and says that it was enabled."""

    name: str = ""
    exec: str = ""
    args: tuple[str, ...] = ()
    guard: bool = False
    files: dict[str, str] = {}
    permissions: Permissions | None = None
    """What it asked for; None when it did not say."""
    unconfined: bool = False
    """A person let it run with all rights."""


class TrustFile(msgspec.Struct):
    """The whole file."""

    version: int = VERSION
    extensions: dict[str, TrustRecord] = {}
    guests: dict[str, dict[str, str]] = {}
    """Those of ``zot.features.trust``."""


def trust_file(path: Path) -> StructFile[TrustFile]:
    return StructFile(path, TrustFile, "fix the file or delete it to trust nothing")


class TrustStore:
    """Reads the file anew for each question, so that another process's answer is seen.

    The modules that hash and copy are loaded only when something is trusted."""

    def __init__(self, home: Path) -> None:
        self.path = home / "trust.json"
        self._file = trust_file(self.path)
        self._home = home
        self._editing: dict[str, Permissions] = {}

    # --- looking

    def is_trusted(self, directory: Path) -> bool:
        """Whether the directory holds exactly what was trusted. Asked before every start, restarts included."""
        return key_of(directory) in self._editing or (
            self.record(directory) is not None and not self.changed(directory)
        )

    def record(self, directory: Path) -> TrustRecord | None:
        return self._file.load().extensions.get(key_of(directory))

    def changed(self, directory: Path) -> list[str]:
        """What differs from the trusted content, one line each; empty when it is the same or was never trusted."""
        record = self.record(directory)
        if record is None:
            return []
        from zot.features.extensions.loader.fingerprint import differences, fingerprint

        try:
            return differences(fingerprint(directory), record.files)
        except OSError as error:
            return [f"cannot be read: {error.strerror or error}"]
        except ExtensionError as error:
            return [str(error)]

    def is_unconfined(self, directory: Path) -> bool:
        """Whether a person let exactly this content run with all rights."""
        record = self.record(directory)
        return record is not None and record.unconfined and not self.changed(directory)

    def of_project(self, cwd: Path) -> dict[str, TrustRecord]:
        """The records of a project by ``key_of``, including those of extensions that are gone by now."""
        parent = os.path.join(_text(os.path.realpath(cwd)), ".zot", "extensions")
        known = self._file.load().extensions
        return {key: record for key, record in sorted(known.items()) if os.path.dirname(key) == parent}

    def place(self, directory: Path) -> Path:
        """Where to run it: the copy of what was trusted, made again if it is damaged. ExtensionError: it may not run.

        A directory that is trusted while somebody edits it runs where it is."""
        if (granted := self._editing.get(key_of(directory))) is not None:
            if more := wider(granted, read_manifest(directory).permissions or OF_PROJECTS):
                raise ExtensionError(f"asks for more than you granted it: {'; '.join(more)}; run `zot ext trust`")
            return directory
        record = self.record(directory)
        if record is None or self.changed(directory):
            raise ExtensionError(NOT_AS_TRUSTED)
        from zot.features.extensions.loader.trusted_copy import copy_path, is_intact, remove_strangers

        copy = copy_path(self._home, key_of(directory), directory.name, record.files)
        if not is_intact(copy, record.files):
            with self._copied(directory) as (making, _, files):
                if files != record.files:
                    raise ExtensionError(NOT_AS_TRUSTED)
                self._put(making, copy, files)
        remove_strangers(copy, record.files)
        return copy

    def question(self, directory: Path) -> Untrusted | None:
        """What to decide about; None when it would not run. ExtensionError or OSError when it cannot be trusted.

        The manifest is that of the fingerprint, not one read a moment earlier."""
        from zot.features.extensions.loader.fingerprint import differences, fingerprint
        from zot.features.extensions.loader.trusted_copy import check_command

        data = b""

        def keep(found: Found, content: Iterator[bytes]) -> None:
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
        return Untrusted(
            manifest.directory,
            manifest.name,
            manifest.exec,
            manifest.args,
            manifest.guard,
            changes,
            files,
            words(asked),
            wider(granted, asked) if granted else [],
        )

    # --- deciding

    def trust(
        self, directory: Path, seen: dict[str, str] | None = None, *, unconfined: bool | None = False
    ) -> TrustRecord:
        """Store the content as it is now; ExtensionError when that is not what was ``seen``, a fingerprint.

        ``unconfined``: with all rights; None leaves that as it was."""
        from zot.features.extensions.loader.fingerprint import differences
        from zot.features.extensions.loader.trusted_copy import copy_path, remove_copies

        key = key_of(directory)
        with self._copied(directory) as (making, manifest, files):
            if seen is not None and (changes := differences(files, seen)):
                raise ExtensionError(f"has changed since you were asked ({', '.join(changes[:5])}); look again")
            copy = copy_path(self._home, key, directory.name, files)
            self._put(making, copy, files)
        with self._file.changing() as content:
            old = content.extensions.get(key)
            was_guard = old is not None and old.guard and not manifest.denies_guard
            guard = manifest.enabled and (manifest.guard or was_guard)
            free = (old is not None and old.unconfined) if unconfined is None else unconfined
            name, exec, args = manifest.name, manifest.exec, manifest.args
            record = TrustRecord(name, exec, args, guard, files, manifest.permissions, free)
            content.extensions[key] = record
        remove_copies(self._home, key, but=copy)
        return record

    def untrust(self, directory: Path) -> bool:
        """Forget the directory; False when nothing was known about it."""
        from zot.features.extensions.loader.trusted_copy import remove_copies

        with self._file.changing() as content:
            known = content.extensions.pop(key_of(directory), None) is not None
        remove_copies(self._home, key_of(directory))
        return known

    def while_editing(self, directory: Path) -> None:
        """Accept whatever the directory holds until this process ends, and what it asks for now; nothing is stored."""
        self._editing[key_of(directory)] = read_manifest(directory).permissions or OF_PROJECTS

    def note_guard(self, directory: Path, guard: bool) -> bool:
        """What the hello of a trusted extension said of that, for the next time; False when it is not a trusted one."""
        with self._file.changing() as content:
            record = content.extensions.get(key_of(directory))
            if record is not None:
                content.extensions[key_of(directory)] = msgspec.structs.replace(record, guard=guard)
        return record is not None

    # --- inside

    @contextmanager
    def _copied(self, directory: Path) -> Generator[tuple[Path, Manifest, dict[str, str]]]:
        """A new copy that nobody uses yet, with its manifest and fingerprint; what is left at the end is removed."""
        from zot.features.extensions.loader.trusted_copy import PLACE, make_copy

        for stale in (self._home / PLACE).glob(f"{_MAKING}*"):
            with suppress(OSError):
                if time.time() - stale.stat().st_mtime > _A_DAY_S:  # its maker was killed
                    remove_tree(stale)
        making = self._home / PLACE / f"{_MAKING}{os.urandom(6).hex()}"
        try:
            manifest, files = make_copy(directory, making / directory.name, self._home)
            yield making, manifest, files
        finally:
            remove_tree(making)

    def _put(self, making: Path, copy: Path, files: dict[str, str]) -> None:
        """Under its name at once; another process may have put the same there meanwhile."""
        from zot.features.extensions.loader.trusted_copy import is_intact

        copy.parent.parent.mkdir(mode=0o700, exist_ok=True)
        with locked(self.path):
            if is_intact(copy, files):
                return
            remove_tree(copy.parent)
            making.rename(copy.parent)


def key_of(directory: Path) -> str:
    """The real path of the project, and the extension's place in it as it is written: whatever the project puts there
    instead, a link included, is asked for under the same name."""
    place = Path(os.path.abspath(directory))
    inside = place.parts[-3:-1] == (".zot", "extensions")
    project = place.parents[2] if inside else place.parent
    return _text(os.path.join(os.path.realpath(project), place.relative_to(project)))


def _text(path: str) -> str:
    """A path may hold bytes that no JSON can."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Untrusted(msgspec.Struct, frozen=True):
    """One project extension a person has to decide about, as it was when it was looked at."""

    directory: Path
    name: str
    exec: str
    args: tuple[str, ...]
    guard: bool
    changes: list[str]
    """Empty for one that was never trusted."""
    fingerprint: dict[str, str]
    """Hand it back with the answer: that is what was decided about."""
    permissions: list[str] = []
    """What it may do, in words."""
    wider: list[str] = []
    """What of that is more than was granted before."""

    @property
    def files(self) -> list[str]:
        return sorted(self.fingerprint)


def undecided(cwd: Path, store: TrustStore) -> list[Untrusted]:
    """The project's extensions that would run if they were trusted, sorted: one question lists them all."""
    from zot.features.extensions.loader.discovery import candidates, project_dir

    found: list[Untrusted] = []
    directories: list[Path] = []
    with suppress(ExtensionError):  # they cannot be listed; discovery tells why
        directories = candidates(project_dir(cwd))
    for directory in directories:
        with suppress(ExtensionError, OSError):  # it cannot run; discovery tells why
            if not store.is_trusted(directory) and (entry := store.question(directory)):
                found.append(entry)
    return found
