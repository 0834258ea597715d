"""What ``.`` does again: the keys of the last change, with what was typed until the end of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import dropwhile

from zot.tui.keys import Key

_MOST = 10_000  # keys of one change, and of all that one dot replays
INSERTS = ("i", "a", "I", "A", "o", "O")
_TYPES = frozenset({"paste", "backspace", "delete", "alt+enter", "shift+enter", "ctrl+enter", "ctrl+j", "tab"})


class Repeat:
    def __init__(self) -> None:
        self._last: list[Key] = []
        self._now: list[Key] = []
        self._inserting = False
        self._replaying = False

    def command(self, key: Key) -> None:
        """A key of a command that is not over yet."""
        if not self._replaying:
            self._now.append(key)

    def over(self, *, changed: bool, inserting: bool) -> None:
        """The command was understood; what follows may belong to it."""
        if self._replaying:
            return
        self._inserting = inserting
        if not changed or self._now[-1:] == [Key(".", ".")]:
            self._now = []
        elif not inserting:
            self._last, self._now = self._now, []

    def typed(self, key: Key) -> None:
        """A key in insert mode: other keys than those that type end what can be repeated."""
        if self._replaying or not self._inserting:
            return
        if (key.printable or key.name in _TYPES) and len(self._now) < _MOST:
            self._now.append(key)
        else:
            self.ends()

    def ends(self) -> None:
        """The end of typing, or of a command that was given up."""
        if self._replaying:
            return
        if self._inserting and self._now:
            self._last = [*self._now, Key("esc")]
        self.forget()

    def forget(self) -> None:
        self._now, self._inserting = [], False

    @contextmanager
    def replaying(self, count: str) -> Generator[Sequence[Key]]:
        """The keys to press; meanwhile nothing is recorded. A ``count`` takes the place of the one there was."""
        if self._replaying:
            yield ()
            return
        self._replaying = True
        try:
            yield self._last if not count else self._counted(count[:4])
        finally:
            self._replaying = False

    def _counted(self, count: str) -> list[Key]:
        keys = list(dropwhile(lambda key: key.name.isdigit(), self._last))
        if not keys or keys[0].name in ("v", "V"):
            return keys
        if keys[0].name in INSERTS:
            return keys * max(min(int(count), _MOST // len(keys)), 1)
        rest = dropwhile(lambda key: key.name in "123456789", keys[1:]) if keys[0].name in ("d", "c") else keys[1:]
        return [*(Key(digit, digit) for digit in count), keys[0], *rest]
