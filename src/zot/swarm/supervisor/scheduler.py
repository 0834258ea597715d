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

    def enqueue(self, request: RunRequest) -> None:
        """Queues a worker; one that runs or waits keeps its position."""
        if request.worker not in self._running and request.worker not in self._waiting:
            self._waiting[request.worker] = request
            self._asking[request.swarm] += 1

    def readmit(self, request: RunRequest) -> None:
        """Marks a worker as running."""
        self.remove(request.worker)
        self._admit(request)

    def remove(self, worker: str) -> None:
        """Removes a worker that is not running or waiting any more."""
        if (request := self._waiting.pop(worker, None)) is not None:
            _less(self._asking, request.swarm)
        if (request := self._running.pop(worker, None)) is not None:
            _less(self._at_work, request.swarm)
            _less(self._written, request.writes)

    def next_runnable(self) -> list[str]:
        """Workers that may run now. A waiting writer blocks only writers of the same directory."""
        admitted: list[RunRequest] = []
        written = set(self._written)
        has_room = {swarm for swarm in self._asking if self._has_room(swarm)}
        for request in self._waiting.values():
            if not has_room:
                break
            if request.swarm in has_room and request.writes not in written:
                admitted.append(request)
                self._admit(request)
                _less(self._asking, request.swarm)
                has_room = {swarm for swarm in has_room if swarm in self._asking and self._has_room(swarm)}
            if request.writes:  # later writers of this directory wait
                written.add(request.writes)
        for request in admitted:
            del self._waiting[request.worker]
        return [request.worker for request in admitted]

    def _admit(self, request: RunRequest) -> None:
        self._running[request.worker] = request
        self._at_work[request.swarm] += 1
        if request.writes:
            self._written[request.writes] += 1

    def _has_room(self, swarm: str) -> bool:
        if own := self.most_of.get(swarm, 0):
            return self._at_work[swarm] < own
        return sum(count for other, count in self._at_work.items() if not self.most_of.get(other, 0)) < self.most


def _less(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
