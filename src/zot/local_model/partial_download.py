"""The file that grows while weights are fetched: whatever is there of it is the beginning of the pinned file.

It stays when a download is interrupted, and the next one, from whichever source, goes on where it ends. It takes its
name only after its hash was found right; one process at a time holds it.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from zot.errors import ZotError, in_words
from zot.local_model.memory import amount
from zot.local_model.weights import Weights, digest_of
from zot.system.files import make_private_dir, sync_dir, try_lock
from zot.system.safe_open import open_to_append

_SPARE = 50_000_000  # left for others on the disk


class Partial:
    """``size`` bytes are here."""

    def __init__(self, place: Path, weights: Weights) -> None:
        self._place, self._weights = place, weights
        self.path = place.with_name(f".{place.name}.part")
        self._fd = -1
        self.size = 0

    def __enter__(self) -> Partial:
        try:
            make_private_dir(self.path.parent)
            self._fd = open_to_append(self.path, os.O_RDWR)
        except OSError as error:
            raise ZotError(f"weights cannot be stored: {in_words(error)}") from error
        if not try_lock(self._fd):
            os.close(self._fd)
            raise ZotError(f"another zot is fetching {self._weights.name} at this moment")
        self.size = os.fstat(self._fd).st_size
        if self.size > self._weights.bytes:
            self.cut(0)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self._fd)

    def check_room(self, beside: int = 0) -> None:
        """ZotError when the disk cannot hold the rest, and what is needed ``beside`` it meanwhile."""
        disk = os.fstatvfs(self._fd)
        free, needed = disk.f_bavail * disk.f_frsize, self._weights.bytes - self.size + beside
        if free < needed + _SPARE:
            where = self.path.parent
            raise ZotError(f"not enough room in {where}: {amount(needed)} are needed and {amount(free)} are free")

    def append(self, data: bytes | memoryview) -> None:
        """ZotError when the disk does not take it; what is there stays."""
        rest = memoryview(data)
        try:
            while rest:
                written = os.write(self._fd, rest)
                rest = rest[written:]
                self.size += written
        except OSError as error:
            here = f"{amount(self.size)} of {amount(self._weights.bytes)} are there and stay"
            raise ZotError(f"{self.path.parent}: {error.strerror or error}; {here}: make room and try again") from error

    def cut(self, size: int) -> None:
        """Keep only the beginning."""
        os.ftruncate(self._fd, size)
        self.size = size

    def is_right(self) -> bool:
        """Whether all of it is here and is what was pinned."""
        return self.size == self._weights.bytes and digest_of(self.path) == self._weights.sha256

    def settle(self) -> None:
        """It is what it should be: give it its name."""
        os.fchmod(self._fd, 0o600)
        os.fsync(self._fd)
        os.rename(self.path, self._place)
        sync_dir(self._place.parent)
