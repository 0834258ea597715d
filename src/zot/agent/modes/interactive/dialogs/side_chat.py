"""A chat on the side: it sees the conversation as it was when it opened, has no tools, and is never stored.

Its cost counts. esc ends a running answer first, then closes; ctrl+c closes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from zot.agent.modes.interactive.dialogs.dialog import Dialog
from zot.agent.modes.interactive.dialogs.text_dialogs import Pages
from zot.agent.modes.interactive.screen import blocks
from zot.errors import ZotError
from zot.provider import model_call as stream
from zot.provider.messages import Block, Message, Role, TextBlock, ToolCallBlock, ToolResultBlock, user_message
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets.text_field import TextField
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.agent.modes.interactive.screen.desk import Desk
    from zot.core.agent import Agent

_RESULT = 4000  # characters of a tool's result that the side chat sees


class SideChat(Dialog[bool]):
    title = "by the way"

    def __init__(self, desk: Desk, agent: Agent) -> None:
        super().__init__()
        self._desk = desk
        self._agent = agent
        self._frozen = plain_history(agent.messages)
        self._said: list[Message] = []
        self._answer = ""
        self._asking: asyncio.Task[None] | None = None
        self._since = 0.0
        self._failure = ""
        self._field = TextField()
        self._pages = Pages()

    # --- asking

    def ask(self, question: str) -> None:
        """Send it; the answer streams in."""
        self._said.append(user_message(question))
        self._answer, self._failure, self._since = "", "", time.monotonic()
        self._asking = self._desk.spawn(self._work())
        self._pages.top = 1 << 30

    async def _work(self) -> None:
        try:
            await self._listen()
        except ZotError as error:
            self._failure = str(error)
        finally:
            self._asking = None
            if self._answer:
                self._said.append(Message("assistant", (TextBlock(self._answer),)))
            else:
                self._said.pop()
            self._answer = ""
            self._desk.redraw()

    async def _listen(self) -> None:
        request = msgspec.structs.replace(
            self._agent.request(), messages=(*self._frozen, *self._said), tools=(), session_id=""
        )
        async with aclosing(self._agent.client.stream(request)) as events:
            async for event in events:
                match event:
                    case stream.TextDelta(text):
                        self._answer += text
                        self._desk.redraw()
                    case stream.UsageReported(usage):
                        self._agent.spend(usage)
                    case stream.Finished(error=error) if error is not None:
                        raise error
                    case _:
                        pass

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        elapsed = int(time.monotonic() - self._since)
        doing = "enter asks · esc closes" if self._asking is None else f"answering - {elapsed}s · esc stops"
        self.hint = f"{doing} · nothing here is kept or told to the agent"
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        line, column = self._field.line(theme, max(width - 4, 1))
        room = max(height - 2, 1)
        body = self._pages.show(self._conversation(theme, width), room)
        self.cursor = (len(body) + 1, column + 4)
        return [*body, "", f"  {theme.paint('prompt', '›')} {line}"]

    def _conversation(self, theme: Theme, width: int) -> list[str]:
        rows: list[str] = []
        answer = [Message("assistant", (TextBlock(self._answer),))] if self._answer else []
        for message in [*self._said, *answer]:
            if message.role == "user":
                rows += blocks.user_panel(message.text(), (), theme, width)
            else:
                rows += ["", *blocks.assistant(message.text(), self._desk.painter, width), ""]
        if self._failure:
            rows += blocks.note(self._failure, "error", "✖", theme, width)
        return [cut(row, width) for row in rows]

    # --- keys

    def key(self, key: Key) -> bool:
        if key.name == "esc" and self._asking is not None:
            self._asking.cancel()
        elif key.name in ("esc", "ctrl+c"):
            self._close()
        elif key.name == "enter":
            if self._asking is None and (text := self._field.text.strip()):
                self._field = TextField()
                self.ask(text)
        elif key.name in ("up", "down", "pageup", "pagedown"):
            self._pages.key(key)
        else:
            self._field.key(key)
        return True

    def _close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self.finish(True)


def plain_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation as text: a model without tools must not be shown calls it could be asked to answer."""
    told = [Message(_role(message), _texts(message), message.time) for message in messages]
    return tuple(message for message in told if message.content)


def _role(message: Message) -> Role:
    return "user" if message.role == "tool" else message.role


def _texts(message: Message) -> tuple[Block, ...]:
    return tuple(told for block in message.content if (told := _told(block)) is not None)


def _told(block: Block) -> Block | None:
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
