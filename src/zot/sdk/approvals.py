"""Asking before each tool call, and about what is outside a jail: a callable, and one that fails has said no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import deepcopy
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.permission_gate import Answer, ApprovalQuestion, Confirmer
from zot.system.jail.policy import Wish
from zot.wire.python_values import Decision, OutsideDecision, OutsideWord, answer_of, outside_word

if TYPE_CHECKING:
    from zot.features.jail.outside_access import Asker, OutsideRequest
    from zot.features.mcp.elicitation import Elicitation
    from zot.features.mcp.session import Ask


class Approval(msgspec.Struct, frozen=True):
    """May this call run? ``args`` are those that will run; ``preview`` is one line about them; ``prefix``, where there
    is one, is the beginning of commands that the answer ``prefix`` allows from now on."""

    name: str
    args: Any
    preview: str
    prefix: str = ""


class Outside(msgspec.Struct, frozen=True):
    """May this jailed call have what is outside? It failed without it, and a yes runs it again from its beginning.
    ``access`` of what is wanted is ``read`` or ``write`` for a ``path``, and exactly that is allowed; or ``network``:
    all of it, whatever ``host`` was named. ``missing`` is to be made there."""

    name: str
    args: Any
    wanted: tuple[Wish, ...]
    preview: str


def asker(approve: Callable[[Outside], Awaitable[OutsideDecision] | OutsideDecision]) -> Asker:
    """What is asked about what is outside the jail."""

    async def ask(offer: OutsideRequest) -> OutsideWord:
        call = offer.call
        decision = approve(Outside(call.name, deepcopy(call.args), offer.wishes, " and ".join(map(str, offer.wishes))))
        return outside_word(await decision if isinstance(decision, Awaitable) else decision)

    return ask


def confirmer(approve: Callable[[Approval], Awaitable[Decision] | Decision]) -> Confirmer:
    """What the gate asks."""

    async def confirm(question: ApprovalQuestion) -> Answer:
        asked = Approval(question.call.name, deepcopy(question.call.args), question.preview, " ".join(question.prefix))
        decision = approve(asked)
        return answer_of(await decision if isinstance(decision, Awaitable) else decision)

    return confirm


# Questions of MCP servers, answered by a function of the program; None declines.

ElicitationAnswer = dict[str, Any] | None


def answering(given: Callable[[Elicitation], Awaitable[ElicitationAnswer] | ElicitationAnswer]) -> Ask:
    async def ask(question: Elicitation) -> dict[str, Any]:
        from zot.features.mcp.elicitation import checked
        from zot.features.mcp.protocol import McpError

        answer = given(question)
        content = await answer if isawaitable(answer) else answer
        if content is None:
            return {"action": "decline"}
        try:
            return {"action": "accept", **({} if question.url else {"content": checked(question, content)})}
        except ValueError as error:
            raise McpError(f"{question.server}: {error}") from error

    return ask
