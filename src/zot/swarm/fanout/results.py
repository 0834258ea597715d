"""The results of a fan-out: a file with one line of JSON for each item, on disk as soon as the item is finished.

An item is in it once. What a killed zot was just writing is dropped by the next one, and items that failed are taken
out when they are tried again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from zot.errors import ZotError, in_words
from zot.system.files import write_atomic
from zot.system.safe_open import open_to_append, read_whole

_LARGEST = 1 << 30


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``value`` is what a schema asked for; ``files`` how many files its worker changed on ``branch``."""

    item: str
    status: Literal["done", "failed"]
    answer: str = ""
    value: Any = None
    error: str = ""
    worker: str = ""
    branch: str = ""
    files: int = 0
    tries: int = 1
    seconds: float = 0.0
    cost: float = 0.0


class Results:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Result] = {}

    def begin(self, *, again: bool) -> None:
        """A new file; or with ``again`` one that is there, without what failed."""
        if not again:
            if os.path.lexists(self.path):
                raise ZotError(f"{self.path} is there already; --resume goes on with it, --output names another file")
            write_atomic(self.path, b"")
            return
        self._read()
        self.rows = {item: row for item, row in self.rows.items() if row.status == "done"}
        write_atomic(self.path, b"".join(msgspec.json.encode(row) + b"\n" for row in self.rows.values()))

    def _read(self) -> None:
        try:
            lines = read_whole(self.path, _LARGEST).split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise ZotError(f"the results cannot be read: {in_words(error)}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = msgspec.json.decode(line, type=Result)
            except (msgspec.MsgspecError, UnicodeError) as error:
                if number == len(lines):  # it was being written
                    continue
                raise ZotError(f"{self.path}, line {number}: {error}; mend it, or name another --output") from error
            self.rows.setdefault(row.item, row)

    def add(self, row: Result) -> None:
        """On disk when this returns; an item that is there is not added again."""
        if row.item in self.rows:
            return
        try:
            fd = open_to_append(self.path)
            try:
                os.write(fd, msgspec.json.encode(row) + b"\n")
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise ZotError(f"the results cannot be written: {in_words(error)}; --resume goes on") from error
        self.rows[row.item] = row
