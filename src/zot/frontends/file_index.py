"""Files to mention: an index of the working directory, searched while a name is typed, and directories as typed.

Every file below the working directory is listed by a child process (ripgrep, or zot's worker) and searched in slices:
no key waits. The index can be searched while it grows, and stays until a newer one is complete. Case is ignored."""

from __future__ import annotations

import asyncio
import os
import re
import time
from bisect import insort
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from zot.agent.tools.ignore import listed
from zot.errors import ToolError
from zot.features.file_blocks import absolute, is_outside
from zot.tui.fuzzy import BEGINS, EACH, INSIDE, SCATTERED, Pattern

LIMIT = 300_000
FOUND = 100
FRESH_S = 10.0
_FIRST_S = 2.0  # seconds that the first search may wait for the list
_LONGEST = 1024
_SLICE_S = 0.002
_STEP = 200
_PATH = 5 * EACH  # penalty of a match outside the name
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
        """List the tree; meanwhile an earlier list answers."""
        # imported here: only needed after an @
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
            with suppress(ToolError):  # a tree that cannot be listed has no matches
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
        """The best matches, best first; None once ``abandoned``. Yields to keys every few milliseconds."""
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
    """The best by score, each with its path and position. ``score`` gets the worst accepted score."""
    best: list[tuple[int, str, int]] = []  # sorted and short: most candidates are rejected at once
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
    """Paths from NUL-separated chunks; each directory once, before its first file."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.lower: list[str] = []
        self._rest = b""
        self._directories: set[str] = {""}

    def add(self, chunk: bytes) -> None:
        *whole, self._rest = (self._rest + chunk).split(b"\0")
        for raw in whole:
            path = os.fsdecode(raw.removeprefix(b"./"))
            directory = path.rpartition("/")[0]
            missing: list[str] = []
            while directory not in self._directories:
                missing.append(directory)
                directory = directory.rpartition("/")[0]
            for above in reversed(missing):  # a tree may be a thousand levels deep
                self._directories.add(above)
                self._append(f"{above}/")
            self._append(path)

    def _append(self, path: str) -> None:
        self.paths.append(path)
        self.lower.append(path.lower())


class PathMatcher:
    """How well a path matches; lower is better.
    It ``holds`` the typed text, or has its letters ``in_order``; the first is ranked without reading further, because
    one letter matches nearly all files."""

    def __init__(self, typed: str) -> None:
        self._typed = typed.lower()
        self.pattern = Pattern(typed, path=True)
        self.holds = re.compile(re.escape(self._typed)).search
        self.in_order = self.pattern.has_letters()

    def score(self, path: str, worst: int = 0) -> int:
        """Score of a path that contains it: start of the name, in the name, elsewhere; short ones first."""
        at, name = path.rfind(self._typed), path.rfind("/", 0, -1) + 1
        if at < name:
            return _PATH + INSIDE + len(path)
        return len(path) + (BEGINS if at == name else INSIDE)

    def loose_score(self, path: str, worst: int = _NEVER) -> int:
        """Score of letters that begin words or are close together, in the name or in the path.
        Not computed if it cannot be better than ``worst``."""
        name = path[path.rfind("/", 0, -1) + 1 :]
        if self.in_order(name) and (rank := self.pattern.rank(name)) is not None:
            return rank + len(path)
        if _PATH + SCATTERED + min(len(path), EACH - 1) > worst:
            return _NEVER
        rank = self.pattern.spread(path)
        return _PATH + (SCATTERED + EACH if rank is None else rank)


class FileFinder:
    """Finds as the ``@`` of the terminal does, without a screen."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index = FileIndex(root, lambda: None)
        self._refreshing: asyncio.Task[None] | None = None

    async def find(self, typed: str, limit: int) -> list[str]:
        """Paths as they are mentioned, directories with a slash: of the directory that is typed, then of the tree."""
        typed = typed[:_LONGEST]
        near = await asyncio.to_thread(self._near, typed)
        found = await self._search(typed) if typed and not is_outside(typed) else []
        return list(dict.fromkeys((*near, *found)))[:limit]

    def _near(self, typed: str) -> list[str]:
        directory, name = parted(typed)
        if is_outside(typed) and name in ("~", ".."):
            return [f"{typed}/"]
        try:
            here = entries_of(self._root, directory, ignored_too=False)
        except (OSError, ValueError):
            return []
        here = without_hidden(here, name) if is_outside(typed) else here
        return [path for path in here if name.lower() in os.path.basename(path.rstrip("/")).lower()]

    async def _search(self, typed: str) -> list[str]:
        if self._index.stale and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.ensure_future(self._index.refresh())
        if self._refreshing is not None and not self._index.complete:
            await asyncio.wait({self._refreshing}, timeout=_FIRST_S)
        return await self._index.search(typed, lambda: False) or []

    def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()


# --- paths as typed


def parted(typed: str) -> tuple[str, str]:
    """The directory with its slash, as typed, and the beginning of a name in it."""
    name = typed.rpartition("/")[2]
    return typed[: len(typed) - len(name)], name


def name_of(path: str) -> str:
    """The last part; a directory keeps its slash."""
    return path[path.rfind("/", 0, -1) + 1 :]


def entries_of(root: Path, directory: str, *, ignored_too: bool) -> list[str]:
    """Entries of a directory as typed; ``directory`` ends with a slash or is empty."""
    if not is_outside(directory):
        return listed(str(root), directory, ignored_too=ignored_too)
    return [directory + name for name in listed(absolute(root, directory), "", ignored_too=ignored_too)]


def without_hidden(paths: list[str], name: str) -> list[str]:
    """Hidden names are offered only after a typed dot."""
    if name.startswith("."):
        return paths
    return [path for path in paths if not name_of(path).startswith(".")]
