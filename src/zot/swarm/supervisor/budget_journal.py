"""The journal of budgets: what was granted and what it came to, a line each, on disk before anybody may spend it.

The supervisor alone writes it, while it holds the lock that shows that it lives. Grown long, it is replaced as a whole
by its sum: the limits, what is settled, and each call that is granted and not settled. Whoever is killed meanwhile
leaves the old one or the new one, and both say the same. A line that cannot be read is kept as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.system.files import make_private_dir, write_atomic
from zot.system.safe_open import open_to_append, read_whole

MOST_LINES = 4096  # beyond what its sum would have
_LARGEST = 1 << 30


class BudgetLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="budget"):
    """The limits of a whole swarm; 0 is none."""

    swarm: str
    max_cost: float = 0.0
    max_steps: int = 0
    max_agents: int = 0
    timeout_s: float = 0.0


class Granted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="granted"):
    call: str
    swarm: str
    worker: str
    usd: float = 0.0


class Settled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="settled"):
    """``age`` is how long the swarm has been at work, in seconds."""

    call: str
    swarm: str
    usd: float = 0.0
    age: float = 0.0


class Summed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="summed"):
    """All that is settled of a swarm, instead of its lines. ``at`` is when it was last used, in seconds since 1970."""

    swarm: str
    usd: float = 0.0
    steps: int = 0
    age: float = 0.0
    at: float = 0.0


Entry = BudgetLimits | Granted | Settled | Summed
_decode = msgspec.json.Decoder(Entry).decode
_encode = msgspec.json.Encoder().encode


class BudgetJournal:
    """``sum`` says what the journal comes to; it is asked when there are too many lines."""

    def __init__(self, path: Path, sum: Callable[[], Iterable[Entry]]) -> None:
        self.path = path
        self._sum = sum
        self._damaged: list[bytes] = []
        self._lines = 0
        self._due = MOST_LINES

    @property
    def is_damaged(self) -> bool:
        return bool(self._damaged)

    def read(self) -> Iterable[Entry]:
        try:
            data = read_whole(self.path, _LARGEST)
        except FileNotFoundError:
            return
        for line in data.split(b"\n"):
            if not line:
                continue
            self._lines += 1
            try:
                yield _decode(line)
            except (msgspec.MsgspecError, UnicodeError):
                self._damaged.append(line)

    def append(self, entry: Entry) -> None:
        """On disk when this returns; OSError when it cannot be."""
        line = _encode(entry) + b"\n"
        make_private_dir(self.path.parent)
        fd = open_to_append(self.path)
        try:
            if os.write(fd, line) != len(line):
                os.write(fd, b"\n")
                raise OSError(28, os.strerror(28), str(self.path))
        finally:
            os.close(fd)
        self._lines += 1

    def shorten_if_long(self) -> None:
        """After a change has been taken over into what ``sum`` says."""
        if self._lines >= self._due:
            self.shorten()

    def shorten(self) -> None:
        """One that cannot be replaced stays as it is, and is tried again later."""
        lines = [*map(_encode, self._sum()), *self._damaged]
        with suppress(OSError):
            write_atomic(self.path, b"".join(line + b"\n" for line in lines))
            self._lines = len(lines)
        self._due = self._lines + MOST_LINES
