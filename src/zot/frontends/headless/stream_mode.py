"""``zot --stream``: assistant text on stdout as it arrives, thoughts and tool activity on stderr, no JSON."""

from __future__ import annotations

import os
import sys

from zot.core.events import (
    AgentEvent,
    AssistantMessage,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
    Todo,
    Todos,
    ToolCall,
    ToolProgress,
    ToolResultEvent,
)
from zot.core.permission_gate import preview
from zot.frontends.console import Stdout, TextOutput, print_notice
from zot.provider.messages import ToolCallBlock

_DIM, _PLAIN = "\x1b[2m", "\x1b[22m"


class StreamMode:
    """Ends every message with a newline. ``shows_thinking`` follows the settings, which are read later."""

    def __init__(self, stdout: Stdout) -> None:
        self._output = TextOutput(stdout)
        self._open_line = False
        self._names: dict[str, str] = {}
        self._thoughts: ThinkingOutput | None = None
        self.shows_thinking = True

    def emit(self, event: AgentEvent) -> None:
        match event:
            case TextDelta(delta):
                self._output.write(delta)
                self._open_line = not delta.endswith("\n") if delta else self._open_line
            case ThinkingDelta(delta) if self.shows_thinking and delta:
                if self._thoughts is None:
                    self._thoughts = ThinkingOutput()
                self._end_line()
                self._thoughts.add(delta)
            case ThinkingEnd():
                self._end_thought()
            case AssistantMessage():
                self._output.close()
                self._end_line()
            case Todos(items):
                print_notice(f"[todos] {_todo_line(items)}")
            case ToolCall(ToolCallBlock(id, "todo")):
                self._names[id] = "todo"  # the list follows
            case ToolCall(call):
                self._names[call.id] = call.name
                print_notice(f"[{call.name}] {preview(call.value, 120)}")
            case ToolProgress(id, text, True) if text and sys.stderr.isatty():
                print_notice(f"[{self._names.get(id, id)}] {text}")
            case ToolResultEvent(id, is_error) if is_error:
                print_notice(f"[{self._names.get(id, id)}] failed")
            case _:
                pass

    def display(self, source: str, text: str) -> None:
        self._output.write(text.rstrip("\n") + "\n")

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


def _todo_line(items: tuple[Todo, ...]) -> str:
    from zot.features.todo.todo_list import current, progress  # few runs have a list

    now = current(items)
    return progress(items) + (f"; now: {now.text}" if now is not None else "") if items else "cleared"


class ThinkingOutput:
    """Thinking on stderr as it arrives: dim on a terminal, plain in a file, one line each."""

    def __init__(self) -> None:
        from zot.tui.sanitize import Sanitizer  # most runs have no thinking

        dim = sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._marks = (_DIM, _PLAIN) if dim else ("", "")
        self._sanitizer = Sanitizer()
        self._open = False

    def add(self, text: str) -> None:
        from zot.tui.width import visible

        shown = visible(self._sanitizer.feed(text))
        if not self._open:
            shown = shown.lstrip("\n")
        if shown:
            self._open = True
            self._write(shown)

    def end(self) -> None:
        if self._open:
            from zot.tui.width import visible

            self._write(visible(self._sanitizer.close()) + "\n")
            self._open = False

    def _write(self, text: str) -> None:
        before, after = self._marks
        try:
            sys.stderr.write(f"{before}{text}{after}" if text.strip() else text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # stderr is closed
