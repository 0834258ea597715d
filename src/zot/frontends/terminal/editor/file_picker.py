"""``@`` picks a file, directory or MCP resource; ``!@`` attaches the file's content.
``@src/`` lists ``src``, ``@ed`` and ``@src/ed`` filter and search below; ``@/``, ``@~/`` and ``@../`` list outside
directories."""

from __future__ import annotations

import asyncio
import os
import re
import time
from bisect import insort
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import ToolError
from zot.frontends.terminal.editor.path_completion import (
    OFFER,
    RESOURCE,
    ROWS,
    entries_of,
    is_outside,
    name_of,
    parted,
    without_hidden,
)
from zot.tui.fuzzy import BEGINS, EACH, INSIDE, SCATTERED, Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import cut, visible

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from zot.features.extensions.completion import OfferedItem

# Every file below the working directory, listed by a child process (ripgrep, or zot's worker) and searched in slices:
# no key waits. It can be searched while it grows, and stays until a newer list is complete. Case is ignored.

LIMIT = 300_000
FOUND = 100
FRESH_S = 10.0
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


DIVIDER = "extensions"
_SHOWN = 1000
_MOMENT_S = 0.15  # seconds a key may wait; rarely reached


class PickerActions(msgspec.Struct, frozen=True):
    """Actions of the picker: change the text after the @, replace it by a chip, remove it."""

    retype: Callable[[str], None]
    take: Callable[[str], None]
    remove: Callable[[], None]
    changed: Callable[[], None]
    spawn: Callable[[Coroutine[Any, Any, None]], object]


