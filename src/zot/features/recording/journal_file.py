"""Private files (0600) of JSON lines that grow while zot runs: traces and recordings.
Known secrets are removed from every line; a full disk ends the file, never the run."""

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

_SHORTEST_SECRET = 8  # shorter values would redact ordinary words
_BLOT = b"[removed]"
_MOST_WAITING = 1024  # lines
_LATEST_S = 0.1

_Waiting = tuple[str, float, dict[str, Any]]  # type, time and data of a line


class JournalFile:
    """``on_failure`` is called once if writing fails; ``secrets`` never reach the file."""

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
        """Seconds since the file was opened."""
        return round(monotonic() - self.started, 6)

    def write(self, line: bytes) -> None:
        self.write_data(self.without_secrets(line) + b"\n")

    def without_secrets(self, line: bytes) -> bytes:
        for secret in self._secrets:
            line = line.replace(secret, _BLOT)
        return line

    def write_data(self, data: bytes) -> None:
        """``data`` is already encoded and redacted."""
        if self._fd is None:
            return
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            self.close()
            self.on_failure(f"{self._name}: {error.strerror or error}; recording stopped")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class RecordingWriter:
    """A recording being written: lines are encoded, redacted and written in batches.
    A batch is written when the agent begins to wait, at the latest after 0.1 s unless the loop is busy."""

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
        """The caller is about to wait: write in the next turn of the loop."""
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
        with suppress(RuntimeError):  # called from another thread: written with the next line of the agent
            asyncio.get_running_loop().call_later(_LATEST_S, self._tick)
            self._planned = True

    def _tick(self) -> None:
        """One timer while there are lines; one per batch would cost more."""
        self._planned = False
        if self._waiting:
            self.flush()
            self._plan()


def _encoded_or_named(line: dict[str, Any]) -> bytes:
    """A line that JSON cannot encode is replaced by its name, so that no other is lost."""
    try:
        return _encoder.encode_lines([line])
    except Exception as error:
        return _encoder.encode_lines([{"type": line["type"], "t": line["t"], "lost": type(error).__name__}])


def spellings(secrets: Collection[str]) -> list[bytes]:
    """Each secret as it is and as JSON escapes it; lines have no unescaped line breaks."""
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
    """Encodes other objects: errors, paths and details of tools."""
    if isinstance(value, BaseException):
        return fields_of(value)
    return str(value)


_encoder = msgspec.json.Encoder(enc_hook=plain)


# --- errors as data and back: a replay needs an error's class and fields

_PROVIDER_FIELDS = ("provider", "status", "code", "body", "retryable")


def fields_of(error: BaseException) -> dict[str, Any]:
    """Its class name, text and fields that callers may check."""
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
    """An error of the same class, or of a stand-in with the same name."""
    kind, text = str(fields.get("kind", "")), str(fields.get("text", ""))
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, ProviderError):
        return known(text, **{name: fields[name] for name in _PROVIDER_FIELDS if name in fields})
    if isinstance(known, type) and issubclass(known, ZotError):
        return known(text)
    if fields.get("errno"):
        return OSError(fields["errno"], fields.get("strerror"), fields.get("filename"))
    return type(kind or "Exception", (Exception,), {})(text)
