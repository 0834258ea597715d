"""The wire of an extension: lines in from the host, one write per frame out to it.

Opening it moves the wire away from file descriptors 0 and 1, so that ``print``, a C library or a subprocess can
neither write into it nor read from it: stray output goes to the log, stray input is empty.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

TYPE_CHECKING = False  # what typing says, without importing it
if TYPE_CHECKING:
    from collections.abc import Iterator


class Channel:
    """Both directions of the wire; ``send`` may be called from any thread."""

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
        sys.stdout.flush()  # what was printed before now goes to the log, too
        sys.stdout = sys.stderr
        return cls(source, sink)

    def lines(self) -> Iterator[bytes]:
        """Line by line until the host closes its end; a last line without LF counts."""
        with os.fdopen(self._source, "rb") as source:
            yield from source

    def send(self, line: bytes) -> None:
        """Writes the whole line; a host that is gone is not an error."""
        with self._lock:
            rest = memoryview(line)
            try:
                while rest and not self.broken:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                self.broken = True
