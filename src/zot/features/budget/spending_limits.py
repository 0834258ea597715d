"""Spending limits, checked before each request: ``--max-cost`` and two settings.
A request is denied at the limit, if its input with a short answer exceeds it, or if the cost is unknown. Its output
is limited to the money that is left. Parallel requests count."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from zot.core.compaction import CHARS_PER_TOKEN
from zot.core.compaction_prompt import length_of
from zot.errors import CostLimitReached, describe_error
from zot.features.budget.output_limit import CostRange, cost_range, is_cut, limit_output
from zot.features.budget.reservations import Reservations
from zot.provider.messages import ImageBlock, ToolResultBlock
from zot.provider.model import Model
from zot.provider.model_call import Client, Request, StreamEvent, UsageReported
from zot.provider.providers import builtin_providers

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.state import Guard
    from zot.features.budget.ledger import Ledger


class SpendingGuard:
    """One per run, shared by its conversations. ``inner`` is a further guard, called after it."""

    def __init__(self, conversation: Conversation, ledger: Ledger, inner: Guard | None = None) -> None:
        self._conversation = conversation
        self._inner = inner
        self._estimate = Estimate()
        self._ledger = ledger
        self._claims = Reservations(self._ledger)
        self._claimed = 0.0  # reserved by running requests of this process
        self._released = asyncio.Event()

    async def stream(self, client: Client, request: Request) -> AsyncGenerator[StreamEvent]:
        """The model call, once allowed; raises CostLimitReached."""
        session, day = limits(self._conversation)
        if not cost_is_known(self._conversation, request.model):
            raise CostLimitReached(
                f"unknown price of {request.model.provider}/{request.model.id}: cannot enforce a cost limit; set it "
                f"with {price_command(request.model)} (0 0 if free), or pass --price-unknown allow"
            )
        costs = self._estimate.costs(request)
        claim = await self._claim_of_session(session, costs)
        hold = ""
        try:
            hold, usd = await self._claim_of_today(day, costs, claim)
            limited = limit_output(request, costs, usd)
            call = client.stream(limited) if self._inner is None else self._inner(client, limited)
            async with aclosing(call) as events:
                async for event in events:
                    self._estimate.hear(request, event)
                    if is_cut(request, limited, event):
                        self._report_cut(limited, "session" if claim <= usd else "day")
                    yield event
        finally:
            self._release(claim)
            if hold:
                with suppress(OSError):  # it counts until this process ends
                    self._claims.release(hold)

    # --- the limits

    async def _claim_of_session(self, limit: float, costs: CostRange) -> float:
        """Reserve what the request may cost. While parallel requests hold the rest, wait for their end."""
        if limit < 0:
            raise CostLimitReached(f"{self._conversation.settings.path}: max_cost_session: expected an amount in USD")
        rest = costs.most
        while limit:
            elsewhere = sum(feature.spent() for feature in self._conversation.features)
            spent = self._conversation.total_usage.cost_usd + elsewhere
            if spent >= limit or spent + costs.least > limit:
                raise CostLimitReached(_refusal("cost limit", limit, spent, costs.least, _RAISE["session"]))
            rest = limit - spent - self._claimed
            if not self._claimed or rest >= costs.usual:
                break
            await self._released.wait()
        claim = min(rest, costs.most)
        self._claimed += claim
        return claim

    def _release(self, claim: float) -> None:
        self._claimed = self._claimed - claim if self._claimed - claim > 1e-12 else 0.0  # without rounding errors
        self._released.set()
        self._released = asyncio.Event()

    async def _claim_of_today(self, limit: float, costs: CostRange, usd: float) -> tuple[str, float]:
        """The reservation and its amount, at most ``usd``."""
        settings = self._conversation.settings
        if limit < 0:
            raise CostLimitReached(f"{settings.path}: max_cost_day: expected an amount in USD")
        if not limit:
            return "", usd
        until = time.monotonic() + _OTHERS_WAIT_S
        try:
            while (got := await self._claims.reserve(costs, limit)).is_busy:
                if time.monotonic() > until:
                    break
                await asyncio.sleep(_OTHERS_LOOK_S)
        except OSError as error:
            what = f"{self._ledger.root}: {describe_error(error)}"
            raise CostLimitReached(
                f"cannot enforce the cost limit of ${limit:g} for today: {what}; fix it, or set max_cost_day to 0"
            ) from error
        if got.is_busy:
            raise CostLimitReached(
                f"cost limit for today of ${limit:g}: other runs have reserved what is left; try again later, "
                f"or {_RAISE['day']}"
            )
        if not got.id:
            raise CostLimitReached(_refusal("cost limit for today", limit, got.taken, costs.least, _RAISE["day"]))
        return got.id, min(usd, got.usd)

    def _report_cut(self, request: Request, which: str) -> None:
        session, day = limits(self._conversation)
        what = f"cost limit of ${session:g}" if which == "session" else f"cost limit of ${day:g} for today"
        tokens = request.max_tokens or request.model.max_output
        self._conversation.notify(
            f"answer cut at {tokens:,} tokens: the {what} pays no more; {_RAISE[which]}", "budget"
        )


_OTHERS_WAIT_S = 60.0  # for running requests of other processes that hold the rest of the day's limit
_OTHERS_LOOK_S = 0.1
_RAISE = {
    "session": "raise it with --max-cost, or max_cost_session in /settings",
    "day": "raise max_cost_day in /settings",
}


def cost_is_known(conversation: Conversation, model: Model) -> bool:
    """True if the price is known or the user accepts an unknown one. Models of local servers are free; another
    provider's address on this machine may be a proxy of a paid one."""
    if model.is_priced or conversation.services.config.price_unknown == "allow":
        return True
    known = builtin_providers().get(model.provider)
    return (known is not None and known.local) or model.source == "script"


