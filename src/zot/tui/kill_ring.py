"""What was cut last can be put back. Cuts that follow each other without another key between become one."""

from __future__ import annotations

from collections.abc import Sequence

LIMIT = 20


class KillRing:
    def __init__(self) -> None:
        self._kept: list[list[str]] = []
        self._joining = False

    def cut(self, units: Sequence[str], *, before: bool = False) -> None:
        """Remember a cut; ``before`` when it was taken in front of the cursor, so it precedes the last."""
        if not units:
            return
        if self._joining and self._kept:
            last = self._kept.pop()
            units = [*units, *last] if before else [*last, *units]
        self._kept.append(list(units))
        del self._kept[:-LIMIT]
        self._joining = True

    def other_key(self) -> None:
        """Something else was done: the next cut stands alone."""
        self._joining = False

    @property
    def last(self) -> list[str]:
        return list(self._kept[-1]) if self._kept else []

    def rotate(self) -> list[str]:
        """The cut before the last, which is the last from now on."""
        if self._kept:
            self._kept.insert(0, self._kept.pop())
        return self.last
