"""The conversation on the alternate screen: one turn with search (``/jump``), or everything unfolded (ctrl+o)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zot.core.session.turn_history import PromptTurn
from zot.frontends.terminal.dialogs.dialog import Dialog, titled_rule
from zot.frontends.terminal.dialogs.text_dialogs import Pager
from zot.frontends.terminal.screen.resumed_transcript import RenderSettings, grouped, message_blocks
from zot.provider.messages import Message
from zot.tui.keys import Key
from zot.tui.live_region import SettledBlocks
from zot.tui.theme import Theme
from zot.tui.widgets import TextField
from zot.tui.width import cut, visible

_TURN_KEYS = "↑↓ page up/down · ←→ turn · / search · n next · ctrl+o folds · y copies · esc"
_UPWARDS = ("up", "k", "pageup", "b", "ctrl+u", "home", "g")
_FULL_KEYS = "up/down, page up/down, home/end · ctrl+o or esc returns"
_AT_ONCE = 300  # messages rendered at first; older ones follow on demand


class TurnViewer(Dialog[bool]):
    """Prompt, replies and tool results of one turn; left and right go to other turns.
    ``page`` returns how messages are rendered now; ``copy`` copies a text."""

    fullscreen = True

    def __init__(
        self,
        turns: Sequence[PromptTurn],
        number: int,
        page: Callable[[], RenderSettings],
        copy: Callable[[str], object],
    ) -> None:
        super().__init__()
        self._page = page
        self._copied = copy
        self._turns = turns
        self._number = number
        self._expanded = True
        self._pages = Pager()
        self._made: tuple[object, list[str]] | None = None
        self._field: TextField | None = None
        self._sought = ""
        self._note = ""

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        """The whole screen: title, body, foot."""
        body = self.rows(theme, width, max(height - 2, 1))
        body += [""] * (max(height - 2, 1) - len(body))
        title = f"turn {self._number + 1} of {len(self._turns)} · {self._pages.place}"
        if self._field is None:
            self.cursor = None
            foot = theme.paint("muted", cut(f"  {self._note or _TURN_KEYS}", width))
        else:
            line, column = self._field.line(theme, max(width - 4, 1))
            self.cursor = (height - 1, column + 4)
            foot = f"  {theme.paint('prompt', '/')} {line}"
        return [titled_rule(theme, title, width), *body, foot]

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        shown = self._pages.show(self._body(width), height)
        return [self._marked(theme, row, width) for row in shown]

    def _marked(self, theme: Theme, row: str, width: int) -> str:
        found = self._sought and self._sought in visible(row).lower()
        return theme.selected(visible(row), width) if found else cut(row, width)

    def _body(self, width: int) -> list[str]:
        page, turn = self._page(), self._turns[self._number]
        key = (self._number, width, self._expanded, page.painter.theme)
        if self._made is None or self._made[0] != key:
            self._made = (key, _rendered((turn.prompt, *turn.replies), page, expanded=self._expanded))
        return self._made[1]

    # --- keys

    def key(self, key: Key) -> bool:
        if self._field is not None:
            if key.name in ("esc", "ctrl+c"):
                self._field, self._sought = None, ""
            elif key.name == "enter":
                self._sought = self._field.text.strip().lower()
                self._field = None
                if self._sought:
                    self._pages.top -= 1  # a hit on the first row also counts
                    self._find(1)
            else:
                self._field.key(key)
            return True
        self._note = ""
        if key.name in ("left", "right"):
            number = min(max(self._number + (1 if key.name == "right" else -1), 0), len(self._turns) - 1)
            if number != self._number:
                self._number, self._pages.top = number, 0
        elif key.name == "/":
            self._field = TextField()
        elif key.name in ("n", "N"):
            self._find(-1 if key.name == "N" else 1)
        elif key.name == "ctrl+o":
            self._expanded = not self._expanded
        elif key.name == "y":
            turn = self._turns[self._number]
            text = "\n\n".join(
                filter(None, (message.shown_text() for message in turn.replies if message.role == "assistant"))
            )
            self._copied(text)
            self._note = "the answer is in the clipboard, if the terminal allows it"
        elif key.name == "q":
            self.finish(True)
        else:
            return self._pages.key(key)
        return True

    def _find(self, step: int) -> None:
        """The next row with the text; after the last of this turn, the next turn with it."""
        if not self._sought:
            return
        number, first = self._number, self._pages.top + step
        for _ in range(len(self._turns) + 1):
            rows = self._body(self._page().columns)
            hits = [i for i, row in enumerate(rows) if self._sought in visible(row).lower()]
            hits = [i for i in hits if (i >= first if step > 0 else i <= first)]
            if hits:
                self._pages.count = len(rows)
                self._pages.go(hits[0] if step > 0 else hits[-1])
                return
            self._number = (self._number + step) % len(self._turns)
            first = 0 if step > 0 else len(self._body(self._page().columns))
        self._number = number
        self._note = f'"{self._sought}" was not found in this conversation'


class ExpandedViewer(Dialog[bool]):
    """All messages with every result and the compaction summaries in full; starts at the end.
    Of a long conversation the newest are rendered first; scrolling up adds older ones."""

    fullscreen = True

    def __init__(self, messages: Sequence[Message], page: Callable[[], RenderSettings]) -> None:
        super().__init__()
        self._page = page
        self._messages = messages
        self._first = max(len(messages) - _AT_ONCE, 0)
        self._pages = Pager()
        self._made: tuple[object, list[str]] | None = None

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        room = max(height - 2, 1)
        rows = self._body(width)
        if self._made is not None and self._pages.top < 0:
            self._pages.top = max(len(rows) - room, 0)
        body = [cut(row, width) for row in self._pages.show(rows, room)]
        body += [""] * (room - len(body))
        foot = theme.paint("muted", cut(f"  {_FULL_KEYS}", width))
        return [titled_rule(theme, f"in full · {self._pages.place}", width), *body, foot]

    def _body(self, width: int) -> list[str]:
        page = self._page()
        key = (width, page.painter.theme)
        if self._made is None or self._made[0] != key:
            self._made = (key, self._shown(page))
            self._pages.top = -1  # at the end
        return self._made[1]

    def _shown(self, page: RenderSettings) -> list[str]:
        rows = _rendered(self._messages[self._first :], page, expanded=True)
        if not self._first:
            return rows
        before = f"  … {self._first:,} earlier messages: page up or home shows them"
        return [page.painter.theme.paint("muted", before), "", *rows]

    def key(self, key: Key) -> bool:
        if key.name in ("ctrl+o", "q"):
            self.finish(True)
            return True
        if key.name in _UPWARDS and self._first and not self._pages.top and self._made is not None:
            # Add older messages; the visible rows stay in place.
            made, rows = self._made
            self._first = max(self._first - _AT_ONCE, 0)
            self._made = (made, self._shown(self._page()))
            self._pages.count = len(self._made[1])
            self._pages.go(len(self._made[1]) - len(rows))
        return self._pages.key(key)


def _rendered(messages: Sequence[Message], page: RenderSettings, *, expanded: bool) -> list[str]:
    calls = {call.id: call for message in messages for call in message.tool_calls()}
    made = [block for message in messages for block in message_blocks(message, calls, page, expanded=expanded)]
    settled = SettledBlocks()
    for block in made if expanded else grouped(made, page):
        settled.add(block.rows, joins=block.joins)
    return settled.take()
