"""Permission over RPC: what is not to run by itself is put to the client, and nobody to answer means no.

A client that did not announce ``approvals`` is not asked; closing stdin denies what is asked and all that follows;
an abort ends the wait. What is outside a jail is put to it only if whoever started zot said so by flag.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from zot.core.permission_gate import Answer, ApprovalQuestion, ConfirmGate, preview
from zot.core.permission_modes import Mode, parse_mode, wider
from zot.errors import UsageError
from zot.frontends.console import say
from zot.frontends.rpc.writer import Writer
from zot.system.visible_text import spelled
from zot.wire import rpc_frames as wire
from zot.wire.rpc_frames import ApprovalRequest, Approve

if TYPE_CHECKING:
    from zot.features.jail.outside_access import Decision, OutsideAccess, OutsideRequest

GONE = "refused: the client closed its input, so nobody can be asked"


class Approvals:
    """Does nothing while everything runs. ``widest`` is the mode zot was started with, or the limit that was named: a
    client goes no further."""

    def __init__(
        self, gate: ConfirmGate | None, writer: Writer, limit: str, outside: OutsideAccess | None = None
    ) -> None:
        self._gate = gate
        self._widest: Mode = (
            gate.limit if gate is not None and limit else gate.mode if gate is not None else "everything"
        )
        self._writer = writer
        self._outside = outside
        self._asked: dict[str, asyncio.Future[Answer]] = {}
        self._offered: dict[str, asyncio.Future[Decision]] = {}
        self._count = 0
        self._closed = self._mentioned = False
        self.on_close: list[Callable[[], None]] = []  # others who wait for answers of the client

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
        if self._outside is not None:
            self._outside.asker = self._offer if can_answer else None

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
        offered = self._offered.get(command.request_id)
        if offered is not None and not offered.done():
            if command.decision in ("prefix", "tool", "all"):
                offered.set_result("deny")  # a client that does not know the question has not answered it
                raise UsageError(f'"{command.decision}" is no answer about what is outside: once, session, never, deny')
            offered.set_result(command.decision)
            return
        future = self._asked.get(command.request_id)
        if future is None or future.done():
            raise UsageError(f'no approval request "{command.request_id}" is waiting')
        if command.decision in ("session", "never"):
            raise UsageError(f'"{command.decision}" only answers a request with "outside"')
        future.set_result(Answer(command.decision, command.reason))

    def close(self) -> None:
        """Nobody can answer any more."""
        self._closed = True
        for close in self.on_close:
            close()
        for future in self._asked.values():
            if not future.done():
                future.set_result(Answer("deny", GONE))
        for offered in self._offered.values():
            if not offered.done():
                offered.set_result("deny")

    async def _ask(self, question: ApprovalQuestion) -> Answer:
        if self._closed:
            return Answer("deny", GONE)
        request_id = self._next_id()
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

    async def _offer(self, offer: OutsideRequest) -> Decision:
        if self._closed:
            return "deny"
        request_id = self._next_id()
        future = self._offered[request_id] = asyncio.get_running_loop().create_future()
        call, wishes = offer.call, offer.wishes
        wanted = " and ".join(map(str, wishes))
        self._writer.tell(
            ApprovalRequest(
                request_id=request_id,
                tool_id=call.id,
                name=call.name,
                args=call.args,
                preview=f"outside the jail, {spelled(wanted)}: {preview(call.value)}",
                outside=tuple(wire.Outside(**msgspec.structs.asdict(wish)) for wish in wishes),
            )
        )
        try:
            return await future
        finally:
            del self._offered[request_id]

    def _next_id(self) -> str:
        self._count += 1
        return f"approval-{self._count}"
