"""``zot --stream``: assistant text on stdout as it arrives, thoughts and tool activity on stderr, no JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.core.events import (
    AgentEvent,
    AssistantMessage,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    ToolCall,
    ToolResultEvent,
)
from zot.core.permission_gate import preview
from zot.frontends.console import Stdout, TextOutput, say

if TYPE_CHECKING:
    from zot.frontends.headless.thoughts import Thoughts


class StreamMode:
    """Ends every message with a newline, so that the next one begins on a line of its own. ``shows_thinking`` follows
    the settings, which are read after this is made."""

    def __init__(self, stdout: Stdout) -> None:
        self._output = TextOutput(stdout)
        self._open_line = False
        self._names: dict[str, str] = {}
        self._thoughts: Thoughts | None = None
        self.shows_thinking = True

    def emit(self, event: AgentEvent) -> None:
        match event:
            case TextDelta(delta):
                self._output.write(delta)
                self._open_line = not delta.endswith("\n") if delta else self._open_line
            case ThinkingDelta(delta) if self.shows_thinking and delta:
                self._think(delta)
            case ThinkingEnd():
                self._end_thought()
            case AssistantMessage():
                self._output.close()
                self._end_line()
            case ToolCall(call):
                self._names[call.id] = call.name
                say(f"[{call.name}] {preview(call.value, 120)}")
            case ToolResultEvent(id, is_error) if is_error:
                say(f"[{self._names.get(id, id)}] failed")
            case _:
                pass

    def _think(self, delta: str) -> None:
        if self._thoughts is None:
            from zot.frontends.headless.thoughts import Thoughts  # most runs have none to show

            self._thoughts = Thoughts()
        self._end_line()
        self._thoughts.add(delta)

    def _end_thought(self) -> None:
        if self._thoughts is not None:
            self._thoughts.end()

    def finish(self, reason: str, exit_code: int) -> None:
        self._end_thought()
        self._output.close()
        self._end_line()

    def _end_line(self) -> None:
        if self._open_line:
            self._output.write("\n")
            self._open_line = False