def price_command(model: Model) -> str:
    """The command that sets its price."""
    return f"`zot models price {model.provider}/{model.id} INPUT OUTPUT`"


def limits(conversation: Conversation) -> tuple[float, float]:
    """For the session and for the day; 0 is none. The flag overrides the setting."""
    values = conversation.settings.values
    return conversation.services.config.max_cost or values.max_cost_session, values.max_cost_day


def _refusal(what: str, limit: float, spent: float, least: float, how: str) -> str:
    if spent >= limit:
        return f"{what} of ${limit:g} reached (${spent:.4f} spent); {how}"
    return f"{what} of ${limit:g}: ${spent:.4f} spent, and the next request costs at least ${least:.4f}; {how}"


# Lower estimate of a request's cost: most of its input may be in the provider's cache.

_CACHE_LIFE_S = 300.0
_IMAGE_TOKENS = 1_500


class Estimate:
    """Observes each request, to estimate what the next one finds cached."""

    def __init__(self) -> None:
        self._last: tuple[str, int, float] = ("", 0, 0.0)  # the last request: model, tokens, time

    def minimum_cost(self, request: Request) -> float:
        """In USD: the last request's input is cached, the rest is new."""
        model, tokens = request.model, tokens_of(request)
        last, sent, when = self._last
        warm = last == model.id and model.price_cache_read and time.monotonic() - when < _CACHE_LIFE_S
        cached = min(sent, tokens) if warm else 0
        price = model.price_for(tokens)
        return (cached * price.price_cache_read + (tokens - cached) * price.price_input) / 1_000_000

    def costs(self, request: Request) -> CostRange:
        """As ``minimum_cost``, but new input is also written to the cache; with the output."""
        model, tokens = request.model, tokens_of(request)
        price, least = model.price_for(tokens), self.minimum_cost(request)
        dearer = max(price.price_cache_write / price.price_input, 1.0) if price.price_input else 1.0
        return cost_range(request, least, least * dearer, tokens)

    def hear(self, request: Request, event: StreamEvent) -> None:
        if isinstance(event, UsageReported) and event.usage.context_tokens:
            self._last = (request.model.id, event.usage.context_tokens, time.monotonic())


def tokens_of(request: Request) -> int:
    tools = sum(len(tool.name) + len(tool.description) + len(str(tool.schema)) for tool in request.tools)
    characters = len(request.system) + tools + length_of(request.messages)
    blocks = [block for message in request.messages for block in message.content]
    inner = [part for block in blocks if isinstance(block, ToolResultBlock) for part in block.content]
    return (
        characters // CHARS_PER_TOKEN
        + sum(isinstance(block, ImageBlock) for block in (*blocks, *inner)) * _IMAGE_TOKENS
    )
