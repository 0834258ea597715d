"""What a worker says becomes events of the transcript, so that it reads like the conversation beside it.

Its log has whole answers where the stream had their pieces; both end in the same rows. What makes no sense leaves no
trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core import events
from zot.provider.messages import Block, Message, ResultBlock, TextBlock, ToolCallBlock

if TYPE_CHECKING:
    from zot.frontends.terminal.screen.transcript import Transcript

PIECES = frozenset({"text_delta", "thinking_delta", "tool_use_args", "tool_progress"})
_STRANGE = (msgspec.ValidationError, TypeError, ValueError, KeyError, AttributeError)
_Same = (
    events.TextDelta
    | events.ThinkingDelta
    | events.ThinkingEnd
    | events.RetryWait
    | events.ToolUseArgs
    | events.ToolProgress
    | events.TurnStart
    | events.AssistantStart
    | events.ToolUseStart
    | events.ToolUseEnd
    | events.SessionFault
    | events.Error
    | events.Done
)
_SAME = frozenset(str(kind.__struct_config__.tag) for kind in _Same.__args__)


class Hearing:
    """Gives a transcript what a worker said, in its order."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._streamed = False  # pieces of the answer were heard

    def hear(self, raw: dict[str, Any]) -> None:
        try:
            for event in self._events(str(raw.get("type")), raw):
                self._transcript.hear(event)
            self._mark(raw)
        except _STRANGE:
            return

    def _events(self, kind: str, raw: dict[str, Any]) -> Iterator[events.AgentEvent]:
        if kind in ("text_delta", "assistant_start"):
            self._streamed = kind == "text_delta"
        if kind in _SAME:
            yield msgspec.convert(raw, _Same)
        match kind:
            case "user_message":
                yield events.UserMessage(Message("user", _blocks(raw), str(raw.get("time", ""))))
            case "assistant_message":
                message = Message("assistant", _blocks(raw), str(raw.get("time", "")))
                if not self._streamed and message.text():
                    yield events.TextDelta(message.text())
                self._streamed = False
                yield events.AssistantMessage(message)
            case "tool_call":
                arguments = json.dumps(raw["args"]) if raw.get("args") is not None else ""
                yield events.ToolCall(ToolCallBlock(str(raw["id"]), str(raw["name"]), arguments))
            case "tool_result":
                yield events.ToolResultEvent(str(raw["id"]), bool(raw["is_error"]), _results(raw))
            case "turn_end":
                stop = "end" if raw["stop"] == "end_turn" else raw["stop"]
                yield events.TurnEnd(stop, str(raw.get("error", "")))
            case "compact_done":
                yield events.CompactDone(str(raw["summary"]))
            case _:
                pass

    def _mark(self, raw: dict[str, Any]) -> None:
        """What happened to it and nobody said."""
        match raw.get("type"):
            case "agent_ready" if int(raw.get("attempt") or 1) > 1:
                self._transcript.mark("◇", "begins again")
            case "agent_note":
                self._transcript.mark("◇", str(raw.get("text", "")))
            case "agent_stopped":
                reason = f": {raw['reason']}" if raw.get("reason") else ""
                self._transcript.hear(events.Done())
                self._transcript.mark("◇", f"{raw.get('status')}{reason}")
            case "approval_request":
                self._transcript.mark("?", f"asks: {raw.get('preview')}")
            case "elicitation_request":
                self._transcript.mark("?", f"asks: {raw.get('message')}")
            case _:
                pass


def _blocks(raw: dict[str, Any]) -> tuple[Block, ...]:
    return _results(raw)


def _results(raw: dict[str, Any]) -> tuple[ResultBlock, ...]:
    """The words; of an image that there is one."""
    blocks: list[ResultBlock] = []
    for block in raw.get("content", ()):
        if block.get("type") == "text":
            blocks.append(TextBlock(str(block["text"])))
        elif block.get("type") == "image":
            blocks.append(TextBlock(f"[image: {block.get('mime_type')}, {block.get('bytes')} bytes]"))
    return tuple(blocks)
