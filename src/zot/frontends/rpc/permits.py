"""Permits over RPC: asks a client before each model call and reports the cost after it.
Only if it announced ``permits``. Closing stdin denies open and later requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Literal

from zot.errors import CostLimitReached, RateLimited, UsageError
from zot.features.budget.output_limit import is_cut, limit_output
from zot.features.budget.spending_limits import Estimate
from zot.frontends.rpc.writer import Writer
from zot.provider.error_mapping import RATE_LIMITED
from zot.provider.model import Model
from zot.provider.model_call import Client, Finished, Request, Retrying, Started, StreamEvent, UsageReported
from zot.wire.rpc_frames import Permit, PermitRequest, PermitSettled

GONE = "denied: the client disconnected before permitting a model call"

Ending = Literal["ok", "failed", "rate_limited"]


class Permits:
    """``knows_cost`` returns whether a model's price is known; ``notify`` shows a line to the user."""

    def __init__(self, writer: Writer, knows_cost: Callable[[Model], bool], notify: Callable[[str], None]) -> None:
        self._writer = writer
        self._knows_cost = knows_cost
        self._notify = notify
        self._estimate = Estimate()
        self._asked: dict[str, asyncio.Future[Permit]] = {}
        self._count = 0
        self._closed = False

    async def stream(self, client: Client, request: Request) -> AsyncGenerator[StreamEvent]:
        """The model call, once it and each retry is permitted; raises CostLimitReached."""
        permitted = await self._ask(client, request)
        try:
            sent = permitted.request
            async with aclosing(client.stream(sent)) as events:
                async for event in events:
                    if isinstance(event, Retrying):
                        limited = event.reason == RATE_LIMITED
                        self._settle(permitted, "rate_limited" if limited else "failed", event.wait_s * limited)
                        yield event
                        permitted = await self._ask(client, sent)
                        if permitted.request is not sent:
                            raise CostLimitReached("the shared budget does not pay for a retry of this request")
                        continue
                    self._estimate.hear(request, event)
                    permitted.on_event(request, event)
                    if is_cut(request, sent, event):
                        tokens = sent.max_tokens or sent.model.max_output
                        self._notify(f"answer cut at {tokens:,} tokens: the shared budget pays no more")
                    yield event
        except RateLimited as error:
            self._settle(permitted, "rate_limited", error.retry_after or 0.0)
            raise
        finally:
            self._settle(permitted, permitted.ending, permitted.pause_s)

    def answer(self, command: Permit) -> None:
        """UsageError if that request is not open."""
        future = self._asked.get(command.request_id)
        if future is None or future.done():
            raise UsageError(f'no permit request "{command.request_id}" is open')
        future.set_result(command)

    def close(self) -> None:
        """The client disconnected: deny open and later requests."""
        self._closed = True
        for id, future in self._asked.items():
            if not future.done():
                future.set_result(Permit(request_id=id, decision="refuse", reason=GONE))

    async def _ask(self, client: Client, request: Request) -> _Permitted:
        if self._closed:
            raise CostLimitReached(GONE)
        self._count += 1
        costs = self._estimate.costs(request)
        least = costs.sure
        one = PermitRequest(
            request_id=f"permit-{self._count}",
            provider=client.name,
            model=request.model.id,
            usd=least,
            unpriced=not self._knows_cost(request.model),
            least_usd=costs.least,
            usual_usd=costs.usual,
            most_usd=costs.most,
        )
        future = self._asked[one.request_id] = asyncio.get_running_loop().create_future()
        self._writer.send_event(one)
        try:
            answer = await future
        finally:
            del self._asked[one.request_id]
        if answer.decision == "refuse":
            raise CostLimitReached(answer.reason or "model call denied by the controlling program")
        permitted = _Permitted(one.request_id, least, request)
        if 0 < answer.usd < costs.least:
            self._settle(permitted, "failed")
            left = f"${answer.usd:.4f} of the shared budget is left"
            raise CostLimitReached(f"{left}, and the next request costs at least ${costs.least:.4f}")
        if answer.usd:
            permitted.request = limit_output(request, costs, answer.usd)
        return permitted

    def _settle(self, permitted: _Permitted, ending: Ending, pause_s: float = 0.0) -> None:
        """Once per call: later events belong to an ended call."""
        if permitted.settled:
            return
        permitted.settled = True
        self._writer.send_event(
            PermitSettled(request_id=permitted.id, usd=permitted.usd, outcome=ending, pause_s=round(pause_s, 3))
        )


class _Permitted:
    """A permitted call and its observed usage."""

    def __init__(self, id: str, least: float, request: Request) -> None:
        self.id = id
        self.request = request  # with the permitted output
        self.settled = False
        self.ending: Ending = "failed"
        self.pause_s = 0.0
        self._least = least
        self._began = False
        self._spent: float | None = None

    def on_event(self, request: Request, event: StreamEvent) -> None:
        match event:
            case Started():
                self._began = True
            case UsageReported(usage):
                self._spent = (self._spent or 0.0) + (usage.cost_usd or request.model.priced(usage).cost_usd)
            case Finished(error=RateLimited() as error):
                self.ending, self.pause_s = "rate_limited", error.retry_after or 0.0
            case Finished(error=error):
                self.ending = "failed" if error is not None else "ok"
            case _:
                pass

    @property
    def usd(self) -> float:
        """An interrupted answer without usage costs at least its input."""
        if self._spent is not None:
            return self._spent
        return self._least if self._began else 0.0
