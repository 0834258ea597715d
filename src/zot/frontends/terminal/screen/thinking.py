"""What a model thinks, on the screen: dim rows while it thinks, then one row that says how long it did.

``show_thinking`` may keep all rows (``open``) or show none (``off``); ctrl+o opens what is folded.
"""

from __future__ import annotations

from typing import Literal

from zot.frontends.terminal.screen import message_blocks
from zot.provider.messages import Message, ReasoningBlock
from zot.tui.sanitize import Sanitizer, excerpt, sanitize
from zot.tui.theme import Theme
from zot.tui.widgets import duration
from zot.tui.width import RESET, visible, wrap

Shown = Literal["folded", "open", "off"]

LIVE_ROWS = 8  # of a thought that is going to be folded
_ITALIC = "\x1b[3m"
_MOST_LINES, _MOST_CHARACTERS = 4_000, 200_000
_LONG_S = 1.0  # a shorter thought is not worth a row; ctrl+o has it


class LiveThought:
    """A thought while it is thought; each frame wraps only its end."""

    def __init__(self) -> None:
        self._sanitizer = Sanitizer()
        self._lines: list[str] = []
        self._last = ""

    def add(self, delta: str) -> None:
        *whole, rest = visible(self._sanitizer.feed(delta)).split("\n")
        for line in whole:
            self._lines.append(self._last + line)
            self._last = ""
        self._last += rest

    @property
    def text(self) -> str:
        return "\n".join([*self._lines, self._last]).strip("\n")

    def rows(self, theme: Theme, width: int, most: int) -> list[str]:
        """At most its last ``most`` rows."""
        room, rows = message_blocks.text_width(width), list[str]()
        for line in (self._last, *reversed(self._lines)):
            if len(rows) >= most:
                break
            rows[:0] = wrap(_plain(line[-most * room :]), room)
        while rows and not rows[-1].strip():
            rows.pop()
        return _dim(rows[-most:], theme)


def settled(text: str, seconds: float, theme: Theme, width: int, shown: Shown, *, hint: str = "") -> list[str]:
    """A thought that is over; no rows when there is nothing worth saying about it."""
    opened = shown == "open" and bool(text.strip())
    if shown == "off" or (seconds < _LONG_S and not opened):
        return []
    passed = duration(seconds) if seconds >= _LONG_S else "a moment"
    return _block(f"Thought for {passed}", text, theme, width, opened=opened, hint=hint)


def stored(message: Message, theme: Theme, width: int, shown: Shown, *, expanded: bool) -> list[str]:
    """What was kept of the thoughts behind a message; folded ones leave no row, for nobody remembers their time."""
    thoughts = (block.summary.strip() for block in message.content if isinstance(block, ReasoningBlock))
    text = "\n\n".join(thought for thought in thoughts if thought)
    if not text or not (shown == "open" or (expanded and shown == "folded")):
        return []
    return _block("Thought", visible(sanitize(text)), theme, width, opened=True)


def _block(head: str, text: str, theme: Theme, width: int, *, opened: bool, hint: str = "") -> list[str]:
    if not opened:
        return [theme.paint("muted", f"✻ {head}{hint if text.strip() else ''}")]
    kept, remark = excerpt(text.strip("\n"), lines=_MOST_LINES, characters=_MOST_CHARACTERS)
    room = message_blocks.text_width(width)
    rows = [row for line in kept.split("\n") for row in wrap(_plain(line), room)] if kept else []
    return [theme.paint("muted", f"✻ {head}"), *_dim([*rows, *([remark] if remark else [])], theme)]


def _plain(line: str) -> str:
    """Some providers set headings of their summaries in bold."""
    return line.replace("\t", "    ").replace("**", "")


def _dim(rows: list[str], theme: Theme) -> list[str]:
    opening = theme.sgr("muted") + _ITALIC
    return [f"{message_blocks.INDENT}{opening}{row}{RESET}" if row.strip() else "" for row in rows]
