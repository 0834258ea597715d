"""The limits of what may be spent, held before each request: ``--max-cost``, ``max_cost_session``, ``max_cost_day``.

A request is refused when a limit is reached, when its input alone would go beyond it, and when that cannot be known:
the model has no price, the ledger cannot be read. What is being asked at the same moment, here or by another process,
counts as spent already.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from zot.errors import CostLimitReached, in_words
from zot.features.budget.estimate import Estimate
from zot.features.budget.reservations import Claims
from zot.provider.model import Model
from zot.provider.model_call import Client, Request, StreamEvent
from zot.provider.providers import is_loopback

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.state import Guard
    from zot.features.budget.ledger import Ledger


class Budget:
    """One for each run: conversations beside the first one ask the same. ``inner`` is asked after it, where somebody
    else has a word, too."""

    def __init__(self, conversation: Conversation, ledger: Ledger, inner: Guard | None = None) -> None:
        self._conversation = conversation
        self._inner = inner
        self._estimate = Estimate()
        self._ledger = ledger
        self._claims = Claims(self._ledger)
        self._claimed = 0.0  # by requests of this process that are being made

    async def stream(self, client: Client, request: Request) -> AsyncGenerator[StreamEvent]:
        """The model call, once it is allowed; raises CostLimitReached."""
        session, day = limits(self._conversation)
        self._check_price(request.model)
        least = self._estimate.least(request)
        self._check_session(session, least)
        self._claimed += least
        hold = ""
        try:
            hold = await self._claim_of_today(day, least)
            call = client.stream(request) if self._inner is None else self._inner(client, request)
            async with aclosing(call) as events:
                async for event in events:
                    self._estimate.hear(request, event)
                    yield event
        finally:
            self._claimed -= least
            if hold:
                self._release(hold)

    def _check_price(self, model: Model) -> None:
        if cost_is_known(self._conversation, model):
            return
        raise CostLimitReached(
            f"no price is known for {model.provider}/{model.id}, so a cost limit cannot be held; write priceInput and"
            " priceOutput for it in models.json (0 when it costs nothing), or run without a limit"
        )

    # --- the limits

    def _check_session(self, limit: float, least: float) -> None:
        elsewhere = sum(feature.spent() for feature in self._conversation.features)
        spent = self._conversation.cost.cost_usd + self._claimed + elsewhere
        if limit < 0:
            raise CostLimitReached(f"{self._conversation.settings.path}: max_cost_session is no amount; correct it")
        if limit and (spent >= limit or spent + least > limit):
            how = "raise it with --max-cost, or max_cost_session in /settings"
            raise CostLimitReached(_refusal("cost limit", limit, spent, least, how))

    async def _claim_of_today(self, limit: float, least: float) -> str:
        settings = self._conversation.settings
        if limit < 0:
            raise CostLimitReached(f"{settings.path}: max_cost_day is no amount; correct it")
        if not limit:
            return ""
        try:
            hold, taken = await self._claims.reserve(least, limit)
        except OSError as error:
            what = f"{self._ledger.root}: {in_words(error)}"
            raise CostLimitReached(
                f"the cost limit of ${limit:g} for today cannot be held: {what}; correct that, or set max_cost_day to 0"
            ) from error
        if not hold:
            how = "raise max_cost_day in /settings"
            raise CostLimitReached(_refusal("cost limit for today", limit, taken, least, how))
        return hold

    def _release(self, hold: str) -> None:
        with suppress(OSError):  # it counts until this process ends
            self._claims.release(hold)


def cost_is_known(conversation: Conversation, model: Model) -> bool:
    """Whether somebody said what it costs; one that runs on this machine costs nothing."""
    resolved = conversation.resolved
    own = resolved.provider.local or model.source in ("script", "ollama")
    here = resolved.endpoint is not None and is_loopback(resolved.endpoint.base_url)
    return model.is_priced or own or here


def limits(conversation: Conversation) -> tuple[float, float]:
    """For the session and for the day; 0 is none. The flag comes before the setting."""
    values = conversation.settings.values
    return conversation.services.config.max_cost or values.max_cost_session, values.max_cost_day


def _refusal(what: str, limit: float, spent: float, least: float, how: str) -> str:
    if spent >= limit:
        return f"{what} of ${limit:g} reached (${spent:.4f} spent); {how}"
    return f"{what} of ${limit:g}: ${spent:.4f} is spent, and the next request would cost at least ${least:.4f}; {how}"
