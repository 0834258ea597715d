"""Refreshes stored logins, once among all processes, and signs requests with them.
Servers that rotate refresh tokens accept each only once, so the exchange holds the login's lock and runs in its own
process (``refresh_process``), which stores the answer even if zot is killed. Nothing here removes a login."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec

from zot.errors import AuthFailed, ConfigError, LoginFailed, NotLoggedIn
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.credential_lookup import Credential
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.dialects.dialect import Endpoint
from zot.provider.providers import Provider
from zot.system.files import make_private_dir, try_lock
from zot.system.safe_open import open_to_append

_WAIT_S = 60.0  # for another process that refreshes; longer than one exchange
_LOOK_S = 0.05
LOG_IN_AGAIN = "log in again with `zot auth login` or /login"


async def fresh_token(
    store: AuthStore,
    provider: Provider,
    *,
    account: str = "",
    force: bool = False,
    refused: str = "",
    proxy: str = "",
) -> OAuthToken:
    """The stored token, refreshed if it expires within a minute or with ``force``.
    ``refused`` is an access token that a server rejected. NotLoggedIn if nothing is stored; LoginFailed (maybe
    ``transient``) if the refresh fails."""
    settings = provider.oauth
    if settings is None:
        raise NotLoggedIn(f"cannot refresh the login for {provider.name}: its provider entry has no oauth settings")
    try:
        return await refresh_login(
            store, provider.id, settings, account=account, force=force, refused=refused, proxy=proxy
        )
    except LoginFailed as error:
        from zot.provider.auth.oauth.http_requests import REGION_CODES

        if error.code in REGION_CODES or error.code == "access_denied":
            text = f"cannot refresh the login for {provider.name}: {error}; it is still stored"
        elif error.transient:
            text = f"cannot refresh the login for {provider.name}: {error}; it is still stored, try again"
        elif error.code in ("invalid_client", "unauthorized_client"):
            fix = f"check client_id in models.json, or {LOG_IN_AGAIN}"
            text = f"cannot refresh the login for {provider.name}: {error}; {fix}"
        else:
            text = f"the login for {provider.name} has ended: {error}; {LOG_IN_AGAIN}"
        raise LoginFailed(text, code=error.code, transient=error.transient) from error


async def refresh_login(
    store: AuthStore,
    name: str,
    settings: OAuthSettings,
    *,
    account: str = "",
    force: bool = False,
    refused: str = "",
    proxy: str = "",
) -> OAuthToken:
    """As ``refreshed``, for a login stored under any ``name``."""
    account = account or store.active(name)
    token = await _looked_up(store, name, account)
    if not (token.expired(time.time()) or (token.access_token == refused if refused else force)):
        return token
    before = token.access_token
    async with _lock(store, f"{name}/{account}") as lock:
        token = await _looked_up(store, name, account)
        if token.access_token != before and not token.expired(time.time()):
            return token  # another process refreshed it first
        if not token.refresh_token:
            raise LoginFailed("no refresh token was issued", code="no_refresh_token")
        task = RefreshRequest(str(store.path.parent), name, account, settings, keyring=store.keyring, proxy=proxy)
        from zot.provider.auth.oauth.refresh_process import exchange, exchange_apart

        try:
            outcome = await exchange_apart(task, lock)
        except OSError:  # no process can be started: exchange here
            outcome = await exchange(store, task)
    if outcome.error:
        raise LoginFailed(outcome.error, code=outcome.code, transient=outcome.transient)
    return await _looked_up(store, name, account)


def stored_login(store: AuthStore, name: str, account: str = "") -> OAuthToken:
    token = store.entry(name, account).oauth
    if token is None or not token.access_token:
        raise NotLoggedIn(f"not logged in to {name}; {LOG_IN_AGAIN}")
    return token


async def _looked_up(store: AuthStore, name: str, account: str) -> OAuthToken:
    """In a thread if the keyring may ask the user."""
    if store.shape(name, account).keyring:
        return await asyncio.to_thread(stored_login, store, name, account)
    return stored_login(store, name, account)


# -- the lock ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _lock(store: AuthStore, name: str) -> AsyncGenerator[int]:
    """The lock of one login, separate from the file's because an exchange takes seconds.
    Polled, since a blocked thread cannot be cancelled."""
    from zlib import crc32

    home = store.path.parent
    file = home / f".login-{crc32(name.encode()):08x}.lock"  # logins with the same checksum only wait for each other
    try:
        make_private_dir(home)
        fd = open_to_append(file, os.O_RDWR)
    except OSError as error:
        raise ConfigError(f"{file}: cannot open: {error.strerror or error}") from error
    try:
        deadline = time.monotonic() + _WAIT_S
        while not try_lock(fd):
            if time.monotonic() > deadline:
                raise LoginFailed("another zot process has been refreshing it for a minute", transient=True)
            await asyncio.sleep(_LOOK_S)
        yield fd
    finally:
        os.close(fd)


# -- the exchange -----------------------------------------------------------------------------------------------


class RefreshRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Input of the exchanging process, which reads the tokens itself."""

    home: str
    name: str
    account: str
    settings: OAuthSettings
    keyring: bool = False
    proxy: str = ""


class RefreshOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    error: str = ""
    code: str = ""
    transient: bool = False


_TRY_AGAIN_S = 10.0  # pause after a failure of the token endpoint


class LoginSigner:
    """A ``Renewal`` for one client. It keeps its first account if another one becomes active."""

    def __init__(self, store: AuthStore, provider: Provider, credential: Credential, *, proxy: str = "") -> None:
        self._store, self._provider, self._account, self._proxy = store, provider, credential.account, proxy
        self._expiry = OAuthToken(access_token="", expiry=credential.expiry)
        self._problem: Exception | None = None
        self._failed_at = float("-inf")

    async def before_request(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint for the next request; unchanged while its token is valid, or if it cannot be refreshed."""
        if not self._expiry.expired(time.time()) or self._just_failed:
            return endpoint
        return await self._refreshed(endpoint) or endpoint

    async def after_refusal(self, endpoint: Endpoint, refusal: AuthFailed) -> Endpoint | None:
        """The endpoint for a retry after ``refusal``; None if there is none, and the refusal says why."""
        again = None if self._just_failed else await self._refreshed(endpoint, refused=endpoint.api_key)
        if again is None or again.api_key == endpoint.api_key:
            reason = f"; {self._problem}" if self._problem else f"; {LOG_IN_AGAIN}"
            refusal.args = (f"{refusal}{reason}",)
            return None
        return again

    @property
    def _just_failed(self) -> bool:
        return time.monotonic() - self._failed_at < _TRY_AGAIN_S

    async def _refreshed(self, endpoint: Endpoint, refused: str = "") -> Endpoint | None:
        try:
            token = await fresh_token(
                self._store, self._provider, account=self._account, refused=refused, proxy=self._proxy
            )
        except (NotLoggedIn, ConfigError) as error:
            self._problem, self._failed_at = error, time.monotonic()
            return None
        self._problem, self._expiry = None, token
        endpoint = msgspec.structs.replace(endpoint, base_url=token.base_url) if token.base_url else endpoint
        return sign(endpoint, self._provider, token.access_token, token.account_id)


def sign(endpoint: Endpoint, provider: Provider, token: str, account_id: str) -> Endpoint:
    """The endpoint with this token, in the header of its server."""
    signed = msgspec.structs.replace(endpoint, api_key=token, account_id=account_id)
    settings = provider.oauth
    if endpoint.oauth or settings is None:  # a vendor's own subscription: its dialect signs
        return signed
    name, value = settings.signature(token)
    as_usual = value == (f"Bearer {token}" if name == "authorization" else token)
    headers = endpoint.headers if as_usual else {**endpoint.headers, name: value}
    return msgspec.structs.replace(signed, key_header=name, headers=headers)
