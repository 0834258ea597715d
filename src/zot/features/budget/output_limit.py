"""Limits a request's output to the money that is left, so that one answer cannot exceed a spending limit."""

from __future__ import annotations

import msgspec

from zot.provider.model_call import Finished, Request, StreamEvent

USEFUL_TOKENS = 1_024  # below this an answer is not worth its input
_UNKNOWN_OUTPUT = 32_000  # largest answer of a model without a known limit


class CostRange(msgspec.Struct, frozen=True):
    """Estimated cost of a request in USD: its input, at least and with what a cache adds to the price; then with a
    short answer (``least``), a usual and the longest one."""

    sure: float
    input: float
    least: float
    usual: float
    most: float

    def share(self, rest: float, parallel: bool) -> float:
        """What to reserve of ``rest``, which other requests use too; 0 to wait for the running ones."""
        if rest < (self.usual if parallel else self.least):
            return 0.0
        return min(self.most, max(self.usual, rest / 2), rest)


def cost_range(request: Request, sure: float, input_usd: float, tokens: int) -> CostRange:
    """``tokens`` is the estimated size of the input, which may select another price."""
    price, most = _output_price(request, tokens), _longest(request)
    usual = max(most // 4, min(most, USEFUL_TOKENS))
    return CostRange(
        sure,
        input_usd,
        input_usd + min(most, USEFUL_TOKENS) * price,
        input_usd + usual * price,
        input_usd + most * price,
    )


def limit_output(request: Request, costs: CostRange, usd: float) -> Request:
    """The request with the longest answer that ``usd`` pays; unchanged if that is any answer."""
    if usd >= costs.most and request.model.max_output:
        return request
    longest = _longest(request)
    paid = (usd - costs.input) / (costs.most - costs.input) if costs.most > costs.input else 1.0
    tokens = max(1, min(longest, int(longest * paid)))
    model = msgspec.structs.replace(request.model, max_output=tokens)  # limits thinking as well
    return msgspec.structs.replace(request, model=model, max_tokens=min(request.max_tokens, tokens))


def is_cut(asked: Request, limited: Request, event: StreamEvent) -> bool:
    """True if the answer ended at the limit set here."""
    return limited is not asked and isinstance(event, Finished) and event.stop == "length"


def _longest(request: Request) -> int:
    own = request.model.max_output or _UNKNOWN_OUTPUT
    return min(request.max_tokens, own) if request.max_tokens else own


def _output_price(request: Request, tokens: int) -> float:
    return request.model.price_for(tokens).price_output / 1_000_000
