"""``zot --stream``: assistant text on stdout as it arrives, tool activity on stderr, no JSON."""

from __future__ import annotations

from zot.agent.console import Stdout, TextOutput, say
from zot.core.confirm import preview
from zot.core.events import AgentEvent, AssistantMessage, TextDelta, ToolCall, ToolResultEvent


class StreamMode:
    """Ends every message with a newline, so that the next one begins on a line of its own."""

    def __init__(self, stdout: Stdout) -> None:
        self._output = TextOutput(stdout)
        self._open_line = False
        self._names: dict[str, str] = {}

    def emit(self, event: AgentEvent) -> None:
        match event:
            case TextDelta(delta):
                self._output.write(delta)
                self._open_line = not delta.endswith("\n") if delta else self._open_line
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

    def finish(self, reason: str, exit_code: int) -> None:
        self._output.close()
        self._end_line()

    def _end_line(self) -> None:
        if self._open_line:
            self._output.write("\n")
            self._open_line = False
