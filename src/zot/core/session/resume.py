"""Rebuilds the transcript from the rows of a session file.
Compactions are applied in order, and every tool call gets a result: the recorded one or an error. Messages store the
offset of their row, for forks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

from zot.core.events import OF_EXTENSION, REPLACES, is_prompt
from zot.core.session.records import (
    AnswerEndRow,
    CompactionRow,
    DiskMessage,
    ExtensionRow,
    LabelRow,
    LimitsRow,
    MessageRow,
    Meta,
    MetaRow,
    RenameRow,
    SessionLimits,
    ToolIntentRow,
    ToolOutcomeRow,
    UnknownRow,
    UsageRow,
    marked,
    message_of,
    result_of,
)
from zot.core.session.session_file import NO_ROW, SessionLine
from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock, Usage

WINDOW = 100
_T = TypeVar("_T")

_ABORTED = "The call was aborted; no result was recorded."
_INTERRUPTED = "Interrupted: zot stopped while this call was running; it may have taken effect in part."


class TranscriptLoader:
    """Feed it the lines of a file in order, then call ``finish``."""

    def __init__(self) -> None:
        self.meta: Meta | None = None
        self.title = ""
        self.cumulative = Usage()
        self.limits = SessionLimits()
        # Deques: each compaction prepends a summary, and there may be as many of them as messages.
        self.messages: deque[Message] = deque()
        self.rows: deque[int] = deque()
        self.bad: list[bytes] = []
        self.stubs = 0
        self.interrupted = False  # zot ended while a prompt ran
        self._ended = False  # nothing runs after the last message
        self._calls: tuple[ToolCallBlock, ...] = ()
        self._intents: set[str] = set()
        self._outcomes: dict[str, ToolResultBlock] = {}

    def feed(self, line: SessionLine) -> None:
        match line.row:
            case MessageRow(message=disk):
                if (message := message_of(disk)) is not None:
                    self._message(message, line.offset)
            case UsageRow(cumulative=cumulative):
                self.cumulative = cumulative
            case ToolIntentRow() | ToolOutcomeRow():
                self._tool(line.row)
            case AnswerEndRow():
                self._answer_end(line.row)
            case MetaRow(meta=meta):
                self.meta = meta
            case RenameRow(title=title):
                self.title = title or self.title
            case LimitsRow(limits=limits):
                self.limits = limits
            case CompactionRow():
                self._compaction(line.row, line.offset)
            case ExtensionRow() | LabelRow() | UnknownRow():
                pass
            case None:
                self.bad.append(line.raw)

    def finish(self) -> int:
        """Complete and mark the last exchange; returns the number of generated results."""
        before = self.stubs
        self._settle()
        if self.messages and not self._ended and _is_unfinished(self.messages[-1]):
            self.interrupted = True
            self.messages[-1] = self.messages[-1].ended("interrupted")
        return self.stubs - before

    def _tool(self, row: ToolIntentRow | ToolOutcomeRow) -> None:
        if isinstance(row, ToolIntentRow):
            self._intents.add(row.call_id)
        else:
            self._outcomes[row.call_id] = result_of(row.result, row.call_id)

    def _answer_end(self, row: AnswerEndRow) -> None:
        self._settle()
        self._ended = True
        if self.messages:
            self.messages[-1] = marked(self.messages[-1], row)

    def _message(self, message: Message, row: int) -> None:
        if message.role != "tool":
            self._settle()
        if REPLACES in message.meta and self.messages and self.messages[-1].role == "user":
            del self.messages[-1], self.rows[-1]
        self._add(message, row)
        if message.role == "assistant" and (calls := message.tool_calls()):
            self._expect(tuple(calls))

    def _add(self, message: Message, row: int) -> None:
        self.messages.append(message)
        self.rows.append(row)
        self._ended = False

    def _expect(self, calls: tuple[ToolCallBlock, ...]) -> None:
        """Call ids may recur in a later turn: recorded results belong to one exchange only."""
        self._calls = calls
        self._intents.clear()
        self._outcomes.clear()

    def _compaction(self, found: CompactionRow, row: int) -> None:
        if isinstance(found.message, DiskMessage):
            if (summary := message_of(found.message)) is not None:
                self._settle()
                removed = len(self.messages) - max(found.keep_tail, 0)
                for _ in range(removed):
                    self._drop_first()
                while removed >= 0 and self.messages and self.messages[0].role == "tool":
                    self._drop_first()
                self.messages.appendleft(summary)
                self.rows.appendleft(row)
        elif isinstance(found.messages, tuple):
            transcript = [message for disk in found.messages if (message := message_of(disk)) is not None]
            if transcript:
                self._settle()
                tail = transcript[1:]
                kept = tail == _last(self.messages, len(tail))
                rows = [row, *_last(self.rows, len(tail))] if kept else [row] * len(transcript)
                self.messages, self.rows = deque(), deque()
                for message, origin in zip(transcript, rows, strict=True):
                    self._message(message, origin)

    def _drop_first(self) -> None:
        self.messages.popleft()
        self.rows.popleft()

    def _settle(self) -> None:
        """Generate missing results of the open exchange."""
        if not self._calls:
            return
        # calls answered since the assistant's message
        answered: set[str] = set()
        for message in reversed(self.messages):
            if message.role != "tool":
                break
            answered.update(result.call_id for result in message.tool_results())
        missing = [call for call in self._calls if call.id not in answered]
        if missing:
            results = tuple(self._made_up(call) for call in missing)
            last = self.messages[-1]
            if last.role == "tool":
                self.messages[-1] = msgspec.structs.replace(last, content=last.content + results)
            else:
                self._add(Message("tool", results, last.time), NO_ROW)
        self._expect(())

    def _made_up(self, call: ToolCallBlock) -> ToolResultBlock:
        if (outcome := self._outcomes.get(call.id)) is not None:
            return outcome
        self.stubs += 1
        text = _INTERRUPTED if call.id in self._intents else _ABORTED
        return ToolResultBlock(call.id, (TextBlock(text),), is_error=True)


def _is_unfinished(message: Message) -> bool:
    """True if a model must answer it; an extension may add a message and not ask for an answer."""
    return message.role == "tool" or (is_prompt(message) and OF_EXTENSION not in message.meta)


def _last(items: deque[_T], count: int) -> list[_T]:
    return list(islice(reversed(items), count))[::-1]


def replay(lines: Iterable[SessionLine]) -> TranscriptLoader:
    state = TranscriptLoader()
    for line in lines:
        state.feed(line)
    return state


def recent_messages(messages: Sequence[Message], limit: int = WINDOW) -> tuple[Message, ...]:
    """The last ``limit`` messages, not starting inside a tool exchange; the objects stay the same."""
    tail = list(messages[-limit:])
    while tail and tail[0].role == "tool":
        tail.pop(0)
    return tuple(tail)
