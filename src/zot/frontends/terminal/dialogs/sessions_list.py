"""Lists the stored conversations of a directory with a preview, and searches them.
Titles are searched at once, messages by ``SessionReader``. Letters are the search; actions are ctrl with a letter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from zot.core.session.search import Hit, MessageExcerpt, last_messages, search
from zot.core.session.summary import Summary
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList, TextField, pointed_out
from zot.tui.width import cut, wrap

# Reads stored conversations in threads: no key waits. A new query ends the previous search; previews are cached while
# the list is open.

_SHORTEST = 2  # minimum letters for a search of all conversations
_PAUSE_S = 0.12  # seconds between keys while typing


class SessionReader:
    """``want`` returns the conversation to preview and the words to find; ``found`` is called on results.
    ``hits`` are conversations with the words, and where; ``ends`` their last messages."""

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
        """Drops results of other words."""
        self.hits = {}

    async def run(self) -> None:
        """Runs until cancelled."""
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
                    self.ends[path] = await asyncio.to_thread(last_messages, path)
                except OSError:  # deleted meanwhile: nothing to show
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


_HINT = "enter resumes · ctrl+r renames · ctrl+d deletes · tab {scope} · esc closes"
_EMPTY = "type to search titles and messages"
_WITH_PREVIEW = 11  # minimum rows for a list and a preview
_PREVIEW = 12
_LONGEST_SAID = 4  # rows


class SessionAction(msgspec.Struct, frozen=True):
    """An action on a session; ``title`` is its new title, or its name for a deletion."""

    kind: Literal["open", "rename", "delete", "everywhere"]
    path: str
    title: str = ""


class SessionsList(Dialog[SessionAction]):
    """``reader.run`` must run while it is open. ``filter`` is the initial search."""

    def __init__(
        self,
        summaries: Sequence[Summary],
        current: str,
        *,
        everywhere: bool,
        selected: str = "",
        filter: str = "",
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self._by_path = {summary.path: summary for summary in summaries}
        ordered = sorted(summaries, key=lambda each: each.is_failed_run and each.path != current)  # those last
        self._rows = [_row(s, current, everywhere) for s in ordered]
        self._changed = changed
        self.everywhere = everywhere
        self.title = "sessions of all directories" if everywhere else "sessions of this directory"
        self.reader = SessionReader(list(self._by_path), self._more_found)
        self.list = SelectList(self._rows, selected=selected, ordered=True)
        for letter in filter:
            self.list.key(Key(letter, letter))
        self.list.select(selected)
        self._renaming: TextField | None = None
        self._look()

    # --- the reader

    def _look(self) -> None:
        chosen = self.list.chosen
        self.reader.want(chosen.value if chosen is not None else "", self.list.filter)

    def _more_found(self) -> None:
        """A conversation with the words in its messages matches as if they were in its title."""
        hits, typed = self.reader.hits, self.list.filter
        self.list.set_choices(
            [
                msgspec.structs.replace(row, searched=f"{row.searched} {typed}") if row.value in hits else row
                for row in self._rows
            ]
        )
        self._look()
        self._changed()

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        scope = "only here" if self.everywhere else "all places"
        self.hint = _HINT.format(scope=scope) if self._renaming is None else "enter stores the title · esc goes back"
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        if self._renaming is not None:
            line, column = self._renaming.line(theme, max(width - 12, 1))
            self.cursor = (0, column + 10)
            return [f"  {theme.paint('prompt', 'title ›')} {line}"]
        self.cursor = None
        if not self._by_path:
            return [theme.paint("muted", cut("  no sessions yet", width))]
        typed = self.list.filter
        if not typed:
            head = theme.paint("muted", cut(f"  {_EMPTY}", width))
        else:
            state = " · searching messages…" if self.reader.searching else ""
            row = f"  {theme.paint('prompt', 'search:')} {theme.paint('accent', typed)}{theme.paint('muted', state)}"
            head = cut(row, width)
        room = max(height - 1, 1)
        if room < _WITH_PREVIEW:
            return [head, *self.list.lines(theme, width, room)]
        listed = self.list.lines(theme, width, room - min(_PREVIEW, room // 2) - 1)
        return [head, *listed, *self._preview(theme, width, min(room - len(listed), _PREVIEW))]

    def _preview(self, theme: Theme, width: int, height: int) -> list[str]:
        """The matching message, else the end of the conversation."""
        chosen = self.list.chosen
        if chosen is None:
            return []
        hit = self.reader.hits.get(chosen.value)
        excerpts = [hit] if hit is not None else self.reader.ends.get(chosen.value, [])
        pattern = Pattern(self.list.filter)
        rows: list[str] = []
        for one in reversed(excerpts):
            block = _excerpt_rows(theme, one, pattern, width, _LONGEST_SAID if hit is None else height)
            if len(block) + len(rows) >= height:
                break
            rows = [*block, *rows]
        return [theme.paint("border", "  " + "┄" * max(width - 4, 1)), *rows] if rows else []

    # --- keys

    def key(self, key: Key) -> bool:
        if self._renaming is not None:
            if key.name in ("esc", "ctrl+c"):
                self._renaming = None
            elif key.name == "enter":
                chosen, title = self.list.chosen, self._renaming.text.strip()
                self._renaming = None
                if chosen is not None and title:
                    self.finish(SessionAction("rename", chosen.value, title))
            else:
                self._renaming.key(key)
            return True
        chosen = self.list.chosen
        if key.name in ("tab", "ctrl+a"):
            self.finish(SessionAction("everywhere", ""))
        elif chosen is not None and key.name == "enter":
            self.finish(SessionAction("open", chosen.value))
        elif chosen is not None and key.name == "ctrl+r":
            self._renaming = TextField(one_line(self._by_path[chosen.value].title))
        elif chosen is not None and key.name == "ctrl+d":
            self.finish(SessionAction("delete", chosen.value, self._by_path[chosen.value].label))
        else:
            typed = self.list.filter
            if key.name == "esc" and typed:  # the first esc clears the search, as everywhere
                key = Key("ctrl+u")
            used = self.list.key(key)
            if self.list.filter != typed:
                self.reader.forget()
                self.list.set_choices(self._rows)
            self._look()
            return used
        return True


def _excerpt_rows(theme: Theme, excerpt: MessageExcerpt, pattern: Pattern, width: int, most: int) -> list[str]:
    mark = {"user": "› ", "tool": "● "}.get(excerpt.role, "  ")
    rows = wrap(one_line(excerpt.text), max(width - 6, 1))
    if len(rows) > most:
        rows = [*rows[: most - 1], cut(f"{rows[most - 1]} …", width - 6)]
    role = "fg" if excerpt.role == "user" else "muted"
    painted = (pointed_out(theme, row, pattern, role) for row in rows)
    marks = (theme.paint("prompt", mark) if number == 0 else "  " for number in range(len(rows)))
    return [f"  {mark}{row}" for mark, row in zip(marks, painted, strict=True)]


def _row(summary: Summary, current: str, everywhere: bool) -> Choice:
    mark = "● " if summary.path == current else "  "
    name = one_line(summary.label)
    label = f"{mark}{age(summary.modified):>10}  {name}"
    about, *shorter = _about(summary, everywhere)
    searched = f"{name} {one_line(summary.first_text)}" + (f" {one_line(summary.cwd)}" if everywhere else "")
    return Choice(summary.path, label, about, shorter=tuple(shorter), searched=searched)


def _about(summary: Summary, everywhere: bool) -> list[str]:
    """All details, then fewer: cost is dropped first, model and directory last. Branches begin with id and parent."""
    model = one_line(summary.model)
    full = f"{one_line(summary.provider)}/{model}"
    count = f"{summary.messages} msg{'' if summary.messages == 1 else 's'}"
    count = f"no answer, {count}" if summary.is_failed_run else count
    cost = f"${summary.cost_usd:.4f}"
    place = one_line(summary.cwd)
    name = place.rstrip("/").rpartition("/")[2] or place
    if everywhere:
        variants = [(count, cost, full, place), (count, model, place), (model, place), (model, name), (name,)]
    else:
        variants = [(count, cost, full), (count, full), (count, model), (model,)]
    if summary.parent:
        ids = f"{one_line(summary.id[:8])}, branch of {one_line(summary.parent[:8])}"
        variants = [*((ids, *parts) for parts in variants), (ids,), *variants[-1:]]
    return [" · ".join(parts) for parts in variants]


def age(modified: float, now: float | None = None) -> str:
    """``just now``, ``5 min ago``, ``3 h ago``, ``2 d ago``, else the date."""
    seconds = max((time.time() if now is None else now) - modified, 0)
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h ago"
    if seconds < 7 * 86_400:
        return f"{int(seconds // 86_400)} d ago"
    return time.strftime("%Y-%m-%d", time.localtime(modified))
