"""Asking before each tool call: ``approve=`` is a callable, and one that fails has said no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, get_args

import msgspec

from zot.core.confirm import Answer, Confirmer
from zot.errors import UsageError

# ``tool`` allows this tool from now on, ``all`` every tool; True means ``once``, False ``deny``.
Word = Literal["once", "tool", "all", "deny"]
Decision = bool | Word | Answer


class Approval(msgspec.Struct, frozen=True):
    """May this call run? ``args`` are those that will run; ``preview`` is one line about them."""

    name: str
    args: Any
    preview: str


def confirmer(approve: Callable[[Approval], Awaitable[Decision] | Decision]) -> Confirmer:
    """What the gate asks."""

    async def confirm(tool: str, preview: str, args: Any) -> Answer:
        decision = approve(Approval(tool, args, preview))
        return answer_of(await decision if isinstance(decision, Awaitable) else decision)

    return confirm


def answer_of(decision: Decision) -> Answer:
    if isinstance(decision, Answer):
        return decision
    if isinstance(decision, bool):
        return Answer("once" if decision else "deny")
    if decision not in get_args(Word):
        raise UsageError(f"approve answered {decision!r}: expected a bool or one of {', '.join(get_args(Word))}")
    return Answer(decision)
