"""What an installation remembers: where the extension came from and which files came with it.

The record lies beside the manifest, so that it comes and goes with the files it speaks of. What it does not name was
written later, by the extension or by the user; what differs from it was changed here.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from zot.features.extensions.install.source import ExtensionSource
from zot.features.extensions.loader.data_dir import RECORD, files_below, git_lines
from zot.features.extensions.loader.manifest import FILE, Manifest
from zot.system.files import write_atomic
from zot.system.safe_open import read_whole


class InstallRecord(msgspec.Struct, frozen=True):
    source: ExtensionSource
    commit: str = ""
    files: dict[str, str] = {}
    """Each with its size and time of change."""


def write_record(directory: Path, source: ExtensionSource, commit: str) -> list[str]:
    """Of the files as they lie there now; their names."""
    files = {str(path.relative_to(directory)): _mark(path) for path in files_below(directory) if path.name != RECORD}
    encoded = msgspec.json.encode(InstallRecord(source, commit, files))
    write_atomic(directory / RECORD, msgspec.json.format(encoded, indent=1) + b"\n")
    return list(files)


def read_record(directory: Path) -> InstallRecord | None:
    """None when nobody knows where it came from. A clone that an older zot made knows it itself."""
    try:
        return msgspec.json.decode(read_whole(directory / RECORD), type=InstallRecord)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        if not (directory / ".git").exists() or directory.is_symlink():
            return None
        url = git_lines(directory, "config", "--null", "--get", "remote.origin.url")
        tracked = git_lines(directory, "ls-files", "-z")
        if not url or tracked is None:
            return None
        branch = (git_lines(directory, "symbolic-ref", "--quiet", "--short", "HEAD") or [""])[0].strip()
        commit = (git_lines(directory, "rev-parse", "HEAD") or [""])[0].strip()
        edited = git_lines(directory, "diff", "--name-only", "-z", "HEAD") or []
        marks = {name: _mark(directory / name) for name in tracked if os.path.lexists(directory / name)}
        return InstallRecord(ExtensionSource("git", url[0], branch), commit, marks | dict.fromkeys(edited, "edited"))


def written_later(directory: Path, record: InstallRecord) -> list[str]:
    """Names of files that did not come with it."""
    found = (str(path.relative_to(directory)) for path in files_below(directory))
    return [name for name in found if name not in record.files and name != RECORD]


def changed_here(directory: Path, record: InstallRecord) -> list[str]:
    """Names of files that came with it and are different now; the manifest aside, which enabling rewrites."""
    return [
        name
        for name, mark in record.files.items()
        if name != FILE and os.path.lexists(directory / name) and _mark(directory / name) != mark
    ]


def origin_of(manifest: Manifest) -> str:
    record = read_record(manifest.directory)
    return record.source.told if record else ""


def _mark(path: Path) -> str:
    status = path.lstat()
    return f"link to {os.readlink(path)}" if path.is_symlink() else f"{status.st_size} {status.st_mtime_ns}"
