"""Signing requests with a stored login that stays fresh: a minute before it ends, and once after a server refused it.

A refresh that fails does not end a run by itself: the old token is tried, because clocks and lifetimes are not always
right, and the reason is told with the server's refusal.
"""

from __future__ import annotations

import time

import msgspec

from zot.errors import AuthFailed, ConfigError, NotLoggedIn
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.credential_lookup import Credential
from zot.provider.auth.oauth.refresh import refreshed
from zot.provider.dialects.dialect import Endpoint
from zot.provider.providers import Provider

_TRY_AGAIN_S = 10.0  # a token endpoint that just failed is left alone for so long


class LoginSigner:
    """A ``Renewal`` for one client. The account is the one it began with, whichever is chosen elsewhere meanwhile."""

    def __init__(self, store: AuthStore, provider: Provider, credential: Credential, *, proxy: str = "") -> None:
        self._store, self._provider, self._account, self._proxy = store, provider, credential.account, proxy
        self._expiry = OAuthToken(access_token="", expiry=credential.expiry)
        self._problem: Exception | None = None
        self._failed_at = float("-inf")

    async def fresh(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint for the next request; as it was while its token lives on, or cannot be refreshed."""
        if not self._expiry.expired(time.time()) or self._just_failed:
            return endpoint
        return await self._refreshed(endpoint) or endpoint

    async def renewed(self, endpoint: Endpoint, refusal: AuthFailed) -> Endpoint | None:
        """Another try after ``refusal``; None when there is none, and the refusal says why."""
        again = None if self._just_failed else await self._refreshed(endpoint, refused=endpoint.api_key)
        if again is None or again.api_key == endpoint.api_key:
            reason = f"; {self._problem}" if self._problem else "; log in again with /login"
            refusal.args = (f"{refusal}{reason}",)
            return None
        return again

    @property
    def _just_failed(self) -> bool:
        return time.monotonic() - self._failed_at < _TRY_AGAIN_S

    async def _refreshed(self, endpoint: Endpoint, refused: str = "") -> Endpoint | None:
        try:
            token = await refreshed(
                self._store, self._provider, account=self._account, refused=refused, proxy=self._proxy
            )
        except (NotLoggedIn, ConfigError) as error:
            self._problem, self._failed_at = error, time.monotonic()
            return None
        self._problem, self._expiry = None, token
        return sign(endpoint, self._provider, token.access_token, token.account_id)


def sign(endpoint: Endpoint, provider: Provider, token: str, account_id: str) -> Endpoint:
    """The endpoint with this token, in the header its server wants it in."""
    signed = msgspec.structs.replace(endpoint, api_key=token, account_id=account_id)
    settings = provider.oauth
    if endpoint.oauth or settings is None:  # a vendor's own subscription: its dialect knows
        return signed
    name, value = settings.signature(token)
    as_usual = value == (f"Bearer {token}" if name == "authorization" else token)
    headers = endpoint.headers if as_usual else {**endpoint.headers, name: value}
    return msgspec.structs.replace(signed, key_header=name, headers=headers)
