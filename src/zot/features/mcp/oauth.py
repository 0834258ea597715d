"""OAuth login to an MCP server (RFC 9728). A login belongs to the server's address, not to its name. Tokens are in
the credential store; failures never remove them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from zot.errors import ConfigError, LoginFailed, NotLoggedIn
from zot.features.mcp.config import ServerLogin
from zot.features.mcp.list_cache import FOLDER
from zot.features.mcp.protocol import list_in
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.oauth.browser_login import login_in_browser
from zot.provider.auth.oauth.http_requests import JsonResponse, get, host_of, sanitize_server_text
from zot.provider.auth.oauth.refresh import refresh_login, stored_login
from zot.provider.auth.oauth.server_metadata import find_server
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.auth.oauth.token_endpoint import OnProgress, Pasted
from zot.provider.http.pool import HttpPool
from zot.system.files import make_private_dir
from zot.system.json_store import JsonStore

_WHAT = "the metadata of the server"
_OFFLINE = "offline_access"


class _Known(msgspec.Struct):
    """By the server's address: where its tokens are refreshed. No secrets."""

    logins: dict[str, OAuthSettings] = {}


def _book(home: Path) -> JsonStore[_Known]:
    return JsonStore(home / FOLDER / "logins.json", _Known, "delete it and log in again")


def key_of(url: str) -> str:
    return f"mcp {url}"


def challenge_words(challenge: str) -> dict[str, str]:
    """Parameters of a ``WWW-Authenticate`` header; the first of each name wins."""
    import re  # only after a refusal

    found: dict[str, str] = {}
    for name, quoted, bare in re.findall(r'([A-Za-z_-]{1,40})\s*=\s*(?:"([^"]{0,2000})"|([^\s,"]{1,2000}))', challenge):
        found.setdefault(name.lower(), quoted or bare)
    return found


async def settings_for(
    pool: HttpPool, url: str, challenge: str, login: ServerLogin, granted: Sequence[str] = ()
) -> OAuthSettings:
    """The authorization server and scopes; ``granted`` scopes are kept."""
    words = challenge_words(challenge)
    metadata = await _protected_resource(pool, url, words.get("resource_metadata", ""))
    issuers = [item for item in list_in(metadata.fields.get("authorization_servers")) if isinstance(item, str)]
    issuer = issuers[0] if issuers else _origin(url)
    scopes = login.scopes or tuple(words.get("scope", "").split())
    if not scopes:
        scopes = tuple(item for item in list_in(metadata.fields.get("scopes_supported")) if isinstance(item, str))
    settings = OAuthSettings(
        issuer=issuer,
        client_id=login.client_id,
        client_secret=login.client_secret,
        client_id_metadata_url=login.client_metadata_url,
        scopes=tuple(dict.fromkeys((*granted, *scopes))),
        resource=metadata.text("resource") or url,
    )
    server = await find_server(pool, settings)
    if _OFFLINE in server.scopes and _OFFLINE not in settings.scopes:
        return msgspec.structs.replace(settings, scopes=(*settings.scopes, _OFFLINE))
    return settings


async def _protected_resource(pool: HttpPool, url: str, named: str) -> JsonResponse:
    """The server's published metadata; empty if it publishes none, as older servers do."""
    path, root = urlsplit(url).path.rstrip("/"), f"{_origin(url)}/.well-known/oauth-protected-resource"
    known = [f"{root}{path}", root] if path else [root]
    for place in [named] if named else known:
        answer = await get(pool, place, _WHAT)
        if answer.status >= 500 or answer.status == 429:
            raise LoginFailed(f"cannot read {_WHAT} at {host_of(place)}: http {answer.status}", transient=True)
        if answer.status == 200 and answer.fields:
            # metadata must be for this server or a parent path on its host
            resource = answer.text("resource")
            here, there = urlsplit(url), urlsplit(resource)
            same = (here.scheme.lower(), here.netloc.lower()) == (there.scheme.lower(), there.netloc.lower())
            path = there.path.rstrip("/")
            if resource and not (same and (here.path.rstrip("/") + "/").startswith(path + "/")):
                raise LoginFailed(
                    f"{_WHAT} at {host_of(url)} is for another server: {sanitize_server_text(resource)!r}"
                )
            return answer
    return JsonResponse(404, {})


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def log_in(
    pool: HttpPool,
    store: AuthStore,
    url: str,
    challenge: str,
    login: ServerLogin,
    *,
    on_progress: OnProgress,
    pasted: Pasted | None = None,
    limit_s: float = 600.0,
) -> OAuthToken:
    """Log in with a browser and save the login; LoginFailed changes nothing."""
    granted = _granted(store, url) if "insufficient_scope" in challenge else ()
    settings = await settings_for(pool, url, challenge, login, granted)
    token = await login_in_browser(settings, on_progress=on_progress, pasted=pasted, pool=pool, limit_s=limit_s)
    store.set_oauth(key_of(url), token)
    home = store.path.parent
    make_private_dir(home / FOLDER)
    with _book(home).edit() as known:
        known.logins[url] = msgspec.structs.replace(settings, client_secret="", client_id="")
    return token


def _granted(store: AuthStore, url: str) -> tuple[str, ...]:
    try:
        return tuple(stored_login(store, key_of(url)).scope.split())
    except NotLoggedIn:
        return ()


def is_logged_in(store: AuthStore, url: str) -> bool:
    return store.shape(key_of(url)).method == "oauth"


def log_out(store: AuthStore, url: str) -> bool:
    if not is_logged_in(store, url):
        return False
    store.clear(key_of(url))
    with _book(store.path.parent).edit() as known:
        known.logins.pop(url, None)
    return True


class McpLoginSigner:
    """Signs requests with the stored token, refreshed before it expires and after a 401.
    Failures are in ``problem``; the old token is tried."""

    def __init__(self, store: AuthStore, url: str, login: ServerLogin, *, proxy: str = "") -> None:
        self.problem = ""
        self._store, self._url, self._login, self._proxy = store, url, login, proxy
        self._token: OAuthToken | None = None

    async def headers(self) -> dict[str, str]:
        token = self._token
        if token is None or token.expired(time.time()):
            token = self._token = await self._fresh()
        return {"authorization": f"Bearer {token.access_token}"} if token is not None else {}

    async def renewed(self, refused: dict[str, str]) -> bool:
        before = refused.get("authorization", "").removeprefix("Bearer ")
        self._token = await self._fresh(refused=before)
        return self._token is not None and self._token.access_token != before

    async def _fresh(self, refused: str = "") -> OAuthToken | None:
        name = key_of(self._url)
        if not is_logged_in(self._store, self._url):
            return None
        settings = self._settings()
        try:
            if settings is None:
                return stored_login(self._store, name)
            return await refresh_login(self._store, name, settings, refused=refused, proxy=self._proxy)
        except (NotLoggedIn, ConfigError) as error:
            self.problem = str(error)
        try:
            return stored_login(self._store, name)
        except (NotLoggedIn, ConfigError):
            return None

    def _settings(self) -> OAuthSettings | None:
        try:
            known: Any = _book(self._store.path.parent).load().logins.get(self._url)
        except ConfigError as error:
            self.problem = str(error)
            return None
        if known is None:
            return None
        secret = {"client_id": self._login.client_id, "client_secret": self._login.client_secret}
        return msgspec.structs.replace(known, **secret)
