"""What the empty editor says: what can be typed into it. A hint fades once its user has done what it says, in this
session or, as the history of the project tells, in an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_ASK = "ask anything"
_IDLE = {"/": "/ for commands", "@": "@ for files", "!": "! for the shell"}
_BUSY = {"queue": "enter queues", "steer": "ctrl+s steers"}


class Hints:
    def __init__(self) -> None:
        self._used: set[str] = set()

    def text(self, *, busy: bool) -> str:
        """For this moment; empty when there is nothing left to say."""
        hints = [hint for name, hint in (_BUSY if busy else _IDLE).items() if name not in self._used]
        return " · ".join(hints if busy else [_ASK, *hints])

    def submitted(self, text: str, *, files: bool, busy: bool) -> None:
        """Something was sent; ``files``: a file was picked for it."""
        self._said(text)
        if files:
            self._used.add("@")
        if busy:
            self._used.add("queue")

    def steered(self) -> None:
        self._used.add("steer")

    def remember(self, earlier: Iterable[str], roots: Sequence[str]) -> None:
        """Prompts of before; a path below one of these directories was a file that had been picked."""
        for text in earlier:
            self._said(text)
            if any(f"{root}/" in text for root in roots):
                self._used.add("@")

    def _said(self, text: str) -> None:
        if text[:1] in ("/", "!"):
            self._used.add(text[0])
