"""Counts tokens as a provider of the Messages API with prompt caching does, from the requests it really receives.

Its published rules: a request is one row of blocks (tools, system prompt, contents of messages). At most four of them
may carry a marker. At each marker the provider looks for what it has kept of exactly this beginning, there and at 19
blocks before it; the longest beginning it finds is read from the cache. What stands between that and the last marker is
written, and what follows is plain input. A beginning below 1,024 tokens is not kept, and one that was not read for five
minutes is forgotten. A block is compared by its bytes, its marker aside.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.model_turns import CallTools, Say, SeenRequest, Turn

LOOK_BACK = 20  # positions, that of the marker included
MOST_MARKERS = 4
LEAST_TOKENS = 1024
LIFE_S = 300.0
_IMAGE_TOKENS = 1_500


@dataclass(frozen=True)
class Counted:
    """The tokens of one request."""

    read: int
    written: int
    plain: int

    @property
    def all(self) -> int:
        return self.read + self.written + self.plain


@dataclass
class FakeCachingProvider:
    """``counted`` grows with each request; ``clock`` may be moved by hand."""

    clock: float = 0.0
    counted: list[Counted] = field(default_factory=list[Counted])
    _kept: dict[bytes, float] = field(default_factory=dict[bytes, float])

    def answering(self, turns: Iterable[Say | CallTools]) -> list[Callable[[SeenRequest], Turn]]:
        """The same turns, each with the usage of the request it answers."""
        return [lambda seen, turn=turn: self._answer(seen, turn) for turn in turns]

    @property
    def share_read(self) -> float:
        """How much of all that was sent came from the cache."""
        return sum(c.read for c in self.counted) / sum(c.all for c in self.counted)

    def _answer(self, seen: SeenRequest, turn: Say | CallTools) -> Turn:
        counted = self.count(seen.json)
        return replace(turn, usage=(counted.plain, turn.usage[1]), cached=counted.read, written=counted.written)

    def count(self, body: dict[str, Any]) -> Counted:
        ends, markers = _prefixes(body)
        assert len(markers) <= MOST_MARKERS, f"{len(markers)} markers"
        hits = [at for marker in markers for at in self._hit(ends, marker)]
        read = max((ends[at][1] for at in hits), default=0)
        written = 0
        for marker in markers:
            digest, tokens = ends[marker]
            if tokens >= LEAST_TOKENS:
                self._kept[digest] = self.clock + LIFE_S
                written = max(written, tokens - read)
        for at in hits:
            self._kept[ends[at][0]] = self.clock + LIFE_S
        total = ends[-1][1] if ends else 0
        self.counted.append(Counted(read, written, total - read - written))
        return self.counted[-1]

    def _hit(self, ends: list[tuple[bytes, int]], marker: int) -> Iterator[int]:
        for at in range(marker, max(marker - LOOK_BACK, -1), -1):
            if self._kept.get(ends[at][0], -1.0) >= self.clock:
                yield at
                return


def _prefixes(body: dict[str, Any]) -> tuple[list[tuple[bytes, int]], list[int]]:
    """For each block the hash of the request and its tokens up to there, and the marker positions."""
    so_far = hashlib.sha256(json.dumps([body["model"], body.get("tool_choice"), body.get("thinking")]).encode())
    ends: list[tuple[bytes, int]] = []
    markers: list[int] = []
    tokens = 0
    for role, block in _blocks(body):
        plain = {key: value for key, value in block.items() if key != "cache_control"}
        text = json.dumps([role, plain])
        so_far.update(text.encode())
        tokens += _tokens(plain)
        if "cache_control" in block:
            markers.append(len(ends))
        ends.append((so_far.copy().digest(), tokens))
    return ends, markers


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for tool in body.get("tools", ()):
        yield "tool", tool
    for block in body.get("system", ()):
        yield "system", block
    for number, message in enumerate(body["messages"]):
        for block in message["content"]:
            yield f"{number} {message['role']}", block


def _tokens(block: dict[str, Any]) -> int:
    """Four characters each; an image has a fixed cost."""
    images = json.dumps(block).count('"type": "image"')
    without = json.dumps(block, default=str) if not images else json.dumps(_without_data(block))
    return len(without) // 4 + images * _IMAGE_TOKENS


def _without_data(value: Any) -> Any:
    match value:
        case dict():
            return {k: "" if k == "data" else _without_data(v) for k, v in value.items()}  # pyright: ignore
        case list():
            return [_without_data(item) for item in value]  # pyright: ignore
        case _:
            return value
