"""Private files (0600) of JSON lines that grow while zot runs: traces and recordings. Known secrets are removed from
every line; a full disk ends the file, never the run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from zot import errors
from zot.errors import ProviderError, UsageError, ZotError
from zot.system.checksummed_lines import seal_all
from zot.system.safe_open import open_to_replace

_SHORTEST_SECRET = 8  # shorter values would blot out ordinary words
_BLOT = b"[removed]"
_MOST_WAITING = 1024  # lines
_LATEST_S = 0.1

_Waiting = tuple[str, float, dict[str, Any]]  # the type of a line, when it was, what it says


class JournalFile:
    """``on_failure`` hears, once, why nothing more is written; ``secrets`` never reach the file."""

    def __init__(self, path: Path, flag: str, on_failure: Callable[[str], None], secrets: Collection[str] = ()) -> None:
        self.started = monotonic()
        self._name = f"{flag} {path}"
        self.on_failure = on_failure
        self._secrets = spellings(secrets)
        try:
            self._fd: int | None = open_to_replace(path)
        except OSError as error:
            raise UsageError(f"{self._name}: {error.strerror or error}") from error

    def now(self) -> float:
        """Seconds since the file was begun."""
        return round(monotonic() - self.started, 6)

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
            self.on_failure(f"{self._name}: {error.strerror or error}; nothing more is written to it")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class RecordingWriter:
    """A recording being written: lines are kept as they are given, and made, sealed and written many at a time.

    Most of what a line costs is paid once for all of them, and the best moment is when the agent has begun to wait for
    somebody else. A line waits for a tenth of a second at most, unless the program is busy for longer without a pause.
    """

    def __init__(self, file: JournalFile) -> None:
        self.file = file
        self._sum = ""
        self._waiting: list[_Waiting] = []
        self._wait = self._waiting.append
        self._planned = False

    def now(self) -> float:
        return self.file.now()

    def put(self, type: str, fields: dict[str, Any]) -> None:
        self._wait((type, monotonic(), fields))
        if not self._planned:
            self._plan()
        elif len(self._waiting) >= _MOST_WAITING:
            self.flush()

    def flush_soon(self) -> None:
        """Whoever calls is about to wait for somebody else: write as the next thing the loop does."""
        asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        if self._waiting:
            waiting, started = self._waiting[:], self.file.started
            del self._waiting[: len(waiting)]
            lines = [{"type": type, "t": round(at - started, 6), **fields} for type, at, fields in waiting]
            try:
                encoded = _encoder.encode_lines(lines)
            except Exception:
                encoded = b"".join(map(_encoded_or_named, lines))
            data, self._sum = seal_all(self.file.without_secrets(encoded).split(b"\n")[:-1], self._sum)
            self.file.write_data(data)

    def close(self) -> None:
        self.flush()
        self.file.close()

    def _plan(self) -> None:
        with suppress(RuntimeError):  # in another thread: the next line of the agent's own takes it along
            asyncio.get_running_loop().call_later(_LATEST_S, self._tick)
            self._planned = True

    def _tick(self) -> None:
        """One clock for as long as there are lines: to set it anew for every batch would cost more than it is worth."""
        self._planned = False
        if self._waiting:
            self.flush()
            self._plan()


def _encoded_or_named(line: dict[str, Any]) -> bytes:
    """One that cannot be written in JSON is named, so that no other is lost with it."""
    try:
        return _encoder.encode_lines([line])
    except Exception as error:
        return _encoder.encode_lines([{"type": line["type"], "t": line["t"], "lost": type(error).__name__}])


def spellings(secrets: Collection[str]) -> list[bytes]:
    """Each secret as it is, and as it stands in JSON; a line has no line breaks that are not escaped."""
    found = {
        spelt
        for value in secrets
        if len(value) >= _SHORTEST_SECRET
        for spelt in (value, msgspec.json.encode(value)[1:-1].decode())
        if "\n" not in spelt
    }
    return [value.encode() for value in sorted(found, key=len, reverse=True)]


def encoded(type: str, t: float, fields: dict[str, Any]) -> bytes:
    return _encoder.encode({"type": type, "t": t, **fields})


def plain(value: Any) -> Any:
    """What msgspec does not know: errors, paths, and whatever a tool put into its details."""
    if isinstance(value, BaseException):
        return fields_of(value)
    return str(value)


_encoder = msgspec.json.Encoder(enc_hook=plain)


# --- errors as data and back: a replay depends on an error's class and fields

_PROVIDER_FIELDS = ("provider", "status", "code", "body", "retryable")


def fields_of(error: BaseException) -> dict[str, Any]:
    """Its class by name, its text, and what somebody may branch on."""
    fields: dict[str, Any] = {"kind": type(error).__name__, "text": str(error)}
    if isinstance(error, ProviderError):
        return fields | {name: getattr(error, name) for name in _PROVIDER_FIELDS}
    if isinstance(error, OSError):
        return fields | {
            "errno": error.errno,
            "strerror": error.strerror,
            "filename": None if error.filename is None else str(error.filename),
        }
    return fields


def error_of(fields: Mapping[str, Any]) -> Exception:
    """An error of the same class, or of one with the same name where it is not zot's own."""
    kind, text = str(fields.get("kind", "")), str(fields.get("text", ""))
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, ProviderError):
        return known(text, **{name: fields[name] for name in _PROVIDER_FIELDS if name in fields})
    if isinstance(known, type) and issubclass(known, ZotError):
        return known(text)
    if fields.get("errno"):
        return OSError(fields["errno"], fields.get("strerror"), fields.get("filename"))
    return type(kind or "Exception", (Exception,), {})(text)
