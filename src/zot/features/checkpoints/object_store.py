"""Contents by their digest: what a file held is kept once, whole, outside of any repository.

A content appears under its name when it is complete and never changes. It is not synced: a kill loses nothing, and what
a power failure tore is noticed, because a content is checked against its name before anybody uses it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from zot.system.digest import blake2b
from zot.system.files import make_private_dir
from zot.system.safe_open import read_whole
from zot.system.temp_files import Unfinished

LARGEST = 32 << 20  # of one content; the edit tool takes nothing larger either
_DIGEST_BYTES = 24
_DIGEST = re.compile(rf"[0-9a-f]{{{2 * _DIGEST_BYTES}}}")


def digest_of(data: bytes) -> str:
    return blake2b(data, _DIGEST_BYTES)


class Objects:
    """``added`` counts the bytes this process brought."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.added = 0

    def keep(self, data: bytes) -> str:
        """Its digest; what is there already is only marked as used again. Raises OSError."""
        digest = digest_of(data)
        path = self._path(digest)
        try:
            if os.stat(path).st_size == len(data):
                os.utime(path)
                return digest
            os.unlink(path)  # torn by a power failure
        except FileNotFoundError:
            pass
        try:
            new = Unfinished(path)
        except FileNotFoundError:
            make_private_dir(Path(os.path.dirname(path)))
            new = Unfinished(path)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(new.fd, rest) :]
            with suppress(FileExistsError):  # another zot was quicker
                new.appear(replace=False)
        finally:
            new.close()
        self.added += len(data)
        return digest

    def make_places(self) -> None:
        """Every directory that a content may come to lie in, so that nobody who keeps one has to. Raises OSError."""
        make_private_dir(self.root)
        for number in range(256):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(self.root, f"{number:02x}"), 0o700)

    def has(self, digest: str, size: int) -> bool:
        """Whether it can be expected to be there; only reading tells for sure."""
        try:
            return os.stat(self._path(digest)).st_size == size
        except (OSError, ValueError):
            return False

    def read(self, digest: str) -> bytes | None:
        """The content; None when it was pruned, or is damaged."""
        try:
            data = read_whole(self._path(digest), LARGEST)
        except (OSError, ValueError):
            return None
        return data if digest_of(data) == digest else None

    def all(self) -> Iterator[os.DirEntry[str]]:
        """Every content there is, in no order."""
        for directory in _entries(self.root):
            if directory.is_dir(follow_symlinks=False):
                yield from _entries(directory.path)

    def _path(self, digest: str) -> str:
        """Ledgers are files, and a file may say anything: ValueError for what is not a digest."""
        if not _DIGEST.fullmatch(digest):
            raise ValueError(f"not a digest: {digest!r}")
        return os.path.join(self.root, digest[:2], digest[2:])


def _entries(path: str | Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(path) as entries:
        yield from entries
