"""The contract of a slash command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App

WhenBusy = Literal["run", "cancel", "refuse", "queue"]


class Command(msgspec.Struct, frozen=True):
    """``run`` gets what stood after the name, stripped; it may be plain or a coroutine and may raise ZotError.

    ``when_busy``: ``run`` beside the turn, ``cancel`` it first, ``refuse``, or ``queue`` (the command decides itself by
    submitting). A ``hidden`` command works but is not listed; ``arguments`` is how help shows them."""

    name: str
    summary: str
    run: Callable[[App, str], Awaitable[None] | None]
    when_busy: WhenBusy = "run"
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    hidden: bool = False
