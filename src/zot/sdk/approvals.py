"""Asking before each tool call: ``approve=`` is a callable, and one that fails has said no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

import msgspec

from zot.core.confirm import Answer, Confirmer, Question
from zot.wire.caller_values import Decision, answer_of


class Approval(msgspec.Struct, frozen=True):
    """May this call run? ``args`` are those that will run; ``preview`` is one line about them; ``prefix``, where there
    is one, is the beginning of commands that the answer ``prefix`` allows from now on."""

    name: str
    args: Any
    preview: str
    prefix: str = ""


def confirmer(approve: Callable[[Approval], Awaitable[Decision] | Decision]) -> Confirmer:
    """What the gate asks."""

    async def confirm(question: Question) -> Answer:
        asked = Approval(question.call.name, deepcopy(question.call.args), question.preview, " ".join(question.prefix))
        decision = approve(asked)
        return answer_of(await decision if isinstance(decision, Awaitable) else decision)

    return confirm
