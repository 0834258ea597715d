"""Scheduler: limits workers that run at once, one writer per directory, otherwise first come, first served.

A worker counts while it works on a message. Swarms with their own limit are counted separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple


class RunRequest(NamedTuple):
    """``writes`` is the shared directory it may change; empty if it has its own or only reads."""

    worker: str
    swarm: str = ""
    writes: str = ""


class Scheduler:
    def __init__(self, most: int) -> None:
        self.most = most
        self.most_of: dict[str, int] = {}  # limits of swarms; 0 is none
        self._waiting: dict[str, RunRequest] = {}
        self._running: dict[str, RunRequest] = {}
        self._asking: Counter[str] = Counter()  # waiting workers per swarm
        self._at_work: Counter[str] = Counter()  # running workers per swarm
        self._written: Counter[str] = Counter()  # writers per directory, at most one

    @property
    def running(self) -> Mapping[str, RunRequest]:
        return self._running

    @property
    def waiting(self) -> Mapping[str, RunRequest]:
        return self._waiting

    def enqueue(self, wish: RunRequest) -> None:
        """Queues a worker; one that runs or waits keeps its position."""
        if wish.worker not in self._running and wish.worker not in self._waiting:
            self._waiting[wish.worker] = wish
            self._asking[wish.swarm] += 1

    def readmit(self, wish: RunRequest) -> None:
        """Marks a worker as running."""
        self.remove(wish.worker)
        self._let_in(wish)

    def remove(self, worker: str) -> None:
        """Removes a worker that is not running or waiting any more."""
        if (wish := self._waiting.pop(worker, None)) is not None:
            _less(self._asking, wish.swarm)
        if (wish := self._running.pop(worker, None)) is not None:
            _less(self._at_work, wish.swarm)
            _less(self._written, wish.writes)

    def next_runnable(self) -> list[str]:
        """Workers that may run now. A waiting writer blocks only writers of the same directory."""
        admitted: list[RunRequest] = []
        written = set(self._written)
        has_room = {swarm for swarm in self._asking if self._has_room(swarm)}
        for wish in self._waiting.values():
            if not has_room:
                break
            if wish.swarm in has_room and wish.writes not in written:
                admitted.append(wish)
                self._let_in(wish)
                _less(self._asking, wish.swarm)
                has_room = {swarm for swarm in has_room if swarm in self._asking and self._has_room(swarm)}
            if wish.writes:  # later writers of this directory wait
                written.add(wish.writes)
        for wish in admitted:
            del self._waiting[wish.worker]
        return [wish.worker for wish in admitted]

    def _let_in(self, wish: RunRequest) -> None:
        self._running[wish.worker] = wish
        self._at_work[wish.swarm] += 1
        if wish.writes:
            self._written[wish.writes] += 1

    def _has_room(self, swarm: str) -> bool:
        if own := self.most_of.get(swarm, 0):
            return self._at_work[swarm] < own
        return sum(count for other, count in self._at_work.items() if not self.most_of.get(other, 0)) < self.most


def _less(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
