"""The agent's events become rows: finished blocks are settled, what still changes is drawn live.

``hear`` is the reader of the event stream and does little; ``advance`` is called once per frame and settles what is
finished. A block keeps its place: text before the tools it called, results in the order of their calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.dialogs.dialog import CONFIRM
from zot.agent.modes.interactive.screen import blocks
from zot.agent.modes.interactive.screen.failure_text import RETRYING, in_words
from zot.agent.modes.interactive.screen.tool_view import ToolView
from zot.core import events
from zot.provider.messages import ImageBlock, Message, TextBlock
from zot.tui.markdown import MarkdownStream
from zot.tui.sanitize import Sanitizer
from zot.tui.width import visible

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


class Transcript:
    """``anything``: whether something was said yet, by anyone."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._stream: MarkdownStream | None = None
        self._sanitizer = Sanitizer()
        self._begun = False  # rows of the streaming text were settled already
        self._tools: dict[str, ToolView] = {}
        self.anything = False

    # --- what the agent says

    def hear(self, event: events.AgentEvent) -> None:
        """Reads the stream; quick, whatever arrives."""
        match event:
            case events.TextDelta(delta):
                self._text(delta)
            case events.ToolProgress(id, text):
                if id in self._tools:
                    self._tools[id].progress(text)
            case events.ToolUseArgs(id, delta):
                if id in self._tools:
                    self._tools[id].more_arguments(delta)
            case events.UserMessage(message):
                self.user(message)
            case events.ToolUseStart(id, name):
                self._tools[id] = ToolView(id, name, extension=self._app.extension_of(name))
            case events.ToolCall(call):
                self._call(call.id, call.name, call.arguments)
            case events.ToolResultEvent():
                self._result(event)
            case _:
                self._milestone(event)
        self._app.redraw()

    def _milestone(self, event: events.AgentEvent) -> None:
        match event:
            case events.AssistantMessage():
                self._end_text()
                self._app.notes.drop("zot", RETRYING)  # it has answered
            case events.TurnEnd(stop):
                self._end_text()
                if stop in ("aborted", "error"):
                    self._drop_unfinished()
            case events.CompactStart(automatic):
                self._app.status.compacting = automatic
                self._app.status.spinner.fixed = "making room" if automatic else "compacting"
            case events.CompactDone():
                self._app.status.compacting = False
                self._app.status.spinner.fixed = ""
            case events.Notice(text, level):
                self._app.notes.add("zot", level, in_words(text))
            case events.Error(message):
                self.error(in_words(message))
            case events.Done():
                self._end_text()
                self._drop_unfinished()
                self._app.status.compacting = False
            case _:
                pass

    @property
    def tools_live(self) -> bool:
        """Whether a box is being composed or runs."""
        return bool(self._tools)

    # --- text

    def _text(self, delta: str) -> None:
        if self._stream is None:
            self._stream, self._begun = MarkdownStream(), False
            self._sanitizer = Sanitizer()
        self._stream.feed(visible(self._sanitizer.feed(delta)))

    def _end_text(self) -> None:
        if self._stream is None:
            return
        self._stream.feed(visible(self._sanitizer.close()))
        width = blocks.text_width(self._app.columns)
        rows = self._stream.finish(self._app.painter, width)
        self._settle_text(rows)
        self._stream = None

    def _settle_text(self, rows: list[str]) -> None:
        if not rows:
            return
        settled = self._app.screen.settled
        if self._begun:
            settled.more(blocks.indented(rows))
        else:
            settled.add(blocks.indented(rows))
        self._begun = self.anything = True

    # --- tools

    def _call(self, call_id: str, name: str, arguments: str) -> None:
        view = self._tools.setdefault(call_id, ToolView(call_id, name, extension=self._app.extension_of(name)))
        view.called(arguments)
        self._say_what_runs()

    def _result(self, event: events.ToolResultEvent) -> None:
        view = self._tools.pop(event.id, None) or ToolView(event.id, "tool")
        if owner := (event.details or {}).get("extension"):
            view.extension = str(owner)
        view.ends(event)
        self._app.screen.settled.add(view.lines(self._app.painter, self._app.columns, expanded=self._app.expanded))
        self.anything = True
        self._say_what_runs()

    def _say_what_runs(self) -> None:
        running = next((view for view in self._tools.values() if view.running), None)
        if running is not None:
            running.its_turn()
        self._app.status.doing = f"running {running.name}" if running else ""

    def _drop_unfinished(self) -> None:
        """A call that was cut off has no result and leaves no box."""
        self._tools.clear()
        self._app.status.doing = ""

    # --- said by others

    def user(self, message: Message) -> None:
        images = tuple((b.mime_type, len(b.data)) for b in message.content if isinstance(b, ImageBlock))
        self._app.screen.settled.add(blocks.user_panel(message.text(), images, self._app.theme, self._app.columns))
        self.anything = True

    def error(self, text: str) -> None:
        self._end_text()
        self._note(text, "error", "✖")

    def diagnose(self, text: str) -> None:
        """One visible line about a fault that is no part of the conversation."""
        self._note(text, "warning", "!")

    def remark(self, text: str) -> None:
        self._note(text, "muted", "")

    def _note(self, text: str, role: str, mark: str) -> None:
        self._app.screen.settled.add(blocks.note(text, role, mark, self._app.theme, self._app.columns))
        self._app.redraw()

    def clear(self) -> None:
        """A new conversation: a rule marks where it begins; what was said stays in the terminal."""
        self._stream = None
        self._drop_unfinished()
        self._app.screen.settled.add([self._app.theme.paint("border", "─" * max(self._app.columns - 1, 1))])
        self._app.redraw()

    # --- a conversation from before

    def show(self, messages: Sequence[Message], *, rows: int = 0) -> None:
        """Settle a resumed conversation: its last screens; older messages stay in the session file."""
        from zot.agent.modes.interactive.screen.resumed import resumed_blocks

        for block in resumed_blocks(messages, self._app, rows or 3 * self._app.height):
            self._app.screen.settled.add(block)
        self.anything = self.anything or bool(messages)
        self._app.redraw()

    # --- once per frame

    def advance(self, columns: int) -> None:
        """Settle the blocks of streaming text that can no longer change."""
        if self._stream is not None:
            self._settle_text(self._stream.advance(self._app.painter, blocks.text_width(columns)))

    def live_rows(self, columns: int) -> list[str]:
        """The streaming rest and the boxes of calls; begins with a blank row unless it goes on with settled text."""
        rows: list[str] = []
        asking = bool(self._app.dialogs.waiting(CONFIRM))
        for view in self._tools.values():
            view.asked(asking)
        if self._stream is not None:
            rest = self._stream.live(self._app.painter, blocks.text_width(columns))
            rows = blocks.indented(rest)
            if rows and not self._begun and self._app.screen.settled.begun:
                rows.insert(0, "")
        for view in self._tools.values():
            if rows or self._app.screen.settled.begun:
                rows.append("")
            rows += view.lines(self._app.painter, columns, expanded=self._app.expanded)
        return rows


def text_of(content: Sequence[TextBlock | ImageBlock]) -> str:
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))
