"""``/new``: keep the conversation in its session and begin an empty one with the same model, tools and extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.clear import begin
from zot.agent.modes.interactive.commands.command import agent_of
from zot.agent.session_switch import new_session
from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    runtime = agent_of(app)
    if runtime.session is None:
        raise ZotError("/new needs sessions, and zot was started with --no-session; /clear begins anew without one")
    new_session(runtime)
    begin(app, "a new session begins; the one before is in /sessions")
