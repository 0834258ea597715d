"""``/clear``: forget the conversation and begin a new session; what was said stays in the terminal and on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    agent_of(app).start_over()
    begin(app, "cleared: a new conversation begins")


def begin(app: App, text: str) -> None:
    """The screen of a conversation in which nothing was said yet."""
    app.notes.clear()
    app.help_shown = False
    app.transcript.clear()
    app.status.ok(text)
