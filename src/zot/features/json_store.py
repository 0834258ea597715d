"""A private JSON file that is one struct: read anew for each question, changed under a lock, written when it differs.

Several processes may share one, so nothing of it is kept in memory. A file that cannot be used is a ConfigError and is
never overwritten.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from zot.errors import ConfigError
from zot.system.files import locked, read_bytes, write_atomic

T = TypeVar("T", bound=msgspec.Struct)


class StructFile(Generic[T]):
    """``advice`` ends the error about a file that is damaged: what to do, and what that loses."""

    def __init__(self, path: Path, type: type[T], advice: str) -> None:
        self.path = path
        self._type = type
        self._advice = advice

    def load(self) -> T:
        """What it says; what an empty one would say when there is none."""
        data = read_bytes(self.path)
        try:
            return self._type() if data is None else msgspec.json.decode(data, type=self._type)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ConfigError(f"{self.path}: {error}; {self._advice}") from error

    @contextmanager
    def changing(self) -> Generator[T]:
        """What it says, to be changed in the block. OSError when it cannot be written."""
        with locked(self.path):
            content = self.load()
            before = msgspec.json.encode(content)
            yield content
            encoded = msgspec.json.encode(content)
            if encoded != before:
                write_atomic(self.path, msgspec.json.format(encoded, indent=2) + b"\n")
