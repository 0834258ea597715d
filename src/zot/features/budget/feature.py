"""Budget of a conversation: limits before each model call, and the ledger."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from zot.agent.feature import Feature
from zot.core.events import AgentEvent, TurnStart, UsageCounted, UsageEvent
from zot.errors import describe_error
from zot.provider.messages import QuotaWindow, Usage

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.core.state import Guard
    from zot.features.budget.ledger import Ledger
    from zot.provider.model import Model


NOTHING_LEFT = 1e-6  # USD: a spent limit stays a limit, and 0 would mean none


class BudgetFeature(Feature):
    """``ledger`` records the spending of all runs of this home; opened while the first request connects."""

    name = "budget"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._ledger: Ledger | None = None
        self._permits: Guard | None = None
        self._failed = False
        self.quota: tuple[QuotaWindow, ...] = ()  # of the last answer that had one

    def join(self) -> None:
        self.settings_changed()
        self.conversation.subscribe(self._on_event, TurnStart, UsageCounted)
        self.conversation.subscribe(self._on_usage, UsageEvent)

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            from zot.features.budget.ledger import Ledger

            self._ledger = Ledger(self.conversation.home)
        return self._ledger

    def settings_changed(self) -> None:
        """Applies the limits of flag and settings from the next model call on."""
        conversation, values = self.conversation, self.conversation.settings.values
        session = self.services.config.max_cost or values.max_cost_session
        conversation.agent.max_cost_usd = max(session, 0.0)
        conversation.agent.guard = self._permits
        if session or values.max_cost_day:
            from zot.features.budget.spending_limits import SpendingGuard

            conversation.agent.guard = SpendingGuard(conversation, self.ledger, self._permits).stream

    def set_permit_guard(self, permits: Guard | None) -> None:
        """From the next model call on, each needs a permit of the controlling program; None for none."""
        self._permits = permits
        self.settings_changed()

    def _on_event(self, event: AgentEvent) -> None:
        if self.conversation.model.source == "script":
            return
        if not isinstance(event, UsageCounted):
            if self._ledger is None:
                asyncio.get_running_loop().call_soon(lambda: self.ledger.prepare())
        elif event.usage != Usage():
            from zot.features.budget.ledger import spent_row

            present, saved = self.conversation.snapshot, self.conversation.session is not None
            directory = present.directory if saved else ""
            provider, _, model = event.model.partition("/") if event.model else (present.provider, "", present.model)
            try:
                self.ledger.append(spent_row(event.usage, provider, model, present.session_id, directory, event.role))
            except OSError as error:
                if not self._failed:
                    self._failed = True
                    self.notify(f"cannot write the cost ledger: {describe_error(error)}")

    def _on_usage(self, event: AgentEvent) -> None:
        if isinstance(event, UsageEvent) and event.quota:
            self.quota = event.quota

    def model_changed(self, before: Model) -> None:
        if before.provider != self.conversation.model.provider:
            self.quota = ()

    def status(self) -> str:
        """What is left of a plan, and of a rate limit that is nearly used up."""
        if not self.quota:
            return ""
        from zot.provider.quota import quota_status

        return quota_status(self.quota)

    def for_worker(self, config: RunConfig) -> RunConfig:
        """A worker gets the rest of the limit."""
        from zot.features.budget.spending_limits import limits

        limit, _ = limits(self.conversation)
        left = max(limit - self.conversation.total_usage.cost_usd, NOTHING_LEFT) if limit > 0 else 0.0
        return msgspec.structs.replace(config, max_cost=left)

    async def aclose(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
