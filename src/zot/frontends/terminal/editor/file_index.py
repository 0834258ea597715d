"""Every file below the working directory, listed by a child process and searched in slices: no key ever waits.

The list comes from ripgrep, or from our own worker where it is not installed; both leave out what ignore files name.
While it grows it can be searched already, and it stays until a newer one is complete. Case never counts: paths are
compared in lower case.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from bisect import insort
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from zot.errors import ToolError
from zot.tui.fuzzy import BEGINS, EACH, INSIDE, SCATTERED, Pattern

LIMIT = 300_000
FOUND = 100
FRESH_S = 10.0
_SLICE_S = 0.002
_STEP = 200
_PATH = 5 * EACH  # what a match outside the name costs
_NEVER = 1 << 30  # worse than any score


class FileIndex:
    """Paths relative to ``root``, directories with a trailing slash; ``changed`` is called when there are more."""

    def __init__(self, root: Path, changed: Callable[[], None], *, ignored_too: bool = False) -> None:
        self.root = root
        self.paths: list[str] = []
        self.complete = False
        self._lower: list[str] = []
        self._changed = changed
        self._ignored_too = ignored_too
        self._listed = 0.0
        self._listing = False

    @property
    def stale(self) -> bool:
        return not self._listing and (not self._listed or time.monotonic() - self._listed > FRESH_S)

    async def refresh(self) -> None:
        """List the tree; meanwhile an earlier list keeps answering."""
        # Imported here: those who never type @ do not pay for it.
        from zot.agent.tools.search import listing, run_search
        from zot.agent.tools.workspace import Workspace

        if self._listing:
            return
        self._listing = True
        argv = listing(ignored_too=self._ignored_too)
        fresh = _Listing()
        if not self.complete:
            self.paths, self._lower = fresh.paths, fresh.lower
        try:
            with suppress(ToolError):  # a tree that cannot be listed has no matches, which says enough
                await run_search(Workspace(self.root), argv, self.root, lambda chunk: self._take(fresh, chunk))
            self.paths, self._lower = fresh.paths, fresh.lower
            self.complete, self._listed = True, time.monotonic()
        finally:
            self._listing = False
        self._changed()

    def _take(self, listing: _Listing, chunk: bytes) -> bool:
        listing.add(chunk)
        if listing.paths is self.paths:
            self._changed()
        return len(listing.paths) < LIMIT

    async def search(self, typed: str, abandoned: Callable[[], bool]) -> list[str] | None:
        """The best matches, best first; None once ``abandoned``. Gives way to keys every few milliseconds."""
        matcher, paths, lower = PathMatcher(typed), self.paths, self._lower
        best = await _best(lower, matcher.holds, matcher.score, abandoned)
        if best is not None and len(best) < FOUND:
            more = await _best(lower, matcher.in_order, matcher.loose_score, abandoned)
            best = None if more is None else sorted([*best, *more])
        return None if best is None else list(dict.fromkeys(paths[index] for _, _, index in best))[:FOUND]


async def _best(
    lower: list[str],
    matches: Callable[[str], object],
    score: Callable[[str, int], int],
    abandoned: Callable[[], bool],
) -> list[tuple[int, str, int]] | None:
    """The best by score: that, the path, and where it is. ``score`` is told the worst that is still good enough."""
    best: list[tuple[int, str, int]] = []  # in order and short: most are refused at once
    until = time.monotonic() + _SLICE_S
    for start in range(0, len(lower), _STEP):
        for index in [at for at in range(start, min(start + _STEP, len(lower))) if matches(lower[at])]:
            worst = best[-1][0] if len(best) == FOUND else _NEVER
            entry = (score(lower[index], worst), lower[index], index)
            if len(best) < FOUND or entry < best[-1]:
                insort(best, entry)
                del best[FOUND:]
        if time.monotonic() > until:
            await asyncio.sleep(0)
            if abandoned():
                return None
            until = time.monotonic() + _SLICE_S
    return best


class _Listing:
    """Paths from NUL-separated chunks, cut anywhere; each directory once, before its first file."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.lower: list[str] = []
        self._rest = b""
        self._directories: set[str] = {""}

    def add(self, chunk: bytes) -> None:
        *whole, self._rest = (self._rest + chunk).split(b"\0")
        for raw in whole:
            path = os.fsdecode(raw.removeprefix(b"./"))
            self._add_directories(path.rpartition("/")[0])
            self._append(path)

    def _append(self, path: str) -> None:
        self.paths.append(path)
        self.lower.append(path.lower())

    def _add_directories(self, directory: str) -> None:
        """Those above it too, the outermost first; a tree may be a thousand deep."""
        missing: list[str] = []
        while directory not in self._directories:
            missing.append(directory)
            directory = directory.rpartition("/")[0]
        for path in reversed(missing):
            self._directories.add(path)
            self._append(f"{path}/")


class PathMatcher:
    """How well a path answers what was typed; lower is better.

    It ``holds`` what was typed as it stands, or merely has its letters ``in_order``; the first is ranked without
    reading further, because of one letter there are as many as files."""

    def __init__(self, typed: str) -> None:
        self._typed = typed.lower()
        self.pattern = Pattern(typed, path=True)
        self.holds = re.compile(re.escape(self._typed)).search
        self.in_order = self.pattern.has_letters()

    def score(self, path: str, worst: int = 0) -> int:
        """Of a path that holds it: at the beginning of the name, in the name, elsewhere; short ones first."""
        at, name = path.rfind(self._typed), path.rfind("/", 0, -1) + 1
        if at < name:
            return _PATH + INSIDE + len(path)
        return len(path) + (BEGINS if at == name else INSIDE)

    def loose_score(self, path: str, worst: int = _NEVER) -> int:
        """Letters that begin words, or stand close to each other, in the name or else in the path; of one that cannot
        be better than the ``worst`` it is not looked for how close."""
        name = path[path.rfind("/", 0, -1) + 1 :]
        if self.in_order(name) and (rank := self.pattern.rank(name)) is not None:
            return rank + len(path)
        if _PATH + SCATTERED + min(len(path), EACH - 1) > worst:
            return _NEVER
        rank = self.pattern.spread(path)
        return _PATH + (SCATTERED + EACH if rank is None else rank)
