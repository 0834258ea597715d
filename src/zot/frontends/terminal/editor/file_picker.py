"""``@`` picks a file, directory or MCP resource; ``!@`` attaches the file's content.
``@src/`` lists ``src``, ``@ed`` and ``@src/ed`` filter and search below; ``@/``, ``@~/`` and ``@../`` list outside
directories."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.features.file_blocks import is_outside
from zot.frontends.file_index import FileIndex, PathMatcher, entries_of, name_of, parted, without_hidden
from zot.frontends.terminal.editor.path_completion import OFFER, RESOURCE, ROWS
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import cut, visible

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from zot.features.extensions.completion import OfferedItem

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
        paths = [*self._near, *(path for path in self._found if path not in near and path != self._typed)]
        outside = is_outside(self._typed or "")  # its directory is above the list
        labels = [name_of(path) if outside else path for path in paths[:_SHOWN]]
        shown = [label if label.isprintable() else one_line(label) for label in labels]
        rows = [Choice(path, label) for path, label in zip(paths, shown, strict=False)]
        first, last = self._named()
        rows = [*first, *self._itself(), *rows, *last, *self._offered()]
        kept = self._list.chosen if self._moved else None
        found = Pattern(parted(self._typed or "")[1] if outside else self._typed or "", path=True)
        self._list = SelectList(rows, filterable=False, selected=kept.value if kept else "", found=found)

    def _itself(self) -> list[Choice]:
        """The directory whose content is listed."""
        typed = self._typed or ""
        if self._files_only or not typed.endswith("/") or is_outside(typed) or not (self.root / typed).is_dir():
            return []
        return [Choice(typed, one_line(typed), "this directory")]

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
        listed = directory and (self._near or self._found or not self.visible) and not self._itself()
        head = f"  {one_line(directory)}/" if listed else ""
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
