"""Asks the user about a call that a hook or a rule does not let run unasked, whatever the permission mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.core.permission_gate import SAID_NO, ApprovalQuestion, preview
from zot.features.lookup import rules
from zot.features.questions import Approval, question_queue

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.provider.messages import ToolCallBlock


async def require_approval(conversation: Conversation, call: ToolCallBlock, origin: str, reason: str) -> str | None:
    """Why the call is denied, or None. Asks nothing if the gate or a rule denies the call in any case.
    After a yes, the caller's ``Feature.approve`` must answer the gate for this call, so that it does not ask again."""
    gate = conversation.gate
    if gate is not None and gate.evaluate(call).step == "refuse":
        return None
    known = rules(conversation)
    if known is not None and known.decision(call).step == "deny":
        return None
    question = ApprovalQuestion(call, preview(call.value), origin, or_all=False, reason=reason)
    answer = await question_queue(conversation.services).ask(Approval(question))
    return (answer.reason.strip() or SAID_NO) if answer.decision == "deny" else None
