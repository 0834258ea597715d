"""Reservations of parallel requests against the daily limit: rows in the ledger, under its lock.
Those of ended processes do not count."""

from __future__ import annotations

import asyncio
import os
import time
from typing import NamedTuple

import msgspec

from zot.features.budget.ledger import LARGEST, Ledger, today, write_row
from zot.features.budget.output_limit import CostRange
from zot.system.files import try_lock
from zot.system.process_table import is_running, started
from zot.system.safe_open import TooLarge

LOCK_WAIT_S = 5.0


class Reservation(msgspec.Struct, frozen=True, tag="hold"):
    """The most a running request may cost, and its input alone; ``born`` distinguishes its process from a later one."""

    id: str
    usd: float
    pid: int
    born: int
    input: float = 0.0


class ReservationRelease(msgspec.Struct, frozen=True, tag="release"):
    """The request ended; its cost has its own row."""

    id: str


class ReserveResult(NamedTuple):
    """``id`` is empty if nothing was reserved. ``taken`` is spent, with the input of running requests. ``is_busy``:
    those hold the rest, and may release it."""

    id: str
    taken: float
    usd: float = 0.0
    is_busy: bool = False


class _Row(msgspec.Struct):
    """Fields needed for sums; the decoder skips others."""

    type: str = ""
    usd: float = 0.0
    id: str = ""
    pid: int = 0
    born: int = 0
    input: float = 0.0


_decode = msgspec.json.Decoder(_Row).decode


class Reservations:
    """Reservations on one home's ledger. Caches the sums of the current day and reads only new rows."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._sums = _Sums("")
        self._born = 0

    def spent_today(self) -> float:
        """Spending of all runs today without reservations; raises OSError."""
        fd = self._ledger.open(day := today())
        try:
            return self._read(fd, day).spent
        finally:
            os.close(fd)

    async def reserve(self, costs: CostRange, limit: float) -> ReserveResult:
        """Reserve a part of today's rest for a request. Raises OSError."""
        fd = self._ledger.open(day := today())
        try:
            # normally held for milliseconds; TimeoutError if a holder is stopped
            until = time.monotonic() + LOCK_WAIT_S
            while not try_lock(fd):
                if time.monotonic() > until:
                    raise TimeoutError("locked by another process")
                await asyncio.sleep(0.002)
            sums = self._read(fd, day)
            taken, most = sums.taken()
            if taken >= limit or taken + costs.least > limit:
                return ReserveResult("", taken)
            usd = costs.share(limit - most, parallel=most > sums.spent)
            if usd <= 0:
                return ReserveResult("", taken, is_busy=True)
            self._born = self._born or started(os.getpid())
            hold = Reservation(os.urandom(8).hex(), usd, os.getpid(), self._born, costs.sure)
            write_row(fd, hold)
            return ReserveResult(hold.id, taken, usd)
        finally:
            os.close(fd)  # releases the lock

    def release(self, id: str) -> None:
        """The request ended; raises OSError."""
        self._ledger.append(ReservationRelease(id))

    def _read(self, fd: int, day: str) -> _Sums:
        if self._sums.day != day:
            self._sums = _Sums(day)
        self._sums.read(fd)
        return self._sums


class _Sums:
    """Sums of a day so far. Only whole rows are read; a replaced file is read from its beginning."""

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
            return  # torn by a full disk
        if row.type == "spent":
            self.spent += max(row.usd, 0.0)
        elif row.type == "hold":
            self._holds[row.id] = row
        elif row.type == "release":
            self._holds.pop(row.id, None)

    def taken(self) -> tuple[float, float]:
        """The spent amount with the running requests: their input, and the most they may cost."""
        gone = [hold.id for hold in self._holds.values() if not is_running(hold.pid, hold.born)]
        for id in gone:
            del self._holds[id]
        holds = self._holds.values()
        return self.spent + sum(hold.input for hold in holds), self.spent + sum(hold.usd for hold in holds)
