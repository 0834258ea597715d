"""What all runs of this home spend, day by day: one file of JSON rows for each local day in ``$ZOT_HOME/spend``.

Rows are only ever added, each with one ``write``. Whoever holds a limit for the day reads what is new and adds a
reservation under the file's lock, so that processes side by side see each other's; one whose process is gone counts no
more. Days older than a year are deleted.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from zot.provider.messages import Usage, utc_now
from zot.system.files import make_private_dir, try_lock
from zot.system.opening import TooLarge, open_to_append, read_whole

KEPT_DAYS = 400
LARGEST = 256 << 20
LOCK_WAIT_S = 5.0
_SUFFIX = ".jsonl"


class Spent(msgspec.Struct, frozen=True, tag="spent", omit_defaults=True):
    """One model call that was paid for. ``cwd`` is empty where nothing is kept of a conversation."""

    at: str
    usd: float = 0.0
    provider: str = ""
    model: str = ""
    session: str = ""
    cwd: str = ""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def usage(self) -> Usage:
        return Usage(self.input, self.output, self.cache_read, self.cache_write, self.usd)


class Hold(msgspec.Struct, frozen=True, tag="hold"):
    """What a request that is being made will cost at least; ``born`` tells its process from a later one."""

    id: str
    usd: float
    pid: int
    born: int


class Release(msgspec.Struct, frozen=True, tag="release"):
    """The request is over; what it cost is in a row of its own."""

    id: str


class _Row(msgspec.Struct):
    """Only what a sum needs; the decoder skips the rest."""

    type: str = ""
    usd: float = 0.0
    id: str = ""
    pid: int = 0
    born: int = 0


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Row).decode


def spent_row(usage: Usage, provider: str, model: str, session: str, cwd: str) -> Spent:
    return Spent(
        utc_now(),
        usage.cost_usd,
        provider,
        model,
        session,
        cwd,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )


def today() -> str:
    """The day as the user's clock has it."""
    return time.strftime("%Y-%m-%d")


class Ledger:
    """One home's. Keeps the sums of the present day, and reads only what was added since."""

    def __init__(self, home: Path) -> None:
        self.root = home / "spend"
        self._sums = _Sums("")
        self._born = 0

    def append(self, row: Spent | Hold | Release) -> None:
        """Add a row to the present day; raises OSError."""
        fd = self._open(today())
        try:
            _write(fd, row)
        finally:
            os.close(fd)

    def spent_today(self) -> float:
        """What all runs have spent today, reservations aside; raises OSError."""
        fd = self._open(today())
        try:
            return self._read(fd).spent
        finally:
            os.close(fd)

    async def reserve(self, usd: float, limit: float) -> tuple[str, float]:
        """Claim ``usd`` of what is left for today: the reservation's id, empty when there is too little left, and what
        others have spent or claimed. Raises OSError when that cannot be known."""
        fd = self._open(today())
        try:
            await _lock(fd)
            taken = self._read(fd).taken()
            if taken >= limit or taken + usd > limit:
                return "", taken
            if not self._born:
                from zot.system.process_table import started  # most runs have no limit

                self._born = started(os.getpid())
            hold = Hold(os.urandom(8).hex(), usd, os.getpid(), self._born)
            _write(fd, hold)
            return hold.id, taken
        finally:
            os.close(fd)  # and with it the lock

    def _open(self, day: str) -> int:
        path = self.root / f"{day}{_SUFFIX}"
        try:
            return open_to_append(path, os.O_RDWR)
        except FileNotFoundError:
            make_private_dir(self.root)
            return open_to_append(path, os.O_RDWR)
        finally:
            if self._sums.day != day:
                self._sums = _Sums(day)
                prune(self.root)

    def _read(self, fd: int) -> _Sums:
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
        from zot.system.process_table import is_running  # most runs have no limit

        gone = [hold.id for hold in self._holds.values() if not is_running(hold.pid, hold.born)]
        for id in gone:
            del self._holds[id]
        return self.spent + sum(hold.usd for hold in self._holds.values())


def _write(fd: int, row: Spent | Hold | Release) -> None:
    data = _encode(row) + b"\n"
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        data = b"\n" + data  # a torn row stays alone
    os.write(fd, data)


async def _lock(fd: int) -> None:
    """Others hold it for a moment only; TimeoutError when one of them was stopped in it."""
    import asyncio  # whoever makes requests has it

    until = time.monotonic() + LOCK_WAIT_S
    while not try_lock(fd):
        if time.monotonic() > until:
            raise TimeoutError("another process holds the lock")
        await asyncio.sleep(0.002)


def days(root: Path) -> list[str]:
    """The days there are files of, oldest first."""
    try:
        names = os.listdir(root)
    except OSError:
        return []
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and len(name) == 16)


def spent_on(root: Path, day: str) -> list[Spent]:
    """The calls of a day; raises OSError. What is not one is passed over."""
    found: list[Spent] = []
    decode = msgspec.json.Decoder(Spent).decode
    for line in read_whole(root / f"{day}{_SUFFIX}", LARGEST).splitlines():
        if line.startswith(b'{"type":"spent"'):
            try:
                found.append(decode(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                continue
    return found


def prune(root: Path) -> None:
    """Delete the days nobody asks for any more; what cannot be deleted stays."""
    oldest = time.strftime("%Y-%m-%d", time.localtime(time.time() - KEPT_DAYS * 86_400))
    for day in days(root):
        if day < oldest:
            (root / f"{day}{_SUFFIX}").unlink(missing_ok=True)
