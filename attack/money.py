"""Answers that try to cost more than a spending limit leaves; the model uses every token a request permits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.model_server import FakeModelServer, Say, SeenRequest, Stop, Turn

TOKENS_IN = 100
PRICE_IN, PRICE_OUT = 2 / 1_000_000, 10 / 1_000_000  # claude-sonnet-5-5


def _limit(request: SeenRequest) -> int:
    return request.json.get("max_tokens", 1_000_000)


def _endless(request: SeenRequest) -> Turn:
    return Stop(Say("much", usage=(TOKENS_IN, _limit(request))), "length")


def _exceeded(server: FakeModelServer, limit: float) -> str:
    posts = [request for request in server.requests if request.method == "POST"]
    cost = sum(TOKENS_IN * PRICE_IN + _limit(request) * PRICE_OUT for request in posts)
    if not posts:
        return "the control failed: no request was made"
    return "" if cost <= limit else f"${cost:.4f} of ${limit:g} were spent"


def _run(scratch: Path, limit: float, settings: dict[str, float], *flags: str) -> str:
    zot = zot_in(scratch)
    home = zot.home / "zot"
    home.mkdir()
    (home / "config.json").write_text(json.dumps(settings))
    with FakeModelServer([_endless], repeat=True) as server:
        zot.url = server.url
        for _ in range(3):
            zot("-p", "--no-tools", *flags, "write a book")
        return _exceeded(server, limit)


WAYS: dict[str, Callable[[Path], str]] = {
    "a long answer under --max-cost": lambda scratch: _run(scratch, 0.15, {}, "--max-cost", "0.05"),
    "long answers in one session under max_cost_session": lambda scratch: _run(
        scratch, 0.05, {"max_cost_session": 0.05}, "-c"
    ),
    "long answers of several runs under max_cost_day": lambda scratch: _run(scratch, 0.05, {"max_cost_day": 0.05}),
    "long thinking under --max-cost": lambda scratch: _run(
        scratch, 0.6, {}, "--max-cost", "0.2", "--reasoning", "high"
    ),
}

for what, way in WAYS.items():

    @attack("money", what, expect="cut at the limit", quick=False)
    def beyond_the_limit(scratch: Path, way: Callable[[Path], str] = way) -> str:
        return way(scratch)
