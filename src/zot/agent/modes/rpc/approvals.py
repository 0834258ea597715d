"""Permission over RPC: what is not to run by itself is put to the client, and nobody to answer means no.

A client that did not announce ``approvals`` is not asked; closing stdin denies what is asked and all that follows;
an abort ends the wait.
"""

from __future__ import annotations

import asyncio

from zot.agent.console import say
from zot.agent.modes.rpc.writer import Writer
from zot.core.confirm import Answer, ConfirmGate, Question
from zot.core.permission import Mode, parse_mode, wider
from zot.errors import UsageError
from zot.wire.rpc_frames import ApprovalRequest, Approve

GONE = "refused: the client closed its input, so nobody can be asked"


class Approvals:
    """Does nothing while everything runs. ``widest`` is the mode zot was started with, or the limit that was named: a
    client goes no further."""

    def __init__(self, gate: ConfirmGate | None, writer: Writer, limit: str) -> None:
        self._gate = gate
        self._widest: Mode = (
            gate.limit if gate is not None and limit else gate.mode if gate is not None else "everything"
        )
        self._writer = writer
        self._asked: dict[str, asyncio.Future[Answer]] = {}
        self._count = 0
        self._closed = self._mentioned = False

    def mention(self) -> None:
        """Before a prompt: say once that its calls will be refused, if they will."""
        gate = self._gate
        if gate is not None and not gate.open and gate.confirmer is None and not self._mentioned:
            self._mentioned = True
            what = "every tool call" if gate.asks_each else f"in the mode {gate.mode} what would be asked about"
            flag = "--no-yolo" if gate.asks_each else "permissions"
            say(f'{flag}: {what} is refused, because the client did not announce "approvals" in hello')

    def announce(self, can_answer: bool) -> None:
        """What the client says of itself in ``hello``."""
        if self._gate is not None:
            self._gate.confirmer = self._ask if can_answer else None

    def check_widening(self, mode: str) -> None:
        """UsageError when a client may not go that far."""
        wanted = parse_mode(mode)
        if wanted is not None and wider(wanted, self._widest):
            raise UsageError(
                f"the permission mode cannot be {wanted}: zot was started with {self._widest}; "
                "--permission-limit says how far a client may go"
            )

    def answer(self, command: Approve) -> None:
        """UsageError when that question does not wait."""
        future = self._asked.get(command.request_id)
        if future is None or future.done():
            raise UsageError(f'no approval request "{command.request_id}" is waiting')
        future.set_result(Answer(command.decision, command.reason))

    def close(self) -> None:
        """Nobody can answer any more."""
        self._closed = True
        for future in self._asked.values():
            if not future.done():
                future.set_result(Answer("deny", GONE))

    async def _ask(self, question: Question) -> Answer:
        if self._closed:
            return Answer("deny", GONE)
        self._count += 1
        request_id = f"approval-{self._count}"
        future = self._asked[request_id] = asyncio.get_running_loop().create_future()
        call = question.call
        self._writer.tell(
            ApprovalRequest(
                request_id=request_id,
                tool_id=call.id,
                name=call.name,
                args=call.args,
                preview=question.preview,
                prefix=" ".join(question.prefix),
            )
        )
        try:
            return await future
        finally:
            del self._asked[request_id]
