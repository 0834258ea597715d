"""JSON file with a lock: read each time, changed with ``edit()``, written atomically (0600).
Several processes may share a file, so nothing is cached. A damaged file is a ConfigError and is never overwritten."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from zot.errors import ConfigError
from zot.system.files import decode_object, encode_pretty, locked, read_bytes, write_atomic

T = TypeVar("T")


class JsonStore(Generic[T]):
    """The file is one value of ``type``, or ``type()`` if missing. ``advice`` ends the error about a damaged file."""

    mode = 0o600
    skip_unchanged = True

    def __init__(self, path: Path, type: type[T], advice: str = "") -> None:
        self.path = path
        self._type = type
        self._advice = advice

    @property
    def target(self) -> Path:
        return self.path

    def load(self) -> T:
        data = read_bytes(self.path)
        return self._type() if data is None else self.decode(data)

    def load_to_edit(self) -> T:
        return self.load()

    @contextmanager
    def edit(self) -> Generator[T]:
        """The content, to be changed in the block under the lock; written if the block succeeds. Raises OSError."""
        with locked(self.target):
            content = self.load_to_edit()
            before = self.encode(content)
            yield content
            encoded = self.encode(content)
            if encoded != before or not self.skip_unchanged:
                self.write(encoded)

    def decode(self, data: bytes) -> T:
        try:
            return msgspec.json.decode(data, type=self._type)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise ConfigError(f"{self.path}: {error}; {self._advice}") from error

    def encode(self, content: T) -> bytes:
        return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"

    def write(self, data: bytes) -> None:
        write_atomic(self.target, data, self.mode)


class JsonObjectStore(JsonStore[dict[str, Any]]):
    """An object with any keys. A link into a dotfiles directory stays one. A failed write is a ConfigError."""

    def __init__(self, path: Path, advice: str = "") -> None:
        super().__init__(path, dict[str, Any], advice)

    @property
    def target(self) -> Path:
        return Path(os.path.realpath(self.path))

    @contextmanager
    def edit(self) -> Generator[dict[str, Any]]:
        try:
            with super().edit() as content:
                yield content
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot write: {error.strerror or error}") from error

    def decode(self, data: bytes) -> dict[str, Any]:
        try:
            return decode_object(self.path, data)
        except ConfigError as error:
            raise ConfigError(f"{error}; {self._advice}" if self._advice else str(error)) from error

    def encode(self, content: dict[str, Any]) -> bytes:
        return encode_pretty(content)


class JsonCache(JsonStore[T]):
    """A file that can be rebuilt: a damaged or unreadable one counts as missing; written compactly."""

    def load(self) -> T:
        try:
            return super().load()
        except ConfigError:
            return self._type()

    def encode(self, content: T) -> bytes:
        return msgspec.json.encode(content)
