"""What extensions spend on model calls and agents: limited per session and extension by ``extension_max_cost``, besides
the limits of the session and the day."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from zot.core.events import AgentEvent, UsageCounted
from zot.core.session.records import UsageRow, decode_row
from zot.core.session.session_file import read_lines
from zot.errors import CostLimitReached
from zot.features.budget.output_limit import limit_output
from zot.features.budget.spending_limits import Estimate, cost_is_known, price_command
from zot.provider.messages import Usage
from zot.system.safe_open import open_buffered

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.state import Guard
    from zot.provider.model_call import Client, Request, StreamEvent

_ROLE = "extension "


def role_of(extension: str) -> str:
    """Its role in ``/cost``."""
    return f"{_ROLE}{extension}"


class ExtensionSpending:
    """Counts the money of each extension in the present session, and guards its model calls."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._session = ""
        self._spent: dict[str, float] = {}  # in the present session, by role
        self._claimed: dict[str, float] = {}  # by running calls
        self._estimate = Estimate()
        self._reading = asyncio.Lock()
        conversation.subscribe(self._counted, UsageCounted)

    def guard(self, extension: str) -> Guard:
        """For the agent that makes the calls; raises CostLimitReached."""
        role, inner = role_of(extension), self._conversation.agent.guard

        async def stream(client: Client, request: Request) -> AsyncGenerator[StreamEvent]:
            await self._begin_session()
            limited, claim = self._claim(extension, request)
            self._claimed[role] = self._claimed.get(role, 0.0) + claim
            try:
                call = client.stream(limited) if inner is None else inner(client, limited)
                async with aclosing(call) as events:
                    async for event in events:
                        yield event
            finally:
                self._claimed[role] -= claim

        return stream

    def _claim(self, extension: str, request: Request) -> tuple[Request, float]:
        """The request with an answer that the limit pays, and what it may cost."""
        limit, model = self._conversation.settings.values.extension_max_cost, request.model
        if not limit:
            return request, 0.0
        if limit < 0:
            raise CostLimitReached(f"{self._conversation.settings.path}: extension_max_cost: expected an amount in USD")
        if not cost_is_known(self._conversation, model):
            raise CostLimitReached(
                f"unknown price of {model.provider}/{model.id}: cannot enforce extension_max_cost; set the price with "
                f"{price_command(model)} (0 0 if free)"
            )
        role, costs = role_of(extension), self._estimate.costs(request)
        spent = self._spent.get(role, 0.0)
        rest = limit - spent - self._claimed.get(role, 0.0)
        if rest <= 0 or costs.least > rest:
            raise CostLimitReached(
                f"cost limit of ${limit:g} for the extension {extension}: ${spent:.4f} spent in this session; raise "
                "extension_max_cost in /settings"
            )
        claim = min(rest, costs.most)
        return limit_output(request, costs, claim), claim

    async def _begin_session(self) -> None:
        """Another session has its own count, which continues when it is resumed."""
        async with self._reading:
            if (session_id := self._conversation.agent.session_id) == self._session:
                return
            self._session, self._spent = session_id, {}
            if (session := self._conversation.session) is None:
                return
            session.flush()
            rows = [decode_row(data) for data in session.pending_rows]
            path, end = session.path, _size(session.path)
            for row in (*rows, *await asyncio.to_thread(_usage_rows, path, end)):
                if session_id == self._session and isinstance(row, UsageRow) and row.role:
                    self._add(str(row.role), row.usage)

    def _counted(self, event: AgentEvent) -> None:
        if isinstance(event, UsageCounted) and self._conversation.agent.session_id == self._session:
            self._add(event.role, event.usage)

    def _add(self, role: str, usage: Usage) -> None:
        self._spent[role] = self._spent.get(role, 0.0) + usage.cost_usd


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # nothing is saved yet


def _usage_rows(path: Path, end: int) -> list[UsageRow]:
    """Those before ``end``: what follows is counted when it happens."""
    if not end:
        return []
    try:
        with open_buffered(path) as file:
            return [line.row for line in read_lines(file) if line.offset < end and isinstance(line.row, UsageRow)]
    except OSError:
        return []
