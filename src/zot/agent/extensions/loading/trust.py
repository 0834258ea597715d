"""Which project extensions the user allowed to run: exactly that content, kept in ``$ZOT_HOME/trust.json``.

A record holds the files an extension came with and their hashes. Modes with a person in front of them do the asking;
here trust is only looked up, stored and dropped.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from zot.agent.extensions.loading.manifest import Manifest, read_manifest
from zot.errors import ConfigError, ExtensionError
from zot.system.files import locked, write_atomic
from zot.system.opening import read_whole

VERSION = 1


class TrustRecord(msgspec.Struct, frozen=True):
    """What was trusted; ``guard`` stays known even if a later edit drops it from the manifest."""

    name: str = ""
    exec: str = ""
    guard: bool = False
    files: dict[str, str] = {}


class _TrustFile(msgspec.Struct):
    version: int = VERSION
    extensions: dict[str, TrustRecord] = {}


class TrustStore:
    """Reads the file again for each question, so that another process's answer is seen."""

    def __init__(self, home: Path) -> None:
        self.path = home / "trust.json"
        self._editing: set[str] = set()

    def is_trusted(self, directory: Path) -> bool:
        """Whether the directory holds exactly what was trusted. Asked before every start, restarts included."""
        if _key(directory) in self._editing:
            return True
        record = self.record(directory)
        return record is not None and not self.changed(directory)

    def record(self, directory: Path) -> TrustRecord | None:
        return self._load().extensions.get(_key(directory))

    def changed(self, directory: Path) -> list[str]:
        """What differs from the trusted content, one line each; empty when it is the same or was never trusted."""
        record = self.record(directory)
        if record is None:
            return []
        from zot.agent.extensions.loading.fingerprint import (
            differences,  # hashing is loaded only when something is trusted
        )

        try:
            return differences(directory, record.files)
        except OSError as error:
            return [f"cannot be read: {error.strerror or error}"]
        except ExtensionError as error:
            return [str(error)]

    def trust(self, directory: Path) -> TrustRecord:
        """Store the content as it is now."""
        from zot.agent.extensions.loading.fingerprint import fingerprint

        manifest = read_manifest(directory)
        record = TrustRecord(manifest.name, manifest.exec, manifest.guard, fingerprint(directory))
        with locked(self.path):
            content = self._load()
            content.extensions[_key(directory)] = record
            self._save(content)
        return record

    def untrust(self, directory: Path) -> bool:
        """Forget the directory; False when nothing was known about it."""
        with locked(self.path):
            content = self._load()
            known = content.extensions.pop(_key(directory), None) is not None
            if known:
                self._save(content)
        return known

    def while_editing(self, directory: Path) -> None:
        """Accept whatever the directory holds until this process ends; nothing is stored."""
        self._editing.add(_key(directory))

    def below(self, directory: Path) -> dict[Path, TrustRecord]:
        """The records of directories in ``directory``, including those that are gone by now."""
        parent = _key(directory)
        known = self._load().extensions
        return {Path(key): record for key, record in sorted(known.items()) if os.path.dirname(key) == parent}

    def _load(self) -> _TrustFile:
        try:
            return msgspec.json.decode(read_whole(self.path), type=_TrustFile)
        except FileNotFoundError:
            return _TrustFile()
        except (OSError, msgspec.MsgspecError, UnicodeError) as error:
            raise ConfigError(f"{self.path}: {error}; fix the file or delete it to trust nothing") from error

    def _save(self, content: _TrustFile) -> None:
        try:
            encoded = msgspec.json.encode(content)
        except UnicodeEncodeError as error:
            raise ConfigError("a directory whose path is not UTF-8 cannot be trusted; rename it") from error
        write_atomic(self.path, msgspec.json.format(encoded, indent=2) + b"\n")


def _key(directory: Path) -> str:
    """The real path: a link that now leads to another directory is not trusted."""
    return os.path.realpath(directory)


class Untrusted(msgspec.Struct, frozen=True):
    """One project extension a person has to decide about."""

    directory: Path
    name: str
    exec: str
    args: tuple[str, ...]
    guard: bool
    changes: list[str]
    """Empty for one that was never trusted."""
    files: list[str]


def undecided(cwd: Path, store: TrustStore) -> list[Untrusted]:
    """The project's extensions that would run if they were trusted, sorted: one question lists them all."""
    from zot.agent.extensions.loading.discover import candidates, project_dir

    found: list[Untrusted] = []
    for directory in candidates(project_dir(cwd)):
        try:
            manifest = read_manifest(directory)
            if manifest.has_process and manifest.enabled and not store.is_trusted(directory):
                found.append(_untrusted(manifest, store))
        except (ExtensionError, OSError):
            continue  # it cannot run; discovery tells why
    return found


def _untrusted(manifest: Manifest, store: TrustStore) -> Untrusted:
    from zot.agent.extensions.loading.fingerprint import file_names

    return Untrusted(
        directory=manifest.directory,
        name=manifest.name,
        exec=manifest.exec,
        args=manifest.args,
        guard=manifest.guard,
        changes=store.changed(manifest.directory),
        files=file_names(manifest.directory),
    )
