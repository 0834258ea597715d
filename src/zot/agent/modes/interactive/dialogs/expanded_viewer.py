"""ctrl+o: what was settled folded, in full on a screen of its own; again, and it is gone.

What is in the terminal's scrollback is never painted twice: this is a second look, not a redraw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.dialogs.dialog import Dialog, titled_rule
from zot.agent.modes.interactive.dialogs.pages import Pages
from zot.agent.modes.interactive.screen.resumed import Page, message_blocks
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.provider.messages import Message

_MOST_MESSAGES = 300
_KEYS = "up/down, page up/down, home/end · ctrl+o or esc returns"


class ExpandedViewer(Dialog[bool]):
    """The last messages with every result and the compaction summary in full; begins at their end."""

    fullscreen = True

    def __init__(self, messages: Sequence[Message], page: Callable[[], Page]) -> None:
        super().__init__()
        self._page = page
        self._messages = messages[-_MOST_MESSAGES:]
        self._pages = Pages()
        self._made: tuple[object, list[str]] | None = None

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        room = max(height - 2, 1)
        rows = self._body(width)
        if self._made is not None and self._pages.top < 0:
            self._pages.top = max(len(rows) - room, 0)
        body = [cut(row, width) for row in self._pages.show(rows, room)]
        body += [""] * (room - len(body))
        foot = theme.paint("muted", cut(f"  {_KEYS}", width))
        return [titled_rule(theme, f"in full · {self._pages.place}", width), *body, foot]

    def _body(self, width: int) -> list[str]:
        key = (width, self._page().painter.theme)
        if self._made is None or self._made[0] != key:
            self._made = (key, self._rendered())
            self._pages.top = -1  # at the end
        return self._made[1]

    def _rendered(self) -> list[str]:
        rows: list[str] = []
        page = self._page()
        calls = {call.id: call for message in self._messages for call in message.tool_calls()}
        for message in self._messages:
            for block in message_blocks(message, calls, page, expanded=True):
                rows += ["", *block] if rows else block
        return rows

    def key(self, key: Key) -> bool:
        if key.name in ("ctrl+o", "q"):
            self.finish(True)
            return True
        return self._pages.key(key)
