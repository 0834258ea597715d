"""A terminal that can only print: a prompt, a line, an answer. Writes no escape sequences."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

from zot import __version__
from zot.agent.slash_commands import submit_typed
from zot.core import events
from zot.frontends.console import Stdout, print_notice, retry_line, run_loop
from zot.system.process_setup import resume_gc
from zot.tui.sanitize import Sanitizer, one_line, sanitize
from zot.tui.width import visible

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.options import TerminalOptions

_GREETING = f"zot {__version__} on a plain terminal: type a prompt, ctrl+c cancels, ctrl+d quits"


def run_plain(options: TerminalOptions) -> int:
    """Returns the exit code."""
    return run_loop(_main(options))


async def _main(options: TerminalOptions) -> int:
    from zot.agent.build import build
    from zot.agent.config import FrontEnd
    from zot.frontends.extension_ui import StderrExtensionUI

    reader = _Reader(Stdout())
    front_end = FrontEnd(reader=reader.hear, surface=StderrExtensionUI(reader.display))
    async with build(options.create_config(), front_end) as conversation:
        resume_gc()
        print(_GREETING, flush=True)
        if options.prompt:
            await _answer(conversation, options.prompt)
        while (line := await asyncio.to_thread(_ask)) is not None:
            if line in ("/exit", "/quit"):
                break
            if line:
                await _answer(conversation, line)
    return 0


def _ask() -> str | None:
    """One line; None at the end of input."""
    sys.stdout.write("> ")
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        sys.stdout.write("\n")  # the shell's prompt starts on its own line
        return None
    return line.strip()


async def _answer(conversation: Conversation, prompt: str) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, conversation.abort)
    try:
        outcome = await submit_typed(conversation, prompt)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
    if outcome.refused:
        print_notice(outcome.refused)


class _Reader:
    """Text as it arrives, tools as one line each."""

    def __init__(self, stdout: Stdout) -> None:
        self._stdout = stdout
        self._sanitizer = Sanitizer()

    def hear(self, event: events.AgentEvent) -> None:
        match event:
            case events.TextDelta(delta):
                self._write(visible(self._sanitizer.feed(delta)))
            case events.ThinkingEnd(seconds) if seconds >= 1:
                self._write(f"(thought for {seconds:.0f} s)\n")
            case events.AssistantMessage():
                self._write("\n")
            case events.ToolCall(call):
                self._write(f"[{call.name}] {one_line(call.arguments)[:200]}\n")
            case events.ToolResultEvent(is_error=True, content=content):
                self._write(f"[error] {one_line(' '.join(getattr(b, 'text', '') for b in content))[:200]}\n")
            case events.Error(message):
                self._write(f"error: {one_line(message)}\n")
            case events.Diagnostic(text) | events.SessionFault(text):
                print_notice(text)
            case events.Notice(text):
                self._write(f"{one_line(text)}\n")
            case events.RetryWait():
                self._write(f"{retry_line(event)}\n")
            case _:
                pass

    def display(self, source: str, text: str) -> None:
        self._write(visible(sanitize(text)).rstrip("\n") + "\n")

    def _write(self, text: str) -> None:
        self._stdout.write(text.encode("utf-8", "replace"))
