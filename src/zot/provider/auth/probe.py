"""Is this key any good? One question before it is stored, where it will be used; the answer is an error or nothing."""

from __future__ import annotations

import asyncio

from zot import __version__
from zot.errors import AuthFailed, ProviderError, TransportFailed
from zot.provider.dialects.dialect import Endpoint, HttpRequest
from zot.provider.dialects.request_parts import address
from zot.provider.failures import failure
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider

_TIMEOUT_S = 15.0
_BODY_LIMIT = 64 * 1024
_MOONSHOT = "https://api.moonshot.ai/v1"
_NO_LIST = (404, 405)


async def probe_key(pool: HttpPool, provider: Provider, endpoint: Endpoint) -> None:
    """AuthFailed for a key that is refused, another ProviderError when nobody could be asked."""
    if not endpoint.api_key.strip():
        raise AuthFailed(f"{provider.id}: the key is empty", provider=provider.id)
    try:
        await _ask(pool, provider, endpoint, endpoint.base_url)
    except AuthFailed:
        # A key of the Moonshot platform is refused by Kimi's coding address.
        if provider.id != "kimi" or endpoint.base_url != provider.base_url:
            raise
        await _ask(pool, provider, endpoint, _MOONSHOT)


async def _ask(pool: HttpPool, provider: Provider, endpoint: Endpoint, base: str) -> None:
    own = {"accept": "application/json", "user-agent": f"zot/{__version__}"}
    if provider.api == "anthropic":
        own |= {"x-api-key": endpoint.api_key, "anthropic-version": "2023-06-01"}
    else:
        own |= {"authorization": f"Bearer {endpoint.api_key}"}
    headers = own | {name.lower(): value for name, value in provider.headers.items()}
    request = HttpRequest("GET", address(base, "models"), list(headers.items()), b"")
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await _check(pool, provider, endpoint, request)
    except TimeoutError as error:
        raise TransportFailed(f"{provider.id}: no answer within {_TIMEOUT_S:g} s", provider=provider.id) from error


async def _check(pool: HttpPool, provider: Provider, endpoint: Endpoint, request: HttpRequest) -> None:
    response = await pool.dispatch(request, insecure=endpoint.insecure, connect_timeout=_TIMEOUT_S)
    try:
        # A gateway of one's own may list no models; that says nothing about the key.
        unlisted = response.status in _NO_LIST and endpoint.base_url != provider.base_url
        if response.status >= 300 and not unlisted:
            body = await response.read(_BODY_LIMIT)
            raise failure(provider.id, response.status, response.headers, body, secret=endpoint.api_key)
    finally:
        response.abort()


def refusal(error: ProviderError) -> str:
    """What to tell the person who pasted the key."""
    if isinstance(error, AuthFailed) and error.status:
        return f"{error.provider} refused this key (http {error.status})"
    return str(error)
