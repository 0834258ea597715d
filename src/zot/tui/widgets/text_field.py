"""One line to type into, for dialogs: moves by cluster, scrolls sideways, and can hide what is typed."""

from __future__ import annotations

from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import cells, clusters


class TextField:
    """``masked`` shows dots; ``text`` is what was typed."""

    def __init__(self, text: str = "", *, masked: bool = False) -> None:
        self._clusters = [cluster for cluster, _ in clusters(text)]
        self._position = len(self._clusters)
        self._masked = masked

    @property
    def text(self) -> str:
        return "".join(self._clusters)

    def insert(self, text: str) -> None:
        added = [cluster for cluster, _ in clusters(one_line(text) if "\n" in text or "\x1b" in text else text)]
        self._clusters[self._position : self._position] = added
        self._position += len(added)

    def key(self, key: Key) -> bool:
        """Whether the key was used."""
        if key.printable or key.name == "paste":
            self.insert(key.text)
            return True
        action = {
            "left": lambda: self._go(self._position - 1),
            "right": lambda: self._go(self._position + 1),
            "home": lambda: self._go(0),
            "end": lambda: self._go(len(self._clusters)),
            "ctrl+a": lambda: self._go(0),
            "ctrl+e": lambda: self._go(len(self._clusters)),
            "backspace": lambda: self._delete(self._position - 1, self._position),
            "delete": lambda: self._delete(self._position, self._position + 1),
            "ctrl+u": lambda: self._delete(0, self._position),
            "ctrl+k": lambda: self._delete(self._position, len(self._clusters)),
        }.get(key.name)
        if action is None:
            return False
        action()
        return True

    def _go(self, position: int) -> None:
        self._position = min(max(position, 0), len(self._clusters))

    def _delete(self, first: int, last: int) -> None:
        if first >= 0:
            del self._clusters[first:last]
            self._go(first)

    def line(self, theme: Theme, width: int) -> tuple[str, int]:
        """The row, and the column of the cursor in it."""
        shown = ["•"] * len(self._clusters) if self._masked else self._clusters
        start = 0
        while start < self._position and cells("".join(shown[start : self._position])) >= max(width - 1, 1):
            start += 1
        end = start
        while end < len(shown) and cells("".join(shown[start : end + 1])) <= width - 1:
            end += 1
        return theme.paint("fg", "".join(shown[start:end])), cells("".join(shown[start : self._position]))
