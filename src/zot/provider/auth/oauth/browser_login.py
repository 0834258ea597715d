"""Browser login: authorization code with PKCE (RFC 6749, 7636, 8252), received on loopback or pasted.
One login at a time: a second one ends the first and uses its port."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from secrets import token_hex, token_urlsafe
from urllib.parse import urlencode, urlsplit

import msgspec

from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.http_requests import open_pool, sanitize_server_text
from zot.provider.auth.oauth.loopback_server import CallbackResult, LoopbackServer, read_pasted
from zot.provider.auth.oauth.server_metadata import AuthorizationServer, OAuthClient, find_client, find_server
from zot.provider.auth.oauth.settings import OAuthSettings, is_safe
from zot.provider.auth.oauth.token_endpoint import LoginProgress, OnProgress, Pasted, done, request_token, token_from
from zot.provider.http.pool import HttpPool

LIMIT_S = 600.0

_current: LoopbackServer | None = None


async def login_in_browser(
    settings: OAuthSettings,
    *,
    on_progress: OnProgress,
    pasted: Pasted | None = None,
    pool: HttpPool | None = None,
    limit_s: float = LIMIT_S,
) -> OAuthToken:
    """The token, or LoginFailed. ``on_progress`` opens the address of an ``open`` step.
    ``pasted`` is awaited again after unusable input; EOFError ends it."""
    global _current
    proofs = new_proofs()
    callback = LoopbackServer(settings.redirect, proofs.state)
    if _current is not None:
        _current.supersede()
    _current = callback
    try:
        async with open_pool(pool) as pool:
            return await _log_in(_BrowserLogin(settings, proofs, callback, pool, on_progress), pasted, limit_s)
    finally:
        if _current is callback:
            _current = None
        await callback.aclose()


class _BrowserLogin:
    def __init__(
        self,
        settings: OAuthSettings,
        proofs: PkceSecrets,
        callback: LoopbackServer,
        pool: HttpPool,
        on_progress: OnProgress,
    ) -> None:
        self.settings, self.proofs, self.callback, self.pool, self.on_progress = (
            settings,
            proofs,
            callback,
            pool,
            on_progress,
        )
        self.server = AuthorizationServer()
        self.client = OAuthClient("")

    async def begin(self) -> None:
        """Find the server, open the port, get a client id; in this order: a registration names the port."""
        self.server = await find_server(self.pool, self.settings)
        if not is_safe(self.server.authorize_url):
            where = sanitize_server_text(self.server.authorize_url)
            raise LoginFailed(f"no login page to open in a browser: {where!r}" if where else _NO_PAGE)
        self.callback.issuer, self.callback.strict_issuer = self.server.issuer, self.server.names_itself
        self.callback.on_odd = self.notice
        await self.callback.listen(any_port=self.settings.any_port)
        self.client = await find_client(self.pool, self.settings, self.server, self.callback.redirect)

    def address(self, redirect: str) -> str:
        settings, proofs = self.settings, self.proofs
        fields = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": redirect,
            "scope": " ".join(settings.scopes),
            "code_challenge": proofs.challenge,
            "code_challenge_method": "S256",
            "state": proofs.state,
            "nonce": self.nonce,
            "audience": settings.audience,
            "resource": settings.resource,
            **settings.extra,
            **(settings.first_extra if settings.is_registering else {}),
        }
        query = urlencode({name: value for name, value in fields.items() if value})
        url = self.server.authorize_url
        return f"{url}{'&' if urlsplit(url).query else '?'}{query}"

    @property
    def nonce(self) -> str:
        """Only OpenID Connect defines it."""
        return self.proofs.nonce if "openid" in self.settings.scopes else ""

    def notice(self, text: str) -> None:
        self.on_progress(LoginProgress(kind="notice", text=text))

    async def exchange(self, returned: CallbackResult) -> OAuthToken:
        settings = self.settings
        self.client = _issued(self.client, settings, returned.client_id)
        by_hand = returned.pasted_alone and settings.manual_redirect
        grant = {
            "grant_type": "authorization_code",
            "code": returned.code,
            "redirect_uri": settings.manual_redirect if by_hand else self.callback.redirect,
            "code_verifier": self.proofs.verifier,
        }
        if settings.state_in_body:
            grant["state"] = self.proofs.state
        url = settings.manual_token_url if by_hand else ""
        answer = await request_token(self.pool, settings, self.server, self.client, grant, url=url)
        return token_from(answer, settings, self.server, self.client, nonce=self.nonce)


def _issued(client: OAuthClient, settings: OAuthSettings, named: str) -> OAuthClient:
    """The client that the callback names for this login; LoginFailed if it is missing or another one."""
    if not settings.registration_client:
        return client
    if not settings.is_registering:
        if named not in ("", client.id):
            raise LoginFailed(
                "the browser answered for another registration of zot; add that account with --account NAME"
            )
        return client
    if not named or named == settings.registration_client:
        raise LoginFailed("the server issued no client id for this login; try again")
    return OAuthClient(named)


_NO_PAGE = "the authorization server has no login page; use a device code or an API key"


async def _log_in(login: _BrowserLogin, pasted: Pasted | None, limit_s: float) -> OAuthToken:
    settings, callback, on_progress = login.settings, login.callback, login.on_progress
    await login.begin()
    if callback.arrived.done():  # superseded meanwhile
        await callback.arrived
    on_progress(
        LoginProgress(
            kind="open",
            text="open this address in a browser and confirm the login there",
            url=login.address(callback.redirect),
            manual_url=login.address(settings.manual_redirect) if settings.manual_redirect else "",
            expires_in_s=limit_s,
            may_paste=pasted is not None,
        )
    )
    try:
        async with asyncio.timeout(limit_s):
            returned = await _first(login, pasted)
    except TimeoutError as error:
        text = f"login timed out after {limit_s / 60:g} minutes; start it again"
        raise LoginFailed(text, code="timeout", transient=True) from error
    try:
        if returned.error:
            raise LoginFailed(f"the server denied the login: {returned.error}", code=returned.error.partition(":")[0])
        on_progress(LoginProgress(kind="exchanging", text="the login is confirmed; fetching the token"))
        token = await login.exchange(returned)
    except LoginFailed as error:
        await callback.finish(str(error))
        raise
    await callback.finish()
    on_progress(done(token))
    return token


async def _first(login: _BrowserLogin, pasted: Pasted | None) -> CallbackResult:
    """The callback or the pasted text, whichever comes first."""
    if pasted is None:
        return await login.callback.arrived
    typing = asyncio.ensure_future(_pasted(login, pasted))
    try:
        await asyncio.wait({typing, login.callback.arrived}, return_when=asyncio.FIRST_COMPLETED)
        if login.callback.arrived.done():
            return login.callback.arrived.result()
        return typing.result() or await login.callback.arrived
    finally:
        typing.cancel()
        await asyncio.gather(typing, return_exceptions=True)


async def _pasted(login: _BrowserLogin, pasted: Pasted) -> CallbackResult | None:
    """The first valid paste; None at the end of input."""
    while True:
        try:
            return read_pasted(await pasted(), login.proofs.state, whole=login.settings.is_registering)
        except ValueError as error:
            login.notice(str(error))
        except EOFError:
            return None


# Random values of one login (PKCE), independent of each other, because each proves something else.


class PkceSecrets(msgspec.Struct, frozen=True):
    state: str
    verifier: str
    nonce: str

    @property
    def challenge(self) -> str:
        from hashlib import sha256

        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return "Proofs(…)"


def new_proofs() -> PkceSecrets:
    return PkceSecrets(state=token_hex(16), verifier=token_urlsafe(32), nonce=token_urlsafe(16))
