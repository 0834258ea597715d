"""Both directions of the wire."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Iterator


class Channel:
    """Both directions of the wire, for all threads.
    It moves the wire away from descriptors 0 and 1, so that stray output goes to the log and stray input is empty."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._lock = allocate_lock()
        self.broken = False

    @classmethod
    def open(cls) -> Channel:
        source, sink = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        sys.stdout.flush()  # earlier output goes to the log also
        sys.stdout = sys.stderr
        return cls(source, sink)

    def lines(self) -> Iterator[bytes]:
        """Lines until the host closes its end; a last line without LF counts."""
        with os.fdopen(self._source, "rb") as source:
            yield from source

    def send(self, line: bytes) -> None:
        """Write the whole line; a closed host is not an error."""
        with self._lock:
            rest = memoryview(line)
            try:
                while rest and not self.broken:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                self.broken = True
