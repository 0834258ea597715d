"""Stored sessions for the page: a list with full-text search, forks and exports. All work is done in threads."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from zot import __version__
from zot.core.session.fork import fork_at, source_of
from zot.core.session.search import search
from zot.core.session.store import SUFFIX, SessionStore
from zot.errors import UsageError
from zot.frontends.serve.access import Refused
from zot.system.visible_text import escape_invisible

if TYPE_CHECKING:
    from zot.core.session.summary import Summary

_T = TypeVar("_T")

FILE_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")
EXPORTS: dict[str, tuple[Literal["html", "md"], str]] = {
    "html": ("html", "text/html; charset=utf-8"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
}
LISTED, LISTED_MAX = 50, 200
SEARCH_MAX = 200  # characters
_SNIPPET = 300
_SEARCH_S = 10.0
_AT_ONCE = 2  # threads that read sessions
_WAITING_MAX = 16


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """``conversation`` is the name to join, fork and export it; ``snippet`` where a search found the words."""

    conversation: str
    id: str
    title: str
    cwd: str
    updated: str
    messages: int
    cost: float
    parent: str
    running: bool
    snippet: str = ""


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first. ``more``: ask again with ``after``."""

    sessions: tuple[SessionInfo, ...]
    more: bool
    after: str


class StoredSessions:
    def __init__(self, home: Path, running: Callable[[], Collection[str]]) -> None:
        self._home = home
        self._store = SessionStore(home, Path("/"), __version__)
        self._running = running
        self._reading = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._newest_search: dict[str, object] = {}

    async def list(self, device: str, *, search: str, directory: str, limit: int, after: str) -> SessionList:
        """A further search of the same device ends its last one."""
        mark = object()
        if search:
            self._newest_search[device] = mark

        def is_given_up() -> bool:
            return bool(search) and self._newest_search.get(device) is not mark

        work = _Listing(self._store, frozenset(self._running()), search[:SEARCH_MAX], directory, limit, after)
        return await self._read(lambda: work.run(is_given_up))

    async def fork(self, path: Path, count: int | None) -> str:
        """The name of a new session with the first messages of another, in its directory."""

        def fork() -> str:
            store = SessionStore(self._home, Path(source_of(path).meta.cwd or "/"), __version__)
            return fork_at(store, path, count).name.removesuffix(SUFFIX)

        return await self._read(fork)

    async def export(self, path: Path, kind: Literal["html", "md"]) -> bytes:
        """The page of a session. ZotError if it cannot be read, or has no prompts."""
        from zot.features.export.document import read_document
        from zot.features.export.export import page_of

        return await self._read(lambda: page_of(read_document(path), kind))

    async def _read(self, work: Callable[[], _T]) -> _T:
        if self._waiting >= _WAITING_MAX:
            raise Refused(503, "too many requests about sessions; try again")
        self._waiting += 1
        try:
            async with self._reading:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1


class _Listing(msgspec.Struct, frozen=True):
    store: SessionStore
    running: frozenset[str]
    words: str
    directory: str
    limit: int
    after: str

    def run(self, is_given_up: Callable[[], bool]) -> SessionList:
        found: list[SessionInfo] = []
        last, end = self.after, time.monotonic() + _SEARCH_S
        for summary in self._summaries():
            if len(found) == self.limit or (self.words and time.monotonic() > end) or is_given_up():
                return SessionList(sessions=tuple(found), more=True, after=last)
            last = _name_of(summary)
            snippet = self._snippet(summary, is_given_up) if self.words.strip() else ""
            if snippet is not None:
                found.append(self._info(summary, snippet))
        return SessionList(sessions=tuple(found), more=False, after=last)

    def _summaries(self) -> Iterator[Summary]:
        """Those of the directory, after the last one that the client has."""
        summaries = iter(self.store.summaries(everywhere=True))
        if self.after and not any(_name_of(each) == self.after for each in summaries):
            raise UsageError(f'after "{self.after[:60]}": no such session')
        return (each for each in summaries if not self.directory or each.cwd == self.directory)

    def _snippet(self, summary: Summary, is_given_up: Callable[[], bool]) -> str | None:
        """Where it has all words, as in `zot sessions search`; None if it does not."""
        hit = next(search([summary.path], self.words, is_given_up), None)
        if hit is not None:
            return _one_line(hit.said.text, _SNIPPET)
        title = summary.title.lower()
        return _one_line(summary.title) if all(word in title for word in self.words.lower().split()) else None

    def _info(self, summary: Summary, snippet: str) -> SessionInfo:
        name = _name_of(summary)
        return SessionInfo(
            conversation=name,
            id=summary.id,
            title=_one_line(summary.label),
            cwd=summary.cwd,
            updated=_utc(summary.modified),
            messages=summary.messages,
            cost=summary.cost_usd,
            parent=summary.parent,
            running=name in self.running,
            snippet=snippet,
        )


def _name_of(summary: Summary) -> str:
    """Its file name; a session with another name is found by its id."""
    name = Path(summary.path).name.removesuffix(SUFFIX)
    return name if FILE_NAME.fullmatch(name) else summary.id


def _one_line(text: str, limit: int = 200) -> str:
    """On one line, with visible control and direction characters."""
    line = escape_invisible(" ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
