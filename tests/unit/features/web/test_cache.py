"""issue 32.1: pages stay for 15 minutes, within limits."""

from __future__ import annotations

import pytest

from zot.features.web import cache
from zot.features.web.cache import LIFETIME_S, PageCache
from zot.features.web.conversion import Page


def page(text: str = "text") -> Page:
    return Page(("https://e.org/",), 200, "text/plain", len(text), "", text)


def test_page_is_kept_for_15_minutes() -> None:
    now = [100.0]
    pages = PageCache(lambda: now[0])
    pages.put("https://e.org/#part", page())
    now[0] += 15 * 60 - 1
    assert pages.get("https://e.org/") == page() and pages.get("https://e.org/other") is None
    now[0] += 1
    assert pages.get("https://e.org/") is None and LIFETIME_S == 900


def test_oldest_pages_are_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_CHARACTERS", 25)
    pages = PageCache()
    for number in range(3):
        pages.put(f"https://e.org/{number}", page("x" * 10))
    assert [pages.get(f"https://e.org/{number}") is not None for number in range(3)] == [False, True, True]