class FilePicker:
    """One per editor; call ``update`` with the text after the ``@`` when it changes."""

    def __init__(
        self,
        root: Path,
        actions: PickerActions,
        resources: Callable[[], Sequence[tuple[str, str]]] = tuple,
        offers: Callable[[], Sequence[OfferedItem]] = tuple,
    ) -> None:
        self.root = root
        self._resources = resources
        self._offers = offers
        self._readable: Sequence[tuple[str, str]] = ()
        self._actions = actions
        self._indexes = {kind: FileIndex(root, self._more_files, ignored_too=kind) for kind in (False, True)}
        self._ignored_too = False
        self._list = SelectList((), filterable=False)
        self._typed: str | None = None
        self._files_only = False
        self._near: list[str] = []
        self._found: list[str] = []
        self._searching = self._again = self._moved = False
        self._listings: dict[tuple[str, bool], list[str]] = {}  # by directory, and whether ignored files are included
        self._thread: ThreadPoolExecutor | None = None

    @property
    def _index(self) -> FileIndex:
        return self._indexes[self._ignored_too]

    def update(self, typed: str, *, files_only: bool = False) -> None:
        if typed == self._typed and files_only == self._files_only:
            return
        opened, self._typed, self._files_only = self._typed is None, typed, files_only
        self._moved = False
        if opened:
            self._readable = self._resources()
            if self._index.stale:
                self._actions.spawn(self._index.refresh())
        self._look_near(typed)
        matcher = PathMatcher(typed)
        inside = typed and not is_outside(typed)
        self._found = [path for path in self._found if inside and matcher.in_order(path.lower())]
        self._show()
        if inside:
            self._search()

    def _look_near(self, typed: str) -> None:
        directory, name = parted(typed)
        if is_outside(typed) and name in ("~", ".."):
            self._near = [f"{typed}/"]
            return
        here = self._listing(directory)
        if is_outside(typed):
            here = without_hidden(here, name)
        self._near = [path for path in here if name.lower() in os.path.basename(path.rstrip("/")).lower()]

    def _listing(self, directory: str) -> list[str]:
        """The content of a directory, if it is listed fast; else it is shown later.
        A thread lists it: ignore rules of a project may be slow."""
        key = (directory, self._ignored_too)
        if key not in self._listings:
            self._listings[key] = []
            if self._thread is None:
                from concurrent.futures import ThreadPoolExecutor

                self._thread = ThreadPoolExecutor(1, "zot-files")
            work = self._thread.submit(entries_of, self.root, directory, ignored_too=self._ignored_too)
            try:
                self._listings[key] = work.result(_MOMENT_S)
            except TimeoutError:
                self._actions.spawn(self._listed_late(key, work))
        return self._listings[key]

    async def _listed_late(self, key: tuple[str, bool], work: Future[list[str]]) -> None:
        found = await asyncio.wrap_future(work)
        if key in self._listings:
            self._listings[key] = found
            if self._typed is not None:
                self._look_near(self._typed)
                self._show()
                self._actions.changed()

    def close(self) -> None:
        """The @ was removed; the next one starts over."""
        self._typed, self._found, self._near = None, [], []
        self._listings.clear()

    # --- keys

    @property
    def visible(self) -> bool:
        return self._list.chosen is not None

    def key(self, key: Key) -> bool:
        chosen = self._list.chosen
        if chosen is None:
            return False
        match key.name:
            case "enter" | "tab":
                path = chosen.value
                if self._files_only and path.endswith("/"):
                    self._actions.retype(path)
                else:
                    self._actions.take(path)
            case "right":
                if chosen.value.endswith("/") and not chosen.value.startswith((RESOURCE, OFFER)):
                    self._actions.retype(chosen.value)
            case "left":
                self._actions.retype(_parent(self._typed or ""))
            case "alt+i":
                self._ignored_too = not self._ignored_too
                typed = self._typed or ""
                self.close()
                self.update(typed, files_only=self._files_only)
            case "up" | "down" | "pageup" | "pagedown" | "ctrl+p" | "ctrl+n":
                self._moved = True
                return self._list.key(key)
            case _:
                return False
        return True

    def escape(self) -> None:
        self._actions.remove()

    # --- searching below

    def _search(self) -> None:
        """One search at a time; a change meanwhile starts the next one at its end."""
        self._again = True
        if self._typed and not self._searching:
            self._searching = True
            self._actions.spawn(self._search_while_it_changes())

    async def _search_while_it_changes(self) -> None:
        try:
            while self._again and self._typed:
                self._again = False
                await self._search_once(self._typed)
        finally:
            self._searching = False

    async def _search_once(self, typed: str) -> None:
        found = await self._index.search(typed, lambda: typed != self._typed)
        if found is not None and typed == self._typed:
            self._found = found
            self._show()
            self._actions.changed()

    def _more_files(self) -> None:
        if self._typed and not is_outside(self._typed):
            self._search()

    def _show(self) -> None:
        near = set(self._near)
        paths = [*self._near, *(path for path in self._found if path not in near)]
        outside = is_outside(self._typed or "")  # its directory is above the list
        labels = [name_of(path) if outside else path for path in paths[:_SHOWN]]
        shown = [label if label.isprintable() else one_line(label) for label in labels]
        rows = [Choice(path, label) for path, label in zip(paths, shown, strict=False)]
        first, last = self._named()
        rows = [*first, *rows, *last, *self._offered()]
        kept = self._list.chosen if self._moved else None
        found = Pattern(parted(self._typed or "")[1] if outside else self._typed or "", path=True)
        self._list = SelectList(rows, filterable=False, selected=kept.value if kept else "", found=found)

    def renew(self) -> None:
        """Extensions have answered."""
        self._show()

    def _offered(self) -> list[Choice]:
        """Items of extensions, below the files."""
        offers = () if self._files_only else self._offers()
        rows = [
            Choice(
                f"{OFFER}{number}",
                one_line(visible(item.label)),
                one_line(visible(f"{item.description} [{item.extension}]".strip())),
            )
            for number, item in enumerate(offers)
        ]
        return [Choice("", DIVIDER, divider=True), *rows] if rows else []

    def _named(self) -> tuple[list[Choice], list[Choice]]:
        """Matching resources: those whose name is being typed, and others. A complete name needs no list."""
        typed = (self._typed or "").lower()
        if self._files_only or any(typed == name.lower() for name, _ in self._readable):
            return [], []
        fit = [(name, about) for name, about in self._readable if typed in f"{name} {about}".lower()]
        parts: tuple[list[Choice], list[Choice]] = ([], [])
        for name, about in fit[:_SHOWN]:
            begins = bool(typed) and name.lower().startswith(typed)
            parts[not begins].append(Choice(f"{RESOURCE}{name}", one_line(name), one_line(about)))
        return parts

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        directory = (self._typed or "").rpartition("/")[0]
        head = f"  {one_line(directory)}/" if directory and (self._near or self._found or not self.visible) else ""
        if self._ignored_too:
            head += "  with ignored files"
        rows = self._list.lines(theme, width, max(min(height - bool(head), ROWS), 1))
        return [theme.paint("muted", cut(head, width)), *rows] if head else rows


def _parent(typed: str) -> str:
    """One directory up from the typed path; below the working directory never above it."""
    directory = typed.rpartition("/")[0]
    if directory in ("", "~") and is_outside(typed):
        return f"{directory}/"
    if directory.rpartition("/")[2] == "..":
        return f"{directory}/../"
    above, slash, _ = directory.rpartition("/")
    return above + slash
