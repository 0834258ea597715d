"""Tab completes the path before the cursor as a shell does: the common part, then a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from zot.features.file_blocks import absolute, mention
from zot.frontends.file_index import entries_of, name_of, parted, without_hidden
from zot.frontends.terminal.editor.chips import Chip
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.text_buffer import TextBuffer, Token
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# Paths as typed: below the working directory, or outside it as `/…`, `~/…` and `../…`.


ROWS = 12
RESOURCE = "\0"  # begins a server's resource, not a path
OFFER = "\1"  # begins the number of an extension's item


def chip_outside(root: Path, typed: str, *, content: bool) -> Chip:
    """An outside path typed by the user may be sent, unlike the target of a link in a clone."""
    path = Path(absolute(root, typed))
    if content:
        return Chip(f"[content:{one_line(path.name)}]", str(path), content=path)
    return Chip(f"[{'dir' if typed.endswith('/') else 'file'}:{one_line(typed)}]", str(path), mention=mention(typed))


_MOMENT_S = 0.3  # seconds a tab may wait
_LONGEST = 1024


class PathCompletion:
    """The list of candidates. ``write`` replaces the typed path."""

    def __init__(self, typed: str, paths: Sequence[str], write: Callable[[str], None]) -> None:
        self._write = write
        rows = [Choice(path, one_line(name_of(path))) for path in paths]
        self._list = SelectList(rows, filterable=False, found=Pattern(parted(typed)[1], path=True))
        self.visible = True

    def key(self, key: Key) -> bool:
        """Any other key closes the list and is handled normally."""
        if key.name in ("up", "down", "pageup", "pagedown", "ctrl+p", "ctrl+n"):
            return self._list.key(key)
        self.visible = False
        if key.name in ("tab", "enter") and (chosen := self._list.chosen) is not None:
            self._write(chosen.value)
            return True
        return False

    def escape(self) -> None:
        self.visible = False

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        return self._list.lines(theme, width, max(min(height, ROWS), 1))


def typed_path(buffer: TextBuffer) -> str:
    """The word before the cursor; ended by a chip, or by an unescaped space in a shell line."""
    line, end = buffer.line, buffer.cursor.column
    start = end
    while start and end - start < _LONGEST and not isinstance(line[start - 1], Token):
        if line[start - 1].isspace() and not (_is_shell(buffer) and start > 1 and line[start - 2] == "\\"):
            break
        start -= 1
    return "".join(line[start:end])


def completions(root: Path, buffer: TextBuffer, typed: str) -> list[str]:
    """Paths that begin with the typed text, as inserted; exact case first."""
    directory, name = parted(typed.removeprefix("!").replace("\\ ", " ") if _is_shell(buffer) else typed)
    if name in ("~", ".."):
        return [f"{typed}/"]
    work = _lister().submit(entries_of, root, directory, ignored_too=True)
    try:
        entries = work.result(_MOMENT_S)
    except TimeoutError:  # pressing tab again lists again
        entries = []
    found = without_hidden(entries, name)
    exact = [path for path in found if name_of(path).startswith(name)]
    loose = [path for path in found if name_of(path).lower().startswith(name.lower())]
    return [path.replace(" ", "\\ ") for path in exact or loose] if _is_shell(buffer) else exact or loose


def common(paths: Sequence[str]) -> str:
    """Their common beginning."""
    first, last = min(paths), max(paths)
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


def _is_shell(buffer: TextBuffer) -> bool:
    return buffer.lines[0][:1] == ["!"]


@cache
def _lister() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "zot-paths")
