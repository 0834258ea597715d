"""Calls that an extension does not let run without the user's approval, whatever the permission mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.features.questions import question_queue
from zot.features.required_approval import require_approval

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.provider.messages import ToolCallBlock

_MOST_KNOWN = 256


class RequiredApprovals:
    """``answer`` tells the permission gate about calls that the user has approved here."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._approved: dict[str, str] = {}  # arguments by call id

    async def require(self, call: ToolCallBlock, origin: str, wanted: Sequence[tuple[str, str]]) -> str:
        """Why the call is denied; empty if the user approved it. ``wanted``: extensions and their reasons."""
        who = ", ".join(dict.fromkeys(name for name, _ in wanted))
        why = "; ".join(filter(None, (reason for _, reason in wanted)))
        conversation = self._conversation
        if not question_queue(conversation.services).can_ask("approval"):
            refusal = f"denied: extension {who} requires approval, and no user is present"
            return f"{refusal}: {why}" if why else refusal
        asked = f"extension {who} requires approval"
        refusal = await require_approval(conversation, call, origin, f"{asked}: {why}" if why else asked)
        if refusal is not None:
            return refusal
        self._approved[call.id] = call.arguments
        while len(self._approved) > _MOST_KNOWN:
            del self._approved[next(iter(self._approved))]
        return ""

    def answer(self, question: ApprovalQuestion) -> Answer | None:
        approved = self._approved.get(question.call.id)
        return Answer("once") if approved is not None and approved == question.call.arguments else None
