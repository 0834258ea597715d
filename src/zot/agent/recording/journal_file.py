"""Private files of JSON lines that grow while zot runs: traces, line by line, and recordings, some lines at a time.

Mode 0600; a full disk ends the file, never the run, and is reported once. What zot knows to be a secret is taken out of
every line before it is written.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from zot.errors import UsageError
from zot.system.opening import open_to_replace
from zot.system.sealed_lines import sealed

_SHORTEST_SECRET = 8  # shorter values would blot out ordinary words
_BLOT = b"[removed]"
_MOST_WAITING = 1024  # lines
_LATEST_S = 0.25


class JournalFile:
    """``on_failure`` hears, once, why nothing more is written; ``secrets`` never reach the file."""

    def __init__(self, path: Path, flag: str, on_failure: Callable[[str], None], secrets: Collection[str] = ()) -> None:
        self.started = time.monotonic()
        self._name = f"{flag} {path}"
        self._on_failure = on_failure
        self._secrets = spellings(secrets)
        try:
            self._fd: int | None = open_to_replace(path)
        except OSError as error:
            raise UsageError(f"{self._name}: {error.strerror or error}") from error

    def now(self) -> float:
        """Seconds since the file was begun."""
        return round(time.monotonic() - self.started, 6)

    def write(self, line: bytes) -> None:
        self.write_data(self.without_secrets(line) + b"\n")

    def without_secrets(self, line: bytes) -> bytes:
        for secret in self._secrets:
            line = line.replace(secret, _BLOT)
        return line

    def write_data(self, data: bytes) -> None:
        """What is in ``data`` already is as it shall be."""
        if self._fd is None:
            return
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            self.close()
            self._on_failure(f"{self._name}: {error.strerror or error}; nothing more is written to it")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Journal:
    """A recording being written: sealed lines, made and written when the agent waits for something else."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._sum = ""
        self._waiting: list[tuple[str, float, dict[str, Any]]] = []
        self._planned: asyncio.TimerHandle | None = None

    def now(self) -> float:
        return self._file.now()

    def put(self, type: str, fields: dict[str, Any]) -> None:
        self._waiting.append((type, self._file.now(), fields))
        if len(self._waiting) >= _MOST_WAITING:
            self.flush()
        elif self._planned is None:
            with suppress(RuntimeError):  # in another thread: the next line of the agent's own takes it along
                self._planned = asyncio.get_running_loop().call_later(_LATEST_S, self.flush)

    def flush_soon(self) -> None:
        """As the next thing the loop does: whoever calls is about to wait."""
        asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None
        waiting, self._waiting = self._waiting, []
        lines: list[bytes] = []
        for type, t, fields in waiting:
            body = self._file.without_secrets(encoded(type, t, fields))
            line, self._sum = sealed(body, self._sum)
            lines.append(line)
        if lines:
            lines.append(b"")
            self._file.write_data(b"\n".join(lines))

    def close(self) -> None:
        self.flush()
        self._file.close()


def spellings(secrets: Collection[str]) -> list[bytes]:
    """Each secret as it is, and as it stands in JSON."""
    found = {
        spelt for value in secrets if len(value) >= _SHORTEST_SECRET for spelt in (value, _in_json(value)) if spelt
    }
    return [value.encode() for value in sorted(found, key=len, reverse=True)]


def encoded(type: str, t: float, fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": type, "t": t, **fields}, enc_hook=plain)


def plain(value: Any) -> Any:
    """What msgspec does not know: errors, paths, and whatever a tool put into its details."""
    if isinstance(value, BaseException):
        from zot.agent.recording.told_errors import fields_of  # few runs have one

        return fields_of(value)
    return str(value)


def _in_json(value: str) -> str:
    return msgspec.json.encode(value)[1:-1].decode()
