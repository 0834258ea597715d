"""Who may run: so many at once, one writer in a directory, and otherwise in the order they came. Pure: no processes.

A worker runs while it is at work on a message; one that waits for the next message takes nobody's place. Workers of a
swarm with a number of its own are counted by that number, all others together by the number of the home.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Wish(NamedTuple):
    """``writes`` is the directory it may change and share with others; empty when it has one of its own, or only
    reads."""

    worker: str
    swarm: str = ""
    writes: str = ""


class Scheduler:
    def __init__(self, most: int) -> None:
        self.most = most
        self.most_of: dict[str, int] = {}  # swarms with a number of their own; 0 is none
        self._waiting: dict[str, Wish] = {}
        self._running: dict[str, Wish] = {}

    @property
    def running(self) -> Mapping[str, Wish]:
        return self._running

    @property
    def waiting(self) -> Mapping[str, Wish]:
        return self._waiting

    def ask(self, wish: Wish) -> None:
        """It wants to run; one that runs or waits already keeps its place."""
        if wish.worker not in self._running:
            self._waiting.setdefault(wish.worker, wish)

    def readmit(self, wish: Wish) -> None:
        """It runs already."""
        self._waiting.pop(wish.worker, None)
        self._running[wish.worker] = wish

    def leave(self, worker: str) -> None:
        """It runs no more, and does not want to."""
        self._waiting.pop(worker, None)
        self._running.pop(worker, None)

    def admit(self) -> list[str]:
        """Those that may run from now on. One that has to wait holds up nobody behind it but those who would write in
        the same directory."""
        admitted: list[str] = []
        written = {wish.writes for wish in self._running.values() if wish.writes}
        for wish in list(self._waiting.values()):
            if self._has_room(wish.swarm) and wish.writes not in written:
                del self._waiting[wish.worker]
                self._running[wish.worker] = wish
                admitted.append(wish.worker)
            if wish.writes:  # it waits, or writes: the next one comes after it
                written.add(wish.writes)
        return admitted

    def why_waiting(self, worker: str) -> str:
        wish = self._waiting.get(worker)
        if wish is None:
            return ""
        if wish.writes and any(other.writes == wish.writes for other in self._running.values()):
            return f"another worker writes in {wish.writes}"
        return "queued"

    def _has_room(self, swarm: str) -> bool:
        if own := self.most_of.get(swarm, 0):
            return sum(wish.swarm == swarm for wish in self._running.values()) < own
        shared = sum(not self.most_of.get(wish.swarm, 0) for wish in self._running.values())
        return shared < self.most
