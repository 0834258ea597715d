"""The contract of a slash command, and what most of them need: the agent there, the turn over."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.runtime import Runtime

WhenBusy = Literal["run", "apply", "cancel", "refuse", "queue"]


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the registry; ``run(app, arguments)`` is in the module of its name beside this one, loaded when used.

    It may be plain or a coroutine and may raise ZotError; ``arguments`` is what stood after the name, stripped.
    ``when_busy``: ``run`` beside the turn, ``cancel`` it first, ``refuse``, ``apply`` (the command ends the turn itself
    when a choice is applied) or ``queue`` (it submits). A ``hidden`` command works but is not listed; ``arguments`` of
    a row is how help shows them. A command typed before the agent is there waits for it, unless it is ``early``.
    """

    name: str
    summary: str
    when_busy: WhenBusy = "run"
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    hidden: bool = False
    early: bool = False

    @property
    def module(self) -> str:
        return f"{__package__}.{self.name.replace('-', '_')}"

    async def run(self, app: App, arguments: str) -> None:
        # Loaded here: two dozen modules are not to be read before the first key.
        from importlib import import_module

        if not self.early:
            await app.attendants.arrived.wait()
        work: Any = import_module(self.module)
        waiting: Awaitable[None] | None = work.run(app, arguments)
        if waiting is not None:
            await waiting


def agent_of(app: App) -> Runtime:
    """The running agent; ZotError during the first moments."""
    if app.runtime is None:
        raise ZotError("zot is still starting; try again in a moment")
    return app.runtime


async def end_turn(app: App, doing: str) -> None:
    """Before a choice is applied that a running turn must not see: cancel it and wait."""
    if app.turns.busy and not await app.turns.stop():
        raise ZotError(f"{doing}: the turn could not be cancelled in time; try again")
