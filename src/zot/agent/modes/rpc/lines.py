"""Bytes in, whole lines out, whatever the pieces they come in. A line above the limit ends it: nothing after counts."""

from __future__ import annotations

from zot.wire.rpc_frames import MAX_LINE


class Lines:
    """``too_long`` is set, for good, when a line exceeds MAX_LINE."""

    def __init__(self) -> None:
        self.too_long = False
        self._parts: list[bytes] = []  # of the line that has not ended; joined once, when it has
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their line feeds."""
        first, *others = data.split(b"\n")
        self._parts.append(first)
        self._size += len(first)
        if self._size > MAX_LINE:
            self.too_long = True
            self._parts.clear()
        if self.too_long or not others:
            return []
        lines = [b"".join(self._parts), *others[:-1]]
        self._parts, self._size = [others[-1]], len(others[-1])
        return lines

    def rest(self) -> bytes:
        """What stands after the last line feed: a line too, at the end of input."""
        rest, self._parts, self._size = b"".join(self._parts), [], 0
        return rest
