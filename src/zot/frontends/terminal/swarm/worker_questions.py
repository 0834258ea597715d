"""Passes a worker's questions from its log to the conversation's queue, and withdraws those answered elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.permission_gate import ApprovalQuestion
from zot.errors import ZotError
from zot.features.questions import Approval, QuestionQueue
from zot.provider.messages import ToolCallBlock
from zot.swarm.event_log import recorded, type_of
from zot.swarm.worker_store import WorkerStore
from zot.wire.rpc_frames import ApprovalRequest
from zot.wire.swarm_frames import SwarmApprove, WorkerInfo

if TYPE_CHECKING:
    from zot.swarm.service import SwarmService

_TOLD = frozenset({b"approval_request", b"tool_result", b"agent_ready", b"agent_stopped"})
_TAIL = 1024 * 1024  # bytes of the log: open questions are near its end


class WorkerQuestions:
    """``task`` asks them; ``withdraw`` ends it, unless the answer is being sent."""

    task: asyncio.Task[None]

    def __init__(self, service: SwarmService, queue: QuestionQueue, worker: WorkerInfo) -> None:
        self._service = service
        self._queue = queue
        self.worker = worker
        self._answered: set[str] = set()
        self._answering = False

    def withdraw(self) -> None:
        if not self._answering:
            self.task.cancel()

    async def ask(self, waits: Callable[[], bool]) -> None:
        """One after another, while the worker waits for answers."""
        path = WorkerStore(self._service.home).of(self.worker.id).events
        while waits():
            asked = await asyncio.to_thread(unanswered, path)
            new = [request for request in asked if request.request_id not in self._answered]
            if not new:
                return
            request = new[0]
            self._answered.add(request.request_id)
            decision, reason = await self._decision(request)
            self._answering = True
            try:
                approval = SwarmApprove(worker=self.worker.id, request_id=request.request_id, decision=decision)
                with suppress(ZotError):  # answered elsewhere, or the worker ended: the next status tells
                    await self._service.approve(msgspec.structs.replace(approval, reason=reason))
            finally:
                self._answering = False

    async def _decision(self, request: ApprovalRequest) -> tuple[Any, str]:
        arguments = msgspec.json.encode(request.args).decode()
        call = ToolCallBlock(request.tool_id, request.name, arguments)
        if request.outside:
            from zot.features.jail.outside_access import OutsideRequest
            from zot.system.jail.policy import Wish

            wishes = tuple(Wish(**msgspec.structs.asdict(wish)) for wish in request.outside)
            return await self._queue.ask(OutsideRequest(call, wishes, worker=self.worker.name)), ""
        question = ApprovalQuestion(
            call,
            request.preview,
            prefix=tuple(request.prefix.split()),
            or_all=not request.reason,
            reason=request.reason,
            prefixes=tuple(tuple(prefix.split()) for prefix in request.prefixes),
        )
        answer = await self._queue.ask(Approval(question, worker=self.worker.name))
        return answer.decision, answer.reason


def unanswered(path: Path) -> list[ApprovalRequest]:
    """Open questions of a worker's last process, from its log."""
    asked: dict[str, ApprovalRequest] = {}
    for line in recorded(path, _TAIL):
        kind = type_of(line)
        if kind not in _TOLD:
            continue
        if kind == b"approval_request":
            request = msgspec.json.decode(line, type=ApprovalRequest)
            asked[request.tool_id] = request
        elif kind == b"tool_result":
            asked.pop(str(msgspec.json.decode(line).get("id")), None)
        else:
            asked.clear()
    return list(asked.values())
