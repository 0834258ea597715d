"""``zot -p``: run one prompt to its end and write the last assistant text, nothing else, to stdout."""

from __future__ import annotations

from zot.core.events import AgentEvent, AssistantMessage
from zot.frontends.console import Stdout, TextOutput


class PrintMode:
    """Remembers the last message that had text; prints it when the run went well."""

    def __init__(self, stdout: Stdout) -> None:
        self._output = TextOutput(stdout)
        self._text = ""

    def emit(self, event: AgentEvent) -> None:
        if isinstance(event, AssistantMessage) and (text := event.message.text()):
            self._text = text

    def finish(self, reason: str, exit_code: int) -> None:
        # An answer that could not be saved is an answer all the same.
        if (exit_code == 0 or reason == "session_fault") and self._text:
            self._output.write(self._text.rstrip("\n") + "\n")
            self._output.close()
