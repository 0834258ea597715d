"""Cost ledger: one append-only JSONL file per local day in ``$ZOT_HOME/spend``, deleted after a year."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.provider.messages import Usage, utc_now
from zot.system.files import make_private_dir
from zot.system.safe_open import open_to_append, read_whole

KEPT_DAYS = 400
LARGEST = 256 << 20
_SUFFIX = ".jsonl"


class LedgerEntry(msgspec.Struct, frozen=True, tag="spent", omit_defaults=True):
    """One paid model call. ``cwd`` is empty for a conversation without a session."""

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
    role: str = ""

    @property
    def usage(self) -> Usage:
        return Usage(self.input, self.output, self.cache_read, self.cache_write, self.usd)


_encode = msgspec.json.Encoder().encode


def spent_row(usage: Usage, provider: str, model: str, session: str, cwd: str, role: str = "") -> LedgerEntry:
    return LedgerEntry(
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
        role,
    )


def today() -> str:
    return time.strftime("%Y-%m-%d")


class Ledger:
    """The ledger of one home. The current day's file stays open, since each model call adds a row."""

    def __init__(self, home: Path) -> None:
        self.root = home / "spend"
        self._day = ""
        self._pruned = ""
        self._fd = -1

    def prepare(self) -> None:
        """Open the file early; errors are left to ``append``."""
        with suppress(OSError):
            self._of_today()

    def append(self, row: msgspec.Struct) -> None:
        """Add a row to the current day; raises OSError."""
        write_row(self._of_today(), row)

    def _of_today(self) -> int:
        day = today()
        if self._fd < 0 or self._day != day or os.fstat(self._fd).st_nlink == 0:
            self.close()
            self._fd, self._day = self.open(day), day
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def open(self, day: str) -> int:
        path = self.root / f"{day}{_SUFFIX}"
        try:
            return open_to_append(path, os.O_RDWR)
        except FileNotFoundError:
            make_private_dir(self.root)
            return open_to_append(path, os.O_RDWR)
        finally:
            if self._pruned != day:
                self._pruned = day
                prune(self.root)


def write_row(fd: int, row: msgspec.Struct) -> None:
    data = _encode(row) + b"\n"
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        data = b"\n" + data  # a torn row stays on its own line
    os.write(fd, data)


def days(root: Path) -> list[str]:
    try:
        names = os.listdir(root)
    except OSError:
        return []
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and len(name) == 16)


def spent_on(root: Path, day: str) -> list[LedgerEntry]:
    """The calls of a day; invalid rows are skipped. Raises OSError."""
    found: list[LedgerEntry] = []
    decode = msgspec.json.Decoder(LedgerEntry).decode
    for line in read_whole(root / f"{day}{_SUFFIX}", LARGEST).splitlines():
        if line.startswith(b'{"type":"spent"'):
            try:
                found.append(decode(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                continue
    return found


def prune(root: Path) -> None:
    """Delete days older than a year; errors are ignored."""
    oldest = time.strftime("%Y-%m-%d", time.localtime(time.time() - KEPT_DAYS * 86_400))
    for day in days(root):
        if day < oldest:
            (root / f"{day}{_SUFFIX}").unlink(missing_ok=True)
