"""A provider that exists only here: so many requests a minute, a latency, a price, and now and then a fault.

It alone knows what was really spent. A request that was sent is paid for, whether somebody hears the answer or not; one
that was refused costs nothing.
"""

from __future__ import annotations

import asyncio
import math
import random
from typing import NamedTuple

NAME = "simulated"


class Terms(NamedTuple):
    """``burst`` requests may come at once; ``fault`` is the share of requests that fail, ``median_s`` a usual wait."""

    per_minute: float = 3_000.0
    burst: int = 100
    median_s: float = 6.0
    fault: float = 0.01


class Refused(Exception):
    """429. ``pause_s`` is its retry-after."""

    def __init__(self, pause_s: float) -> None:
        super().__init__()
        self.pause_s = pause_s


class Failed(Exception):
    """500."""


class FakeProvider:
    def __init__(self, terms: Terms, chance: random.Random) -> None:
        self._terms, self._chance = terms, chance
        self._tokens, self._filled = float(terms.burst), 0.0
        self.asked = self.refused = self.failed = 0
        self.spent = 0.0
        self.dearest = 0.0

    def take(self, least: float) -> float:
        """A request arrives: what it costs, from now on. Refused when there are too many."""
        self.asked += 1
        self._admit()
        if self._chance.random() < self._terms.fault:
            self.failed += 1
            return 0.0
        usd = least * (1 + self._chance.random())  # what it says costs as much as what it reads, at most
        self.spent += usd
        self.dearest = max(self.dearest, usd)
        return usd

    async def answer(self, usd: float) -> None:
        """Until the answer is there; Failed for a request that cost nothing."""
        if not usd:
            await asyncio.sleep(1.0)
            raise Failed
        await asyncio.sleep(self._terms.median_s * math.exp(self._chance.gauss(0.0, 0.5)))

    def _admit(self) -> None:
        """A bucket that fills evenly."""
        now, terms = asyncio.get_running_loop().time(), self._terms
        self._tokens = min(terms.burst, self._tokens + (now - self._filled) * terms.per_minute / 60)
        self._filled = now
        if self._tokens < 1:
            self.refused += 1
            raise Refused(max(1.0, (1 - self._tokens) * 60 / terms.per_minute))
        self._tokens -= 1
