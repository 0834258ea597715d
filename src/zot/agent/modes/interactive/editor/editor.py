"""The prompt's editor: multi-line text with a cursor. It knows keys and rows, and nothing of the agent.

``key`` edits and says whether it used the key; ``view`` is what to draw. On enter the text goes to ``on_submit`` and
the editor is empty. ``popup`` are the rows of an open completion, drawn above the status bar; while it is open,
``popup_key`` gets keys before anyone else, and ``escape`` closes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from zot.provider.messages import ImageBlock
from zot.tui.keys import Key
from zot.tui.sanitize import sanitize
from zot.tui.theme import Theme
from zot.tui.width import cells, clusters


class Submitted(msgspec.Struct, frozen=True):
    """What the user said, every chip and paste expanded."""

    text: str
    images: tuple[ImageBlock, ...] = ()


class EditorView(NamedTuple):
    lines: list[str]
    row: int
    column: int


class Editor:
    def __init__(self) -> None:
        self.on_submit: Callable[[Submitted], None] = lambda submitted: None
        self.on_steer: Callable[[Submitted], None] = lambda submitted: None
        self._before: list[str] = []
        self._after: list[str] = []

    # --- the text

    @property
    def text(self) -> str:
        return "".join(self._before) + "".join(self._after)

    @property
    def empty(self) -> bool:
        return not self._before and not self._after

    def insert(self, text: str) -> None:
        """At the cursor, made safe."""
        clean = sanitize(text.replace("\r\n", "\n").replace("\r", "\n")).replace("\t", "    ")
        for number, line in enumerate(clean.split("\n")):
            if number:
                self._before.append("\n")
            self._before.extend(cluster for cluster, _ in clusters(line))

    def set_text(self, text: str) -> None:
        self.clear()
        self.insert(text)

    def clear(self) -> None:
        self._before.clear()
        self._after.clear()

    # --- keys

    def key(self, key: Key) -> bool:
        if key.printable or key.name == "paste":
            self.insert(key.text)
            return True
        action = {
            "enter": self._submit,
            "alt+enter": lambda: self.insert("\n"),
            "shift+enter": lambda: self.insert("\n"),
            "ctrl+j": lambda: self.insert("\n"),
            "left": self._left,
            "right": self._right,
            "backspace": lambda: self._before and self._before.pop(),
            "delete": lambda: self._after and self._after.pop(0),
        }.get(key.name)
        if action is None:
            return False
        action()
        return True

    def popup_key(self, key: Key) -> bool:
        return False

    def escape(self) -> bool:
        """Close an open popup; whether there was one."""
        return False

    def key_help(self) -> list[tuple[str, str]]:
        """Keys and what they do, for ``/help``."""
        return [("enter", "send; while zot works: queue"), ("alt+enter", "new line")]

    def _submit(self) -> None:
        if submitted := self._take():
            self.on_submit(submitted)

    def steer(self) -> None:
        """Send the text into the running turn."""
        if submitted := self._take():
            self.on_steer(submitted)

    def _take(self) -> Submitted | None:
        text = self.text.rstrip("\n")
        if not text.strip():
            return None
        self.clear()
        return Submitted(text)

    def _left(self) -> None:
        if self._before:
            self._after.insert(0, self._before.pop())

    def _right(self) -> None:
        if self._after:
            self._before.append(self._after.pop(0))

    # --- rows

    def popup(self, theme: Theme, width: int, height: int) -> list[str]:
        return []

    def view(self, theme: Theme, width: int, height: int) -> EditorView:
        """At most ``height`` rows around the cursor."""
        rows, place = self._wrapped(max(width - 3, 1))
        first = min(max(place[0] - height + 1, 0), max(len(rows) - height, 0))
        prompt = theme.paint("prompt", "▌ ")
        lines = [(prompt if first + i == 0 else "  ") + row for i, row in enumerate(rows[first : first + height])]
        return EditorView(lines, place[0] - first, place[1] + 2)

    def _wrapped(self, width: int) -> tuple[list[str], tuple[int, int]]:
        rows, place = [""], (0, 0)
        for number, cluster in enumerate([*self._before, *self._after]):
            if number == len(self._before):
                place = (len(rows) - 1, cells(rows[-1]))
            if cluster == "\n":
                rows.append("")
            elif cells(rows[-1]) + cells(cluster) > width:
                rows.append(cluster)
            else:
                rows[-1] += cluster
        return rows, place if self._after else (len(rows) - 1, cells(rows[-1]))
