"""Is this key any good? One request to where it will be used, before it is stored; the answer is an error or None."""

from __future__ import annotations

import asyncio

import msgspec

from zot.errors import AuthFailed, ProviderError, TransportFailed
from zot.provider.dialects import dialect_for
from zot.provider.dialects.dialect import Endpoint
from zot.provider.error_mapping import failure
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider
from zot.provider.secret_redaction import redact

_TIMEOUT_S = 15.0
_BODY_LIMIT = 64 * 1024
_NO_LIST = (404, 405)


async def probe_key(pool: HttpPool, provider: Provider, endpoint: Endpoint) -> None:
    """AuthFailed for a key that is refused, another ProviderError when nobody could be asked."""
    if not endpoint.api_key.strip():
        raise AuthFailed(f"{provider.id}: the key is empty", provider=provider.id)
    gateway = endpoint.base_url != provider.base_url  # an address of the user's own
    try:
        await _ask(pool, provider, endpoint, may_lack_list=gateway)
    except AuthFailed:
        if gateway or not provider.other_key_url:
            raise
        await _ask(pool, provider, msgspec.structs.replace(endpoint, base_url=provider.other_key_url))


async def _ask(pool: HttpPool, provider: Provider, endpoint: Endpoint, *, may_lack_list: bool = False) -> None:
    """``may_lack_list``: a server without a model list says nothing about the key."""
    request = dialect_for(provider.api).probe_request(endpoint)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            response = await pool.dispatch(request, insecure=endpoint.insecure, connect_timeout=_TIMEOUT_S)
            try:
                if response.status >= 300 and not (may_lack_list and response.status in _NO_LIST):
                    body = await response.read(_BODY_LIMIT)
                    raise failure(provider.id, response.status, response.headers, body)
            finally:
                response.abort()
    except TimeoutError as error:
        raise TransportFailed(f"{provider.id}: no answer within {_TIMEOUT_S:g} s", provider=provider.id) from error
    except ProviderError as error:
        redact(error, endpoint)
        raise


def refusal(error: ProviderError) -> str:
    """What to tell the person who pasted the key, in the provider's own words."""
    if isinstance(error, AuthFailed) and error.status:
        words = str(error).removeprefix(f"{error.provider}: http {error.status}: ")
        said = "" if words == "(empty body)" else f": {words}"
        return f"{error.provider} refused this key (http {error.status}){said}"
    return str(error)
