"""A private file of JSON lines that grows while zot runs: traces and recordings.

One write per line, nothing kept in memory, mode 0600; a full disk ends the file, never the run, and is reported once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from pathlib import Path

from zot.errors import UsageError
from zot.system.opening import open_to_replace

_SHORTEST_SECRET = 8  # shorter values would blot out ordinary words
_BLOT = b"[removed]"


class JournalFile:
    """``on_failure`` hears, once, why nothing more is written; ``secrets`` never reach the file."""

    def __init__(self, path: Path, flag: str, on_failure: Callable[[str], None], secrets: Collection[str] = ()) -> None:
        self.started = time.monotonic()
        self._name = f"{flag} {path}"
        self._on_failure = on_failure
        self._secrets = [value.encode() for value in secrets if len(value) >= _SHORTEST_SECRET]
        try:
            self._fd: int | None = open_to_replace(path)
        except OSError as error:
            raise UsageError(f"{self._name}: {error.strerror or error}") from error

    def now(self) -> float:
        """Seconds since the file was begun."""
        return round(time.monotonic() - self.started, 6)

    def write(self, line: bytes) -> None:
        if self._fd is None:
            return
        for secret in self._secrets:
            line = line.replace(secret, _BLOT)
        try:
            rest = memoryview(line + b"\n")
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            self.close()
            self._on_failure(f"{self._name}: {error.strerror or error}; nothing more is written to it")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
