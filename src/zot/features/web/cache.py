"""Pages fetched in the last 15 minutes, in memory; shared by a conversation and its side conversations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zot.features.web.conversion import Page

LIFETIME_S = 15 * 60.0
_MOST_PAGES = 50
_MOST_CHARACTERS = 20_000_000


class PageCache:
    """``now`` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._pages: dict[str, tuple[float, Page]] = {}

    def get(self, address: str) -> Page | None:
        stored, page = self._pages.get(_key(address), (0.0, None))
        return page if page is not None and self._now() - stored < LIFETIME_S else None

    def put(self, address: str, page: Page) -> None:
        self._pages.pop(_key(address), None)
        self._pages[_key(address)] = (self._now(), page)
        while len(self._pages) > 1 and (len(self._pages) > _MOST_PAGES or self._characters() > _MOST_CHARACTERS):
            self._pages.pop(next(iter(self._pages)))

    def _characters(self) -> int:
        return sum(len(page.text) for _, page in self._pages.values())


def _key(address: str) -> str:
    return address.partition("#")[0]
