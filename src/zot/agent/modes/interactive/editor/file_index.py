"""Every file below the working directory, listed by a child process and searched in slices: no key ever waits.

The list comes from ripgrep, or from our own worker where it is not installed; both leave out what ignore files name.
While it grows it can be searched already, and it stays until a newer one is complete.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import nsmallest
from pathlib import Path

from zot.agent.modes.interactive.editor.path_match import PathMatcher
from zot.errors import ToolError

LIMIT = 300_000
FOUND = 100
FRESH_S = 10.0
_SLICE_S = 0.002
_STEP = 200


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
        self._narrowed: tuple[str, int, list[int]] = ("", 0, [])

    @property
    def stale(self) -> bool:
        return not self._listing and (not self._listed or time.monotonic() - self._listed > FRESH_S)

    async def refresh(self) -> None:
        """List the tree; meanwhile an earlier list keeps answering."""
        # Imported here: whoever never types @ does not pay for it.
        from zot.agent.tools.search import own_listing, ripgrep, ripgrep_listing, run_search
        from zot.agent.tools.workspace import Workspace

        if self._listing:
            return
        self._listing = True
        rg = ripgrep()
        argv = ripgrep_listing(rg, self._ignored_too) if rg else own_listing(self._ignored_too)
        fresh = _Listing()
        if not self.complete:
            self.paths, self._lower = fresh.paths, fresh.lower
        try:
            with suppress(ToolError):  # a tree that cannot be listed has no matches, which says enough
                await run_search(Workspace(self.root), argv, self.root, lambda chunk: self._take(fresh, chunk))
            self.paths, self._lower = fresh.paths, fresh.lower
            self.complete, self._listed, self._narrowed = True, time.monotonic(), ("", 0, [])
        finally:
            self._listing = False
        self._changed()

    def _take(self, listing: _Listing, chunk: bytes) -> bool:
        listing.add(chunk)
        if listing.paths is self.paths:
            self._changed()
        return len(listing.paths) < LIMIT

    async def search(self, typed: str) -> list[str]:
        """The best matches, best first. Gives way to keys every few milliseconds."""
        matcher, lower = PathMatcher(typed), self._lower
        count = len(lower)
        scored: list[tuple[int, int]] = []
        until = time.monotonic() + _SLICE_S
        for number, index in enumerate(self._candidates(typed, count)):
            score = matcher.score(lower[index])
            if score is not None:
                scored.append((score, index))
            if number % _STEP == 0 and time.monotonic() > until:
                await asyncio.sleep(0)
                until = time.monotonic() + _SLICE_S
        if lower is self._lower:
            self._narrowed = (typed, count, [index for _, index in scored])
        return [self.paths[index] for _, index in nsmallest(FOUND, scored)] if lower is self._lower else []

    def _candidates(self, typed: str, count: int) -> Iterator[int]:
        """Only what matched a shorter text can match a longer one; files that came since are new to both."""
        before, seen, matched = self._narrowed
        if before and typed.startswith(before):
            yield from matched
            yield from range(seen, count)
        else:
            yield from range(count)


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
        if directory not in self._directories:
            self._add_directories(directory.rpartition("/")[0])
            self._directories.add(directory)
            self._append(f"{directory}/")
