"""Is this key any good? One question to the provider before the key is stored; the answer is an error or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from zot import __version__
from zot.errors import AuthFailed, ProviderError, TransportFailed
from zot.provider.dialect import HttpRequest
from zot.provider.failures import failure
from zot.provider.http import HttpPool
from zot.provider.providers import Provider, base_url_of
from zot.provider.wire import address

_TIMEOUT_S = 15.0
_BODY_LIMIT = 64 * 1024
_MOONSHOT = "https://api.moonshot.ai/v1"


async def probe_key(pool: HttpPool, provider: Provider, key: str, environ: Mapping[str, str]) -> None:
    """AuthFailed for a key the provider refuses, another ProviderError when it could not be asked."""
    if not key.strip():
        raise AuthFailed(f"{provider.id}: the key is empty", provider=provider.id)
    base = base_url_of(provider, environ)
    try:
        await _ask(pool, provider, base, key)
    except AuthFailed:
        # A key of the Moonshot platform is refused by Kimi's coding address.
        if provider.id != "kimi" or base != provider.base_url:
            raise
        await _ask(pool, provider, _MOONSHOT, key)


async def _ask(pool: HttpPool, provider: Provider, base: str, key: str) -> None:
    own = {"accept": "application/json", "user-agent": f"zot/{__version__}"}
    if provider.api == "anthropic":
        own |= {"x-api-key": key, "anthropic-version": "2023-06-01"}
    else:
        own |= {"authorization": f"Bearer {key}"}
    headers = own | {name.lower(): value for name, value in provider.headers.items()}
    request = HttpRequest("GET", address(base, "models"), list(headers.items()), b"")
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await _check(pool, provider, request, key)
    except TimeoutError as error:
        raise TransportFailed(f"{provider.id}: no answer within {_TIMEOUT_S:g} s", provider=provider.id) from error


async def _check(pool: HttpPool, provider: Provider, request: HttpRequest, key: str) -> None:
    response = await pool.send(request, connect_timeout=_TIMEOUT_S)
    try:
        if response.status >= 300:
            body = await response.read(_BODY_LIMIT)
            raise failure(provider.id, response.status, response.headers, body, secret=key)
    finally:
        response.abort()


def refusal(error: ProviderError) -> str:
    """What to tell the person who pasted the key."""
    if isinstance(error, AuthFailed) and error.status:
        return f"{error.provider} refused this key (http {error.status})"
    return str(error)
