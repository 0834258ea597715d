"""``/btw``: a side chat that sees the conversation and leaves no trace in it; works while a turn runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.core.events import AgentEvent, TextDelta
from zot.errors import ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.frontends.terminal.dialogs.text_dialogs import Pager
from zot.frontends.terminal.screen import message_blocks
from zot.provider.messages import Block, Message, TextBlock, ToolCallBlock, ToolResultBlock
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets import TextField
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.screen.ui_services import ScreenServices

# A child of the conversation: same guards and limits, its cost counts; it has no tools and is never saved. esc ends a
# running answer first, then closes; ctrl+c closes.

_RESULT = 4000  # characters of a tool's result that the side chat sees


class SideChat(Dialog[bool]):
    title = "by the way"

    def __init__(self, ui: ScreenServices, conversation: Conversation) -> None:
        super().__init__()
        self._ui = ui
        before = plain_history(conversation.messages)
        self._chat = conversation.child(messages=before, tools=())
        self._chat.subscribe(self._on_event, TextDelta)
        self._before = len(before)
        self._answer = ""
        self._asking: asyncio.Task[None] | None = None
        self._since = 0.0
        self._failure = ""
        self._field = TextField()
        self._pages = Pager()

    # --- questions

    def ask(self, question: str) -> None:
        """Send it; the answer streams in. An unanswered question is replaced by the next one."""
        self._answer, self._failure, self._since = "", "", time.monotonic()
        self._asking = self._ui.spawn(self._work(question))
        self._pages.top = 1 << 30

    async def _work(self, question: str) -> None:
        try:
            outcome = await self._chat.prompt(question, instead=self._unanswered)
            self._failure = str(outcome.error or outcome.refused or "")
        finally:
            self._asking, self._answer = None, ""
            self._ui.redraw()

    @property
    def _unanswered(self) -> bool:
        """True if a question here has no answer."""
        return self._chat.unanswered_prompt is not None and len(self._chat.messages) > self._before

    def _on_event(self, event: AgentEvent) -> None:
        if isinstance(event, TextDelta):
            self._answer += event.delta
            self._ui.redraw()

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        elapsed = int(time.monotonic() - self._since)
        doing = "enter asks · esc closes" if self._asking is None else f"answering - {elapsed}s · esc stops"
        self.hint = f"{doing} · not saved, not part of the conversation"
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        line, column = self._field.line(theme, max(width - 4, 1))
        room = max(height - 2, 1)
        body = self._pages.show(self._conversation(theme, width), room)
        self.cursor = (len(body) + 1, column + 4)
        return [*body, "", f"  {theme.paint('prompt', '›')} {line}"]

    def _conversation(self, theme: Theme, width: int) -> list[str]:
        rows: list[str] = []
        messages = list(self._chat.messages[self._before :])
        if self._asking is None and self._unanswered:
            messages.pop()
        if self._answer:
            messages.append(Message("assistant", (TextBlock(self._answer),)))
        for message in messages:
            if message.role == "user":
                rows += message_blocks.user_prompt(message.text(), (), theme, width)
            else:
                rows += ["", *message_blocks.assistant(message.shown_text(), self._ui.painter, width), ""]
        if self._failure:
            rows += message_blocks.note(self._failure, "error", "✖", theme, width)
        return [cut(row, width) for row in rows]

    # --- keys

    def key(self, key: Key) -> bool:
        if key.name == "esc" and self._asking is not None:
            self._chat.abort()
        elif key.name in ("esc", "ctrl+c"):
            if self._asking is not None:
                self._chat.abort()
            self.finish(True)
        elif key.name == "enter":
            if self._asking is None and (text := self._field.text.strip()):
                self._field = TextField()
                self.ask(text)
        elif key.name in ("up", "down", "pageup", "pagedown"):
            self._pages.key(key)
        else:
            self._field.key(key)
        return True


def plain_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation as text, since a model without tools must not see tool calls."""
    history = [
        Message(
            "user" if message.role == "tool" else message.role,
            tuple(filter(None, map(_plain_block, message.content))),
            message.time,
        )
        for message in messages
    ]
    return tuple(message for message in history if message.content)


def _plain_block(block: Block) -> Block | None:
    match block:
        case ToolCallBlock(name=name, arguments=arguments):
            return TextBlock(f"[called {name} {arguments[:_RESULT]}]")
        case ToolResultBlock(content=content):
            text = "\n".join(part.text for part in content if isinstance(part, TextBlock))
            return TextBlock(f"[the tool answered]\n{text[:_RESULT]}")
        case TextBlock(text):
            return block if text.strip() else None
        case _:
            return None


async def run(context: CommandContext, arguments: str) -> None:

    if context.conversation.unavailable_reason:
        raise ZotError(context.conversation.unavailable_reason)
    chat = SideChat(context.ui, context.conversation)
    if arguments:
        chat.ask(arguments)
    await context.dialogs.ask(chat)
