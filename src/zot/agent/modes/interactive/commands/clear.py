"""``/clear``: forget the conversation and begin a new session; what was said stays in the terminal and on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import Command

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    runtime = app.runtime
    if runtime is None:
        return
    runtime.start_over()
    app.notes.clear()
    app.help_shown = False
    app.transcript.clear()
    app.status.ok("cleared: a new conversation begins")


CLEAR = Command("clear", "forget the conversation, begin a new one", run, when_busy="cancel")
