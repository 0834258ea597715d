"""``tree`` of an index: one hash over the files of an extension, the same for a git checkout and an archive."""

from __future__ import annotations

import os
from pathlib import Path

from zot.errors import ZotError
from zot.features.extensions.loader.data_dir import RECORD, files_below
from zot.system.digest import sha256, sha256_of
from zot.system.safe_open import open_buffered

LARGEST = 64 * 1024 * 1024
MOST_FILES = 10_000


def tree_hash(directory: Path) -> str:
    """``sha256:…`` of one line per file, sorted by path: path, NUL, ``x`` or ``-``, NUL, SHA-256 of the content.
    Without ``.git``, bytecode and zot's record; ZotError for a link or a special file."""
    lines: list[bytes] = []
    for path in tree_files(directory):
        mode = b"x" if path.stat().st_mode & 0o100 else b"-"
        with open_buffered(path) as file:
            digest = sha256_of(file)
        lines.append(b"%s\0%s\0%s\n" % (os.fsencode(path.relative_to(directory).as_posix()), mode, digest.encode()))
    return "sha256:" + sha256(b"".join(sorted(lines)))


def tree_files(directory: Path) -> list[Path]:
    found: list[Path] = []
    for path in files_below(directory):
        if path.suffix == ".pyc" or path == directory / RECORD:
            continue
        if path.is_symlink() or not path.is_file():
            raise ZotError(f"{path.relative_to(directory)} is not a file: an extension of an index has no links")
        found.append(path)
    if len(found) > MOST_FILES:
        raise ZotError(f"more than {MOST_FILES:,} files")
    return found


def tree_size(directory: Path) -> int:
    return sum(path.stat().st_size for path in tree_files(directory))
