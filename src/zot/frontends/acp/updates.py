"""Events of a conversation as ``session/update`` notifications. Text that cannot be sent now is gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zot.core import events as ev
from zot.frontends.acp.content import Json, text_block, to_blocks
from zot.frontends.acp.tool_calls import finished, planned_diff, started
from zot.provider.messages import Message, TextBlock, ToolCallBlock

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

_PROGRESS = 64 * 1024  # characters of a running tool's output
_MOST_READ = 1 << 20
_TODO = {"pending": "pending", "in_progress": "in_progress", "done": "completed"}


class Updates:
    """``send`` gets an update; ``is_backlogged`` tells whether text must wait. ``wants`` are the kinds of updates
    that the client announced."""

    def __init__(
        self, send: Callable[[Json], None], is_backlogged: Callable[[], bool], wants: frozenset[str] = frozenset()
    ) -> None:
        self._send = send
        self._is_backlogged = is_backlogged
        self._wants = wants
        self.conversation: Conversation | None = None
        self._gathered: tuple[str, list[str]] | None = None
        self._output: dict[str, str] = {}  # live output by call
        self._diffs: dict[str, list[Json]] = {}
        self._titles: dict[str, ToolCallBlock] = {}
        self._uses: dict[str, int] = {}  # how often a model used the id of a call

    # --- sending

    def send(self, update: Json) -> None:
        self.flush()
        if (id := update.get("toolCallId")) is not None:
            update = {**update, "toolCallId": self.shown_id(id)}
        self._send(update)

    def shown_id(self, id: str) -> str:
        """The id of a call for the client: unlike those of some models never used twice in a session."""
        uses = self._uses.get(id, 1)
        return id if uses == 1 else f"{id}-{uses}"

    def text(self, kind: str, text: str) -> None:
        """A piece of text of the model."""
        if self._gathered is not None and self._gathered[0] == kind:
            self._gathered[1].append(text)
        else:
            self.flush()
            self._gathered = kind, [text]
        if not self._is_backlogged():
            self.flush()

    def flush(self) -> None:
        if self._gathered is not None:
            (kind, pieces), self._gathered = self._gathered, None
            self._send({"sessionUpdate": kind, "content": text_block("".join(pieces))})

    def note(self, text: str, severity: str = "info") -> None:
        """A line for the user: a notice if the client shows them, else a line of the answer."""
        if "notices" in self._wants:
            self.send({"sessionUpdate": "notice", "severity": severity, "title": text[:400]})
        else:
            self.send({"sessionUpdate": "agent_message_chunk", "content": text_block(f"\n\n_{text}_\n\n")})

    # --- events

    def observe(self, event: ev.AgentEvent) -> None:
        match event:
            case ev.TextDelta(text):
                self.text("agent_message_chunk", text)
            case ev.ThinkingDelta(text):
                self.text("agent_thought_chunk", text)
            case ev.ToolCall() | ev.ToolProgress() | ev.ToolResultEvent():
                self._of_tool(event)
            case ev.Todos(items):
                entries = [{"content": item.text, "priority": "medium", "status": _TODO[item.status]} for item in items]
                self.send({"sessionUpdate": "plan", "entries": entries})
            case ev.UsageEvent():
                self._usage()
            case ev.RetryWait(attempt, attempts, _, reason):
                self.note(f"{reason}; try {attempt} of {attempts}", "warning")
            case ev.Diagnostic(text, _, _, level):
                self.note(text, level)
            case ev.Notice(text, level):
                self.note(text, "warning" if level == "warn" else level)
            case ev.SessionFault(text):
                self.note(text, "error")
            case ev.CompactDone():
                self.note("the conversation was summarized to make room")
            case ev.Error(message):
                self.note(message, "error")
            case _:
                pass

    def _of_tool(self, event: ev.ToolCall | ev.ToolProgress | ev.ToolResultEvent) -> None:
        match event:
            case ev.ToolCall(call):
                self.announce(call)
            case ev.ToolProgress():
                self._progress(event)
            case ev.ToolResultEvent(id):
                self._output.pop(id, None)
                self._titles.pop(id, None)
                self.send(finished(event, self._diffs.pop(id, [])))

    def announce(self, call: ToolCallBlock) -> Json:
        """The call as the client knows it; sent once."""
        assert self.conversation is not None
        resolve = self.conversation.workspace.resolve
        update = started(call, resolve)
        if call.id not in self._titles:
            self._titles[call.id] = call
            self._uses[call.id] = self._uses.get(call.id, 0) + 1
            self._diffs[call.id] = planned_diff(call, self._before(call), resolve)
            self.send(update)
        return update

    def diff_of(self, call: ToolCallBlock) -> list[Json]:
        return self._diffs.get(call.id, [])

    def _before(self, call: ToolCallBlock) -> str | None:
        """The file that ``write`` or ``edit`` would change, as it is now."""
        assert self.conversation is not None
        path = (call.args or {}).get("path")
        if call.name not in ("write", "edit") or not isinstance(path, str):
            return None
        try:
            workspace = self.conversation.workspace
            return workspace.read_whole(workspace.resolve(path), _MOST_READ).decode()
        except Exception:  # missing, too large or not text
            return None

    def _progress(self, event: ev.ToolProgress) -> None:
        known = "" if event.replace else self._output.get(event.id, "")
        text = self._output[event.id] = (known + event.text)[-_PROGRESS:]
        if self._is_backlogged():
            return  # a later one, or the result, has it
        content = [{"type": "content", "content": text_block(text)}] if text else []
        self.send(
            {"sessionUpdate": "tool_call_update", "toolCallId": event.id, "status": "in_progress", "content": content}
        )

    def _usage(self) -> None:
        assert self.conversation is not None
        conversation = self.conversation
        self.send(
            {
                "sessionUpdate": "usage_update",
                "used": conversation.context_tokens,
                "size": conversation.model.context_window,
                "cost": {"amount": conversation.total_usage.cost_usd, "currency": "USD"},
            }
        )

    # --- a stored conversation

    def replay(self, messages: tuple[Message, ...]) -> None:
        """The transcript as the client would have seen it."""
        for message in messages:
            if message.role == "user":
                self._replay_user(message)
            elif message.role == "assistant":
                if text := message.shown_text():
                    self.send({"sessionUpdate": "agent_message_chunk", "content": text_block(text)})
                for call in message.tool_calls():
                    self.announce(call)
            for result in message.tool_results():
                event = ev.ToolResultEvent(result.call_id, result.is_error, result.content)
                self._titles.pop(result.call_id, None)
                self._diffs.pop(result.call_id, None)
                self.send(finished(event, []))

    def _replay_user(self, message: Message) -> None:
        blocks: list[Any] = list(message.content)
        if shown := message.shown_text():
            blocks = [TextBlock(shown), *(block for block in blocks if not isinstance(block, TextBlock))]
        for block in to_blocks(blocks):
            self.send({"sessionUpdate": "user_message_chunk", "content": block})
