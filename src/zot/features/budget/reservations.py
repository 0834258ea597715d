"""Reservations of parallel requests against the daily limit: rows in the ledger, added under its lock. Those of ended
processes do not count."""

from __future__ import annotations

import asyncio
import os
import time

import msgspec

from zot.features.budget.ledger import LARGEST, Ledger, today, write_row
from zot.system.files import try_lock
from zot.system.process_table import is_running, started
from zot.system.safe_open import TooLarge

LOCK_WAIT_S = 5.0


class Reservation(msgspec.Struct, frozen=True, tag="hold"):
    """What a request that is being made will cost at least; ``born`` tells its process from a later one."""

    id: str
    usd: float
    pid: int
    born: int


class ReservationRelease(msgspec.Struct, frozen=True, tag="release"):
    """The request is over; what it cost is in a row of its own."""

    id: str


class _Row(msgspec.Struct):
    """Only what a sum needs; the decoder skips the rest."""

    type: str = ""
    usd: float = 0.0
    id: str = ""
    pid: int = 0
    born: int = 0


_decode = msgspec.json.Decoder(_Row).decode


class Reservations:
    """On one home's ledger. Keeps the sums of the present day, and reads only what was added since."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._sums = _Sums("")
        self._born = 0

    def spent_today(self) -> float:
        """What all runs have spent today, reservations aside; raises OSError."""
        fd = self._ledger.open(day := today())
        try:
            return self._read(fd, day).spent
        finally:
            os.close(fd)

    async def reserve(self, usd: float, limit: float) -> tuple[str, float]:
        """Reserve ``usd`` of today's rest: the id, empty if too little is left, and the amount used by others. Raises
        OSError."""
        fd = self._ledger.open(day := today())
        try:
            # others hold it for a moment only; TimeoutError when one of them was stopped in it
            until = time.monotonic() + LOCK_WAIT_S
            while not try_lock(fd):
                if time.monotonic() > until:
                    raise TimeoutError("another process holds the lock")
                await asyncio.sleep(0.002)
            taken = self._read(fd, day).taken()
            if taken >= limit or taken + usd > limit:
                return "", taken
            self._born = self._born or started(os.getpid())
            hold = Reservation(os.urandom(8).hex(), usd, os.getpid(), self._born)
            write_row(fd, hold)
            return hold.id, taken
        finally:
            os.close(fd)  # and with it the lock

    def release(self, id: str) -> None:
        """The request is over; raises OSError."""
        self._ledger.append(ReservationRelease(id))

    def _read(self, fd: int, day: str) -> _Sums:
        if self._sums.day != day:
            self._sums = _Sums(day)
        self._sums.read(fd)
        return self._sums


class _Sums:
    """A day's figures so far. Only whole rows are read; a file that was replaced is read from its beginning."""

    def __init__(self, day: str) -> None:
        self.day = day
        self.spent = 0.0
        self._holds: dict[str, _Row] = {}
        self._offset = 0
        self._file = 0

    def read(self, fd: int) -> None:
        stat = os.fstat(fd)
        if stat.st_size > LARGEST:
            raise TooLarge(f"the spending of {self.day}", LARGEST)
        if stat.st_ino != self._file or stat.st_size < self._offset:
            self.__init__(self.day)
            self._file = stat.st_ino
        data = b""
        while piece := os.pread(fd, stat.st_size - self._offset - len(data), self._offset + len(data)):
            data += piece
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._add(line)

    def _add(self, line: bytes) -> None:
        try:
            row = _decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return  # torn, when a disk was full
        if row.type == "spent":
            self.spent += max(row.usd, 0.0)
        elif row.type == "hold":
            self._holds[row.id] = row
        elif row.type == "release":
            self._holds.pop(row.id, None)

    def taken(self) -> float:
        """What is spent, and what processes that still run have claimed."""
        gone = [hold.id for hold in self._holds.values() if not is_running(hold.pid, hold.born)]
        for id in gone:
            del self._holds[id]
        return self.spent + sum(hold.usd for hold in self._holds.values())
