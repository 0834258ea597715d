"""Turns the agent's events into rows: finished blocks are settled, the others drawn live.
``hear`` reads events; ``advance`` settles finished blocks once per frame, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zot.core import events
from zot.frontends.terminal.screen import message_blocks
from zot.frontends.terminal.screen.activity import Activity
from zot.frontends.terminal.screen.message_blocks import LIVE_ROWS, LiveThinking, Shown, settled
from zot.frontends.terminal.screen.notice_area import Notes
from zot.frontends.terminal.screen.tool_view import BY_HAND, LIVE_OUTPUT_ROWS, CallGroup, ToolView, joins_group
from zot.frontends.terminal.screen.ui_services import ScreenServices
from zot.provider.messages import ImageBlock, Message
from zot.tui.markdown import MarkdownStream
from zot.tui.sanitize import Sanitizer, one_line
from zot.tui.widgets import tokens
from zot.tui.width import visible

if TYPE_CHECKING:
    from zot.frontends.terminal.screen.resumed_transcript import RenderSettings


class Transcript:
    """``anything``: the conversation has messages. ``expanded``: live calls are shown in full.
    ``asking``: the user is asked about a call; ``owner_of`` names a tool's extension; ``thinking`` is how thinking is
    shown."""

    def __init__(self, ui: ScreenServices, notes: Notes, activity: Activity, asking: Callable[[], bool]) -> None:
        self._ui = ui
        self._settled = ui.settled
        self._notes = notes
        self._activity = activity
        self._asking = asking
        self.owner_of: Callable[[str], str] = lambda tool: ""  # set with the agent
        self.thinking: Callable[[], Shown] = lambda: "folded"  # set with the agent
        self._thought: LiveThinking | None = None
        self._thoughts = 0
        self._stream: MarkdownStream | None = None
        self._sanitizer = Sanitizer()
        self._begun = False  # rows of the streaming text are already settled
        self._tools: dict[str, ToolView] = {}
        self._group = CallGroup()  # finished reads and searches that others may join
        self.folded: Callable[[str], str] = str  # the displayed prompt
        self.context_tokens: Callable[[], int] = int
        self._tokens_before = 0
        self._empty = False  # the answer has no text and no call yet
        self.anything = False
        self.conversations = 0  # cleared so often
        self.expanded = False

    # --- agent events

    def on_event(self, event: events.AgentEvent) -> None:
        """Handles each event quickly."""
        self._activity.on_event(event)
        match event:
            case events.TextDelta(delta):
                self._empty = self._empty and not delta.strip()
                self._text(delta)
            case events.ToolProgress(id):
                if id in self._tools:
                    self._tools[id].reports(event)
            case events.ToolUseArgs(id, delta):
                if id in self._tools:
                    self._tools[id].more_arguments(delta)
            case events.ThinkingDelta(delta):
                if self._thought is None:
                    self._end_text()
                    self._thought = LiveThinking()
                self._thought.add(delta)
            case events.UserMessage(message):
                self.user(message)
            case events.ToolUseStart(id, name):
                self._empty = False
                self._tools[id] = ToolView(id, name, extension=self.owner_of(name))
            case events.ToolCall(call):
                self._call(call.id, call.name, call.arguments)
            case events.ToolResultEvent():
                self._result(event)
            case _:
                self._milestone(event)
        self._ui.redraw()

    def _milestone(self, event: events.AgentEvent) -> None:
        match event:
            case events.TurnStart():
                self._empty = True
            case events.AssistantMessage():
                self._end_text()
            case events.CompactStart():
                self._tokens_before = self.context_tokens()
            case events.CompactDone(summary):
                before, self._tokens_before = self._tokens_before, 0
                size = f" {tokens(before)} → {tokens(max(len(summary) // 4, 1))} tokens" if before else ""
                self.add_marker("◇", f"compacted{size}")
            case events.ThinkingEnd(seconds):
                self._end_thought(seconds)
            case events.TurnEnd(stop):
                self._turn_ends(stop)
            case events.Done():
                self._end_text()
                self._drop_unfinished()
                self._settle_group()
            case _:
                self._report(event)

    def _report(self, event: events.AgentEvent) -> None:
        match event:
            case events.Notice(text, level):
                self._notes.add("zot", level, text)
            case events.JobUpdate(number, command, _, _, text):
                self._notes.add("zot", "info", f"job {number}: {one_line(text)}: {one_line(command)}")
            case events.Error(message=text) | events.SessionFault(message=text):
                self.error(text)
            case events.Diagnostic(text, level=level):
                self.add_diagnostic(text, level)
            case events.EntryAdded():
                self._entry(event)
            case _:
                pass

    def _turn_ends(self, stop: str) -> None:
        self._end_text()
        if stop in ("aborted", "error"):
            self._drop_unfinished()
        elif self._empty:
            self.add_marker("◌", "the answer is empty")

    @property
    def tools_live(self) -> bool:
        """True while a call is composed or runs, or the model thinks."""
        return bool(self._tools) or self._thought is not None

    def fold(self) -> None:
        """ctrl+o: unfold or fold live calls."""
        self.expanded = not self.expanded
        self._ui.redraw()

    # --- thinking

    def _end_thought(self, seconds: float) -> None:
        thought, self._thought = self._thought, None
        if thought is None:
            return
        shown = self.thinking()
        if shown == "folded" and self.expanded:
            shown = "open"
        hint = "" if self._thoughts else " · ctrl+o shows it"
        text = thought.text
        rows = settled(text, seconds, self._ui.theme, self._ui.columns, shown, hint=hint)
        if self._group and len(rows) == 1:
            self._group.think(rows, seconds)  # more of them may follow
        elif rows:
            self._thoughts += bool(text)
            self._settle_group()
            self._settled.add(rows, joins=len(rows) == 1)
            self.anything = True

    def _live_thought(self, thought: LiveThinking, columns: int) -> list[str]:
        shown = self.thinking()
        most = LIVE_ROWS if shown == "folded" and not self.expanded else self._ui.height
        return thought.rows(self._ui.theme, columns, most) if shown != "off" else []

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
        width = message_blocks.text_width(self._ui.columns)
        rows = self._stream.finish(self._ui.painter, width)
        self._settle_text(rows)
        self._stream = None

    def _settle_text(self, rows: list[str]) -> None:
        if not rows:
            return
        self._settle_group()
        if self._begun:
            self._settled.more(message_blocks.indented(rows))
        else:
            self._settled.add(message_blocks.indented(rows))
        self._begun = self.anything = True

    # --- tools

    def _call(self, call_id: str, name: str, arguments: str) -> None:
        if call_id not in self._tools:
            self._tools[call_id] = ToolView(
                call_id, name, extension=self.owner_of(name), asked=call_id.startswith(BY_HAND)
            )
        self._tools[call_id].called(arguments)
        self._show_running()

    def _result(self, event: events.ToolResultEvent) -> None:
        view = self._tools.pop(event.id, None) or ToolView(event.id, "tool")
        if owner := (event.details or {}).get("extension"):
            view.extension = str(owner)
        view.ends(event)
        if joins_group(view) and not self.expanded:
            self._group.add(view)
        else:
            self._settle_group()
            rows = view.lines(self._ui.painter, self._ui.columns, expanded=self.expanded)
            self._settled.add(rows, joins=True)
        self.anything = True
        self._show_running()

    def _settle_group(self) -> None:
        """Settles the last group of reads and searches."""
        for block in self._group.blocks(self._ui.painter, self._ui.columns) if self._group else ():
            self._settled.add(block, joins=True)
        self._group.clear()

    def _show_running(self) -> None:
        running = next((view for view in self._tools.values() if view.running), None)
        if running is not None:
            running.started()

    def _drop_unfinished(self) -> None:
        """An interrupted call has no result and leaves no trace."""
        self._tools.clear()

    # --- notes

    def user(self, message: Message) -> None:
        self._settle_group()
        if events.OF_EXTENSION in message.meta and events.TYPED not in message.meta:
            from zot.frontends.terminal.screen.entry_rows import message_rows

            self._settled.add(message_rows(message, self._ui.painter, self._ui.columns))
            self.anything = True
            return
        if events.SYNTHETIC in message.meta:
            return self._note("continuing from where the answer was interrupted", "muted", "◇")
        images = tuple((b.mime_type, len(b.data)) for b in message.content if isinstance(b, ImageBlock))
        self._settled.add(
            message_blocks.user_prompt(self.folded(message.text()), images, self._ui.theme, self._ui.columns)
        )
        self.anything = True

    def error(self, text: str) -> None:
        self._end_text()
        self._note(text, "error", "✖")

    def add_diagnostic(self, text: str, level: events.Level = "warning") -> None:
        """One visible line about a fault outside the conversation, or information about it."""
        if level == "info":
            self.add_marker("◇", text)
        else:
            self._note(text, "warning", "!")

    def mode_noted(self, event: events.AgentEvent) -> None:
        """The model is informed about plan mode before the next prompt."""
        if isinstance(event, events.MessageAppended) and (mode := event.message.meta.get(events.PERMISSION_MODE)):
            self.add_marker("◇", message_blocks.mode_text(mode))

    def add_note(self, text: str) -> None:
        self._note(text, "muted", "")

    def add_turn_summary(self, text: str) -> None:
        """The result line of a turn."""
        self._note(text, "muted", " ")

    def add_marker(self, glyph: str, text: str) -> None:
        """One row about the conversation, by zot."""
        self._note(text, "muted", glyph)

    def _note(self, text: str, role: str, mark: str) -> None:
        self._settle_group()
        self._settled.add(message_blocks.note(text, role, mark, self._ui.theme, self._ui.columns))
        self._ui.redraw()

    def _entry(self, event: events.EntryAdded) -> None:
        """An extension wrote into the conversation."""
        from zot.frontends.terminal.screen.entry_rows import entry_rows

        if rows := entry_rows(event, self._ui.painter, self._ui.columns, expanded=self.expanded):
            self._end_text()
            self._settle_group()
            self._settled.add(rows)
            self.anything = True

    def clear(self, heading: str = "a new conversation") -> None:
        """Another conversation begins: one row says which; earlier rows stay in the terminal."""
        self._stream = self._thought = None
        self.conversations += 1
        self._drop_unfinished()
        self.add_marker("◇", heading)

    # --- resumed conversations

    def show(self, messages: Sequence[Message]) -> None:
        """Settle a resumed conversation: its last screens; older messages stay in the session file."""
        from zot.frontends.terminal.screen.resumed_transcript import resumed_blocks

        self._settle_group()
        for block in resumed_blocks(messages, self.page(), 3 * self._ui.height):
            self._settled.add(block.rows, joins=block.joins)
        self.anything = self.anything or bool(messages)
        self._ui.redraw()

    def page(self) -> RenderSettings:
        """How a message is rendered now."""
        from zot.frontends.terminal.screen.resumed_transcript import RenderSettings

        return RenderSettings(self._ui.painter, self._ui.columns, self.owner_of, self.thinking(), self.folded)

    # --- once per frame

    def advance(self, columns: int) -> None:
        """Settle blocks of streaming text that can no longer change."""
        if self._stream is not None:
            self._settle_text(self._stream.advance(self._ui.painter, message_blocks.text_width(columns)))

    @property
    def has_calls(self) -> bool:
        """True if calls are live."""
        return bool(self._tools)

    def live_rows(self, columns: int, output: int = LIVE_OUTPUT_ROWS) -> list[str]:
        """The streaming rest and the calls, with so many rows of output each; begins with a blank row unless it
        continues settled text."""
        rows: list[str] = []
        joinable = self._settled.joinable

        def put(block: list[str], *, joins: bool) -> None:
            nonlocal joinable
            apart = (rows or self._settled.begun) and not (joins and joinable)
            rows.extend(["", *block] if apart else block)
            joinable = joins and len(block) == 1

        for block in self._group.blocks(self._ui.painter, columns) if self._group else ():
            put(block, joins=True)
        if self._stream is not None:
            rest = message_blocks.indented(self._stream.live(self._ui.painter, message_blocks.text_width(columns)))
            if self._begun:
                rows += rest
            elif rest:
                put(rest, joins=False)
        if self._thought is not None and (thought := self._live_thought(self._thought, columns)):
            put(thought, joins=False)
        asking = self._asking()
        for view in self._tools.values():
            view.awaiting_approval(asking)
            put(view.lines(self._ui.painter, columns, expanded=self.expanded, output=output), joins=True)
        return rows
