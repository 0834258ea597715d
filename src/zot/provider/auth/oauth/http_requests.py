"""Requests to an authorization server: returns a JSON object or raises LoginFailed.
Redirects are not followed because requests contain secrets. Errors show only the standard's fields, because bodies
of token endpoints contain tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import msgspec

from zot import __version__
from zot.errors import LoginFailed, ProviderError
from zot.provider.auth.oauth.settings import is_safe
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool, HttpResponse

TIMEOUT_S = 30.0
_BODY_LIMIT = 256 * 1024
_SHOWN = 200
REGION_CODES = ("unsupported_country_region_territory", "unsupported_region", "region_not_supported")
_PASSING = (408, 425, 429)  # and everything from 500


class JsonResponse(msgspec.Struct, frozen=True):
    """``fields`` is empty if the body was no JSON object; ``date`` is the server's clock, 0 if unknown."""

    status: int
    fields: dict[str, Any]
    date: float = 0

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


@asynccontextmanager
async def open_pool(pool: HttpPool | None) -> AsyncGenerator[HttpPool]:
    """The caller's pool, which stays open, or one for the block."""
    if pool is not None:
        yield pool
        return
    own = HttpPool()
    try:
        yield own
    finally:
        await own.aclose()


async def get(pool: HttpPool, url: str, what: str, headers: tuple[tuple[str, str], ...] = ()) -> JsonResponse:
    return await _ask(pool, HttpRequest("GET", _safe(url, what), _headers(headers), b""), what)


async def post(
    pool: HttpPool,
    url: str,
    what: str,
    fields: Mapping[str, str | list[str]],
    *,
    json: bool = False,
    headers: tuple[tuple[str, str], ...] = (),
) -> JsonResponse:
    """Any JSON answer of the server; ``refusal`` explains those that are not 2xx."""
    body = msgspec.json.encode(fields) if json else urlencode(fields, doseq=True).encode()
    kind = "application/json" if json else "application/x-www-form-urlencoded"
    request = HttpRequest("POST", _safe(url, what), _headers((("content-type", kind), *headers)), body)
    return await _ask(pool, request, what)


def error_from_response(answer: JsonResponse, what: str, sent: Mapping[str, Any]) -> LoginFailed:
    """The error of an answer that is not 2xx. ``sent`` values are removed from the text."""
    from zot.provider.secret_redaction import redact_text

    code, described = map(sanitize_server_text, _error_words(answer))
    secrets = [value for value in sent.values() if isinstance(value, str) and len(value) >= 8]
    words = redact_text(": ".join(part for part in (code, described) if part), secrets)
    passing = answer.status in _PASSING or answer.status >= 500 or not code or code in REGION_CODES
    passing = passing or code in ("temporarily_unavailable", "server_error")
    text = f"{what} answered http {answer.status}" + (f" ({words})" if words else "")
    if code in REGION_CODES:
        text += "; this service is not offered in your region"
    return LoginFailed(text, code=code, transient=passing)


def _error_words(answer: JsonResponse) -> tuple[str, str]:
    """Code and description, as in the standard or in an object ``error`` (OpenAI); GitHub has only a message."""
    inner: Any = answer.fields.get("error")
    if isinstance(inner, dict):
        found = cast("dict[str, Any]", inner)
        texts = [found.get("code") or found.get("type"), found.get("message")]
        return tuple(text if isinstance(text, str) else "" for text in texts)  # pyright: ignore[reportReturnType]
    return answer.text("error"), answer.text("error_description") or answer.text("message")


def sanitize_server_text(text: str) -> str:
    """A server's text: one line of printable characters, limited in length."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * _SHOWN]).strip()
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


def host_of(url: str) -> str:
    return sanitize_server_text(urlsplit(url).netloc.rpartition("@")[2]) or "an address without a host"


def _safe(url: str, what: str) -> str:
    """The address, if secrets may be sent there: it may come from a server's metadata."""
    if not is_safe(url):
        raise LoginFailed(f"{what} is at {sanitize_server_text(url)!r}: expected https, or http on this machine")
    return url


def _headers(own: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [("accept", "application/json"), ("user-agent", f"zot/{__version__}"), *own]


async def _ask(pool: HttpPool, request: HttpRequest, what: str) -> JsonResponse:
    place = f"{what} at {host_of(request.url)}"
    try:
        async with asyncio.timeout(TIMEOUT_S):
            response = await pool.dispatch(request, connect_timeout=TIMEOUT_S)
            body = await response.read(_BODY_LIMIT)
    except TimeoutError as error:
        raise LoginFailed(f"{place} did not answer within {TIMEOUT_S:g} s", transient=True) from error
    except ProviderError as error:
        raise LoginFailed(f"cannot reach {place}: {error}", transient=True) from error
    if 300 <= response.status < 400:
        to = host_of(response.headers.get("location", ""))
        raise LoginFailed(
            f"{place} redirects to {to}; secrets are not sent there: set the right address in the "
            "provider's oauth settings",
            transient=True,
        )
    return JsonResponse(response.status, _object(response, body, place), _date(response))


def _object(response: HttpResponse, body: bytes, place: str) -> dict[str, Any]:
    try:
        fields: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        return cast("dict[str, Any]", fields)
    if response.status >= 400 or not body:
        return {}
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    kind_of_answer = "a web page" if "html" in kind or body.lstrip()[:1] == b"<" else "something"
    raise LoginFailed(
        f"{place} answered with {kind_of_answer} instead of a JSON object; a proxy or a sign-in page of the network "
        "may be in between",
        transient=True,
    )


def _date(response: HttpResponse) -> float:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0
