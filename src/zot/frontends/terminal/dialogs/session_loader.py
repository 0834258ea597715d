"""Reads stored conversations for a list while somebody types: in threads, so that no key waits.

A new wish ends the search for an old one. What was read of the end of a conversation is kept while the list is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from zot.core.session.search import Hit, MessageExcerpt, last_said, search

_SHORTEST = 2  # letters that are worth reading every conversation for
_PAUSE_S = 0.12  # between keys of somebody who types on


class SessionReader:
    """``want`` says which conversation to look into and which words to find; ``found`` is called when there is more.

    ``hits`` are the conversations in which the words were said, and where; ``ends`` how conversations end."""

    def __init__(self, paths: Sequence[str], found: Callable[[], None]) -> None:
        self.hits: dict[str, MessageExcerpt] = {}
        self.ends: dict[str, list[MessageExcerpt]] = {}
        self.searching = False
        self._paths = paths
        self._found = found
        self._path = self._typed = ""
        self._over = False
        self._look, self._search = asyncio.Event(), asyncio.Event()

    def want(self, path: str, typed: str) -> None:
        if path != self._path:
            self._path = path
            self._look.set()
        if typed != self._typed:
            self._typed = typed
            self.searching = len(typed.strip()) >= _SHORTEST
            self._search.set()

    def forget(self) -> None:
        """What was found for other words."""
        self.hits = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._look_on())
                group.create_task(self._search_on())
        finally:
            self._over = True

    async def _look_on(self) -> None:
        while True:
            await self._look.wait()
            self._look.clear()
            path = self._path
            if path and path not in self.ends:
                try:
                    self.ends[path] = await asyncio.to_thread(last_said, path)
                except OSError:  # gone meanwhile: there is nothing to show of it
                    self.ends[path] = []
                self._found()

    async def _search_on(self) -> None:
        while True:
            await self._search.wait()
            self._search.clear()
            await asyncio.sleep(_PAUSE_S)
            if self._search.is_set() or not self.searching:
                continue
            await asyncio.to_thread(self._search_for, self._typed, asyncio.get_running_loop())
            if not self._search.is_set():
                self.searching = False
                self._found()

    def _search_for(self, typed: str, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread."""
        for hit in search(self._paths, typed, lambda: self._over or typed != self._typed):
            loop.call_soon_threadsafe(self._take, typed, hit)

    def _take(self, typed: str, hit: Hit) -> None:
        if typed == self._typed and not self._over:
            self.hits[hit.path] = hit.said
            self._found()
