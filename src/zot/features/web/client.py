"""Fetches one address: checks it, follows redirects, limits size and time. Sends no cookies and no passwords."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import msgspec

from zot import __version__
from zot.errors import BadRequest, ProviderError, ToolError, TransportFailed
from zot.features.web.body import Decompressor
from zot.provider.http.message import HttpRequest
from zot.provider.http.route import Url, parse_url

if TYPE_CHECKING:
    from zot.features.web.addresses import AddressPolicy
    from zot.provider.http.pool import HttpPool, HttpResponse

MOST_BYTES = 10_000_000
MOST_REDIRECTS = 5
CONNECT_S = 10.0
SILENT_S = 15.0
_LONGEST_ADDRESS = 8_000
_REDIRECTS = (301, 302, 303, 307, 308)
_ACCEPT = "text/html, text/markdown, text/plain, application/json, application/pdf;q=0.9, */*;q=0.5"

Approve = Callable[[str], Awaitable[None]]


class Fetched(msgspec.Struct, frozen=True):
    """``addresses`` are all that were requested; the last one answered. ``is_cut``: more than the limit followed."""

    addresses: tuple[str, ...]
    status: int
    content_type: str
    data: bytes
    is_cut: bool = False


class WebClient:
    """``timeout`` is the limit of a whole fetch in seconds, redirects included."""

    def __init__(self, pool: HttpPool, policy: AddressPolicy, timeout: float) -> None:
        self._pool = pool
        self._policy = policy
        self._timeout = timeout

    async def fetch(self, address: str, approve: Approve) -> Fetched:
        """ToolError says why nothing was fetched. ``approve`` is asked before another host is requested."""
        visited: list[str] = []
        deadline = _Deadline(self._timeout)
        while True:
            visited.append(address)
            async with deadline:
                found = await self._request(address, visited)
            if isinstance(found, Fetched):
                return found
            check_redirect(visited, found)
            if not is_same_site(address, found):
                await approve(found)  # may wait for the user: its time does not count
            address = found

    async def post(self, request: HttpRequest) -> tuple[int, bytes]:
        """Send a request to an address that the user configured; its status and body."""
        async with _Deadline(self._timeout):
            try:
                response = await self._pool.dispatch(request, connect_timeout=CONNECT_S)
                return response.status, await response.read(MOST_BYTES)
            except ProviderError as error:
                raise ToolError(str(error)) from error

    async def _request(self, address: str, visited: list[str]) -> Fetched | str:
        """What was fetched, or the address of a redirect."""
        url = parse_address_of_page(address)
        try:
            response = await self._dispatch(url, address)
        except ProviderError as error:
            raise ToolError(f"{url.host}: {error}") from error
        try:
            location = response.headers.get("location", "")
            if response.status in _REDIRECTS and location:
                return _joined(address, location)
            data, is_cut = await _read(response)
        except ProviderError as error:
            raise ToolError(f"{url.host}: {error}") from error
        finally:
            response.abort()
        content_type = response.headers.get("content-type", "").partition(",")[0]
        return Fetched(tuple(visited), response.status, content_type, data, is_cut)

    async def _dispatch(self, url: Url, address: str) -> HttpResponse:
        """Connect to the addresses that were checked, one after the other."""
        proxied = self._pool.proxy_of(url) is not None
        found = await self._policy.addresses(url.host, url.port, proxied=proxied)
        request = HttpRequest("GET", address.partition("#")[0], _headers(), b"")
        failure: TransportFailed | None = None
        for each in found if not proxied else [""]:
            try:
                async with asyncio.timeout(SILENT_S):
                    return await self._pool.dispatch(request, connect_timeout=CONNECT_S, address=each)
            except TimeoutError as error:
                raise ToolError(f"{url.host}: no answer within {SILENT_S:g} s") from error
            except TransportFailed as error:
                failure = error
        raise failure or TransportFailed(f"no such host: {url.host}")


def _headers() -> list[tuple[str, str]]:
    agent = f"Mozilla/5.0 (compatible; zot/{__version__})"
    return [("user-agent", agent), ("accept", _ACCEPT), ("accept-encoding", "gzip, deflate")]


async def _read(response: HttpResponse) -> tuple[bytes, bool]:
    """The decompressed body up to the limit, and whether more followed."""
    decompressor = Decompressor(response.headers.get("content-encoding", ""))
    pieces: list[bytes] = []
    size = received = 0
    while size <= MOST_BYTES and received <= MOST_BYTES:
        try:
            async with asyncio.timeout(SILENT_S):
                data = await response.more()
        except TimeoutError as error:
            raise ToolError(f"the server stopped sending for {SILENT_S:g} s, after {received:,} bytes") from error
        if not data:
            return b"".join(pieces), False
        received += len(data)
        pieces.append(decompressor.feed(data, MOST_BYTES + 1 - size))
        size += len(pieces[-1])
    return b"".join(pieces)[:MOST_BYTES], True


class _Deadline:
    """Limits the time of several blocks together; ToolError when it is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds
        self._entered = 0.0
        self._timeout: asyncio.Timeout | None = None

    async def __aenter__(self) -> None:
        self._entered = asyncio.get_running_loop().time()
        self._timeout = asyncio.timeout(max(self._left, 0.001))
        await self._timeout.__aenter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        assert self._timeout is not None
        self._left -= asyncio.get_running_loop().time() - self._entered
        try:
            await self._timeout.__aexit__(kind, error, None)
        except TimeoutError as late:
            text = f"not complete within {self._seconds:g} s (web_timeout_s in config.json)"
            raise ToolError(text) from late


def parse_address_of_page(address: str) -> Url:
    """ToolError for an address that is no usable http or https one."""
    if len(address) > _LONGEST_ADDRESS:
        raise ToolError(f"the address has {len(address):,} characters; at most {_LONGEST_ADDRESS:,} are sent")
    try:
        url = parse_url(address)
    except BadRequest as error:
        raise ToolError(f"{error}; expected https://HOST/PATH") from error
    if url.userinfo:
        raise ToolError("the address contains a user or password, which web_fetch does not send; remove it")
    return url


def host_of(address: str) -> str:
    """For permissions and rows; empty if the address is not usable."""
    try:
        return parse_address_of_page(address).host.rstrip(".")
    except ToolError:
        return ""


def is_same_site(address: str, other: str) -> bool:
    """The same host and, unless it becomes https, the same scheme and port."""
    a, b = parse_address_of_page(address), parse_address_of_page(other)
    if a.host.removeprefix("www.") != b.host.removeprefix("www."):
        return False
    return (a.scheme, a.port) == (b.scheme, b.port) or (a.scheme, a.port, b.scheme, b.port) == (
        "http",
        80,
        "https",
        443,
    )


def check_redirect(visited: list[str], found: str) -> None:
    if found in visited:
        raise ToolError(f"the server redirects in a circle: {' -> '.join(_shown(each) for each in (*visited, found))}")
    if len(visited) > MOST_REDIRECTS:
        raise ToolError(f"more than {MOST_REDIRECTS} redirects, the last one to {_shown(found)}")
    parse_address_of_page(found)


def _shown(address: str) -> str:
    return address if len(address) <= 120 else f"{address[:120]}…"


def _joined(address: str, location: str) -> str:
    """The target of a redirect; a server may send UTF-8."""
    with suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    try:
        return urljoin(address, location.strip())
    except ValueError as error:
        raise ToolError(f"the server redirects to an unusable address: {location[:120]!r}") from error
