"""``@`` picks a file or directory. What stands after it is all there is to know: ``@`` lists the working directory,
``@src/`` what is in ``src``, ``@src/ed`` and ``@ed`` filter that and search below it. ``@/``, ``@~/`` and ``@../`` list
what is outside, one directory at a time. What MCP servers have to read is among it, as far as that is known.

``!@`` does the same and attaches the file's content.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.frontends.terminal.editor.file_index import FileIndex, PathMatcher
from zot.frontends.terminal.editor.popups import RESOURCE, ROWS
from zot.frontends.terminal.editor.typed_paths import entries_of, is_outside, name_of, parted, without_hidden
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import cut

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_SHOWN = 1000
_MOMENT_S = 0.15  # what a key may wait for; hardly any directory takes as long


class PickerActions(msgspec.Struct, frozen=True):
    """What the picker may do: change what stands after the @, put a chip for a path in its place, remove it all."""

    retype: Callable[[str], None]
    take: Callable[[str], None]
    remove: Callable[[], None]
    changed: Callable[[], None]
    spawn: Callable[[Coroutine[Any, Any, None]], object]


class FilePicker:
    """One for the life of the editor; ``update`` with what is typed after the ``@`` whenever it changes."""

    def __init__(
        self, root: Path, actions: PickerActions, resources: Callable[[], Sequence[tuple[str, str]]] = tuple
    ) -> None:
        self.root = root
        self._resources = resources
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
        self._listings: dict[tuple[str, bool], list[str]] = {}  # by directory, and whether ignored files are in it
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
        """What is in a directory, if that is known within a moment; else it is shown when it is.

        A thread lists it: what to ignore is written by others, who may have meant it to take long."""
        key = (directory, self._ignored_too)
        if key not in self._listings:
            self._listings[key] = []
            work = self._lister().submit(entries_of, self.root, directory, ignored_too=self._ignored_too)
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

    def _lister(self) -> ThreadPoolExecutor:
        if self._thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1, "zot-files")
        return self._thread

    def close(self) -> None:
        """The @ is gone; the next one starts over."""
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
                self._choose(chosen.value)
            case "right":
                if chosen.value.endswith("/") and not chosen.value.startswith(RESOURCE):
                    self._actions.retype(chosen.value)
            case "left":
                self._actions.retype(_parent(self._typed or ""))
            case "alt+i":
                self._toggle_ignored()
            case "up" | "down" | "pageup" | "pagedown" | "ctrl+p" | "ctrl+n":
                self._moved = True
                return self._list.key(key)
            case _:
                return False
        return True

    def escape(self) -> None:
        self._actions.remove()

    def _choose(self, path: str) -> None:
        if self._files_only and path.endswith("/"):
            self._actions.retype(path)
        else:
            self._actions.take(path)

    def _toggle_ignored(self) -> None:
        self._ignored_too = not self._ignored_too
        typed = self._typed or ""
        self.close()
        self.update(typed, files_only=self._files_only)

    # --- searching below

    def _search(self) -> None:
        """One search at a time; a change meanwhile starts the next when it ends."""
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
        outside = is_outside(self._typed or "")  # its directory stands above the list
        labels = [name_of(path) if outside else path for path in paths[:_SHOWN]]
        shown = [label if label.isprintable() else one_line(label) for label in labels]
        rows = [Choice(path, label) for path, label in zip(paths, shown, strict=False)]
        first, last = self._named()
        rows = [*first, *rows, *last]
        kept = self._list.chosen if self._moved else None
        found = Pattern(parted(self._typed or "")[1] if outside else self._typed or "", path=True)
        self._list = SelectList(rows, filterable=False, selected=kept.value if kept else "", found=found)

    def _named(self) -> tuple[list[Choice], list[Choice]]:
        """Resources that fit: those whose name is being typed, and others. A name that is typed out needs no list."""
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
    """One directory up from what is typed; from below the working directory never above it."""
    directory = typed.rpartition("/")[0]
    if directory in ("", "~") and is_outside(typed):
        return f"{directory}/"
    if directory.rpartition("/")[2] == "..":
        return f"{directory}/../"
    above, slash, _ = directory.rpartition("/")
    return above + slash
