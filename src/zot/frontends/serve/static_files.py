"""The files of the page: a fixed list from this package, nothing else of the disk is served.
A file is read once and kept compressed, until it changes."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

import msgspec

from zot.frontends.serve.answers import answer
from zot.provider.http.incoming import IncomingRequest
from zot.system.safe_open import read_whole

DIRECTORY = Path(__file__).parent / "page"
_TEXT = "; charset=utf-8"
FILES: dict[str, tuple[str, str]] = {
    "/": ("page.html", "text/html" + _TEXT),
    "/page.js": ("page.js", "text/javascript" + _TEXT),
    "/page.css": ("page.css", "text/css" + _TEXT),
    "/worker.js": ("worker.js", "text/javascript" + _TEXT),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/icon-192.png": ("icon-192.png", "image/png"),
    "/manifest.webmanifest": ("manifest.webmanifest", "application/manifest+json"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_LARGEST = 4 * 1024 * 1024
_WITHOUT_PAGE = """\
This is zot serve, the server of the zot coding agent on this machine.

This installation has no page. Programs join a conversation at /rpc (WebSocket) with the key of a device, which they get
once for the token in the address that `zot serve` prints. `zot docs serve` describes it.
"""


class _Kept(msgspec.Struct, frozen=True):
    stamp: tuple[int, int]
    tag: str
    packed: bytes


class StaticFiles:
    def __init__(self, directory: Path = DIRECTORY) -> None:
        self._directory = directory
        self._kept: dict[str, _Kept] = {}

    def answer(self, request: IncomingRequest) -> bytes | None:
        """For a path of the list; None if the file does not exist. Blocks while it reads: for a thread."""
        name, kind = FILES[request.path]
        try:
            kept = self._current(name)
        except FileNotFoundError:
            return answer(200, _WITHOUT_PAGE.encode(), "text/plain; charset=utf-8") if request.path == "/" else None
        headers = {"ETag": kept.tag, "Vary": "Accept-Encoding"}
        if kept.tag in [word.strip().removeprefix("W/") for word in _listed(request, "if-none-match")]:
            return answer(304, policy=POLICY, cache="no-cache", headers=headers)
        if "gzip" in [word.partition(";")[0].strip().lower() for word in _listed(request, "accept-encoding")]:
            headers["Content-Encoding"] = "gzip"
            return answer(200, kept.packed, kind, policy=POLICY, cache="no-cache", headers=headers)
        return answer(200, gzip.decompress(kept.packed), kind, policy=POLICY, cache="no-cache", headers=headers)

    def _current(self, name: str) -> _Kept:
        path = self._directory / name
        found = path.stat()
        stamp = found.st_mtime_ns, found.st_size
        kept = self._kept.get(name)
        if kept is None or kept.stamp != stamp:
            data = read_whole(path, _LARGEST)
            kept = self._kept[name] = _Kept(stamp, f'"{sha256(data).hexdigest()[:32]}"', gzip.compress(data, mtime=0))
        return kept


def _listed(request: IncomingRequest, header: str) -> list[str]:
    return request.headers.get(header, "").split(",")
