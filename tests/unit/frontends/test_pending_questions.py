"""Questions sent to a client: one table for all kinds, answered in any order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.errors import UsageError
from zot.features.jail.outside_access import OutsideRequest
from zot.features.mcp.elicitation import Elicitation, QuestionField
from zot.features.questions import Approval, QuestionQueue
from zot.frontends.pending_questions import GONE, PendingQuestions
from zot.provider.messages import ToolCallBlock
from zot.system.jail.policy import Wish
from zot.wire.rpc_frames import AnswerElicitation, Approve

CALL = ToolCallBlock("t1", "bash", '{"command":"ls"}')
APPROVAL = Approval(ApprovalQuestion(CALL, "ls"))
OUTSIDE = OutsideRequest(CALL, (Wish("read", "/etc/x"),))
FORM = Elicitation(server="s", message="who?", fields=(QuestionField(name="name", required=True),))


def connected(*capabilities: str, outside: bool = True) -> tuple[QuestionQueue, PendingQuestions, list[Any]]:
    queue, sent = QuestionQueue(), list[Any]()
    pending = PendingQuestions(queue, sent.append, outside=outside)
    pending.announce(capabilities)
    return queue, pending, sent


async def ask_all(queue: QuestionQueue) -> list[asyncio.Future[Any]]:
    asked = [asyncio.ensure_future(queue.ask(question)) for question in (APPROVAL, FORM, OUTSIDE)]
    for _ in range(5):
        await asyncio.sleep(0)
    return asked


async def test_all_kinds_are_sent_at_once_and_answered_in_any_order() -> None:
    queue, pending, sent = connected("approvals", "elicitation")
    approval, form, outside = await ask_all(queue)
    assert [frame.request_id for frame in sent] == ["approval-1", "elicitation-1", "approval-2"]
    pending.approve(Approve(request_id="approval-2", decision="session"))
    pending.answer_elicitation(AnswerElicitation(request_id="elicitation-1", action="accept", content={"name": "x"}))
    pending.approve(Approve(request_id="approval-1", decision="once"))
    assert await outside == "session"
    assert await form == {"action": "accept", "content": {"name": "x"}}
    assert await approval == Answer("once")


async def test_answer_of_another_kind_is_rejected_and_question_waits() -> None:
    queue, pending, _ = connected("approvals", "elicitation")
    approval, form, _ = await ask_all(queue)
    with pytest.raises(UsageError, match='no approval request "elicitation-1" is open'):
        pending.approve(Approve(request_id="elicitation-1", decision="once"))
    with pytest.raises(UsageError, match='no elicitation request "approval-1" is open'):
        pending.answer_elicitation(AnswerElicitation(request_id="approval-1", action="decline"))
    with pytest.raises(UsageError, match="missing fields: name"):
        pending.answer_elicitation(AnswerElicitation(request_id="elicitation-1", action="accept", content={}))
    with pytest.raises(UsageError, match="only for requests"):
        pending.approve(Approve(request_id="approval-1", decision="never"))
    assert not approval.done() and not form.done()


async def test_close_denies_pending_and_later_questions() -> None:
    queue, pending, sent = connected("approvals", "elicitation")
    asked = await ask_all(queue)
    pending.close()
    denied = [Answer("deny", GONE), {"action": "cancel"}, "deny"]
    assert [await each for each in asked] == denied
    assert [await each for each in await ask_all(queue)] == denied
    assert len(sent) == 3


async def test_only_announced_kinds_are_sent() -> None:
    queue, _, sent = connected("approvals", outside=False)
    approval, *others = await ask_all(queue)
    assert [await each for each in others] == [{"action": "cancel"}, "deny"]
    assert [frame.request_id for frame in sent] == ["approval-1"] and not approval.done()


async def test_withdrawn_question_cannot_be_answered() -> None:
    queue, pending, _ = connected("approvals")
    asked = asyncio.ensure_future(queue.ask(APPROVAL))
    await asyncio.sleep(0)
    asked.cancel()
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="is open"):
        pending.approve(Approve(request_id="approval-1", decision="once"))
