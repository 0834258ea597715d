"""The row printed by the setting ``status_command``: first line of its output, with colours.
It gets the state as JSON on stdin and has two seconds; it runs on events or every ``status_command_every_s``. Projects
cannot set it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from zot import __version__
from zot.errors import ToolError
from zot.tui.sanitize import RESET, one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.screen.status import Bar, WindowTitle

LIMIT_S = 2.0
_PAUSE_S = 0.3  # seconds between runs
_LONGEST = 2_000  # characters of output that are read


class StatusCommand:
    """``run`` continues until cancelled; ``touch`` reports a change."""

    def __init__(
        self, conversation: Conversation, attention: WindowTitle, busy: Callable[[], bool], redraw: Callable[[], None]
    ) -> None:
        self._conversation = conversation
        self._attention = attention
        self._busy = busy
        self._redraw = redraw
        self._touched = asyncio.Event()
        self._text = ""

    def touch(self, event: object = None) -> None:
        self._touched.set()

    def lines(self, theme: Theme, width: int) -> list[str]:
        if not self._text:
            return []
        plain = theme.depth == "none"
        return [cut(f"  {one_line(self._text) if plain else self._text}", width) + ("" if plain else RESET)]

    async def run(self) -> None:
        from zot.core import events

        kinds = (events.UserMessage, events.AssistantMessage, events.Done, events.ModelChanged, events.CompactDone)
        leave = self._conversation.subscribe(self.touch, *kinds)
        try:
            while True:
                self._touched.clear()
                try:
                    async with asyncio.timeout(LIMIT_S):
                        text = await self._output()
                except TimeoutError:
                    text = f"status_command: no answer within {LIMIT_S:g} s"
                except ToolError as error:
                    text = f"status_command: {error}"
                if text != self._text:
                    self._text = text
                    self._redraw()
                await asyncio.sleep(_PAUSE_S)
                every = self._conversation.settings.values.status_command_every_s
                try:
                    async with asyncio.timeout(every or None):
                        await self._touched.wait()
                except TimeoutError:
                    pass
        finally:
            leave()

    async def _output(self) -> str:
        from zot.agent.tools.bash_output import OutputCapture, OutputPipe

        workspace = self._conversation.workspace
        command = self._conversation.settings.values.status_command
        capture = OutputCapture()
        from zot.system.files import find_program

        tree, output = workspace.ask(
            [find_program("bash") or find_program("sh") or os.path.join(os.sep, "bin", "sh"), "-c", command],
            msgspec.json.encode(self._state()),
            "cannot run",
        )
        pipe = OutputPipe(output, capture, lambda text: None)
        try:
            code = await tree.wait()
            await pipe.wait(LIMIT_S)
            text = capture.text()[:_LONGEST]
            if code:
                raise ToolError(f"exit {code}")
            return next((sanitize(line).strip() for line in text.split("\n") if line.strip()), "")
        finally:
            pipe.close()
            capture.discard_spool()
            if tree.detach():
                await tree.stop(0.2)

    def _state(self) -> dict[str, Any]:
        conversation = self._conversation
        present, cost, window = conversation.snapshot, conversation.total_usage, conversation.model.context_window
        used = conversation.context_tokens
        return {
            "version": __version__,
            "provider": present.provider,
            "model": present.model,
            "reasoning": present.reasoning,
            "cwd": present.directory,
            "branch": self._attention.branch,
            "session_id": present.session_id,
            "session_file": present.session_file,
            "busy": self._busy(),
            "messages": len(conversation.messages),
            "context": {"tokens": used, "window": window, "percent": round(used * 100 / window, 1) if window else None},
            "usage": {
                "input_tokens": cost.input_tokens,
                "output_tokens": cost.output_tokens,
                "cache_read_tokens": cost.cache_read_tokens,
                "cache_write_tokens": cost.cache_write_tokens,
                "cost_usd": round(cost.cost_usd, 6),
            },
        }


class ScriptedBar:
    """The status bar with the user's row below it."""

    def __init__(self, bar: Bar, command: StatusCommand) -> None:
        self._bar = bar
        self._command = command

    def lines(self, theme: Theme, width: int) -> list[str]:
        return [*self._bar.lines(theme, width), *self._command.lines(theme, width)]

    def status(self, theme: Theme, width: int) -> list[str]:
        return self._bar.status(theme, width)

    def essentials(self, theme: Theme) -> str:
        return self._bar.essentials(theme)
