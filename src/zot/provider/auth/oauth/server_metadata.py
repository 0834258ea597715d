"""Endpoints of an authorization server: from the settings, the rest from its metadata (RFC 8414, OIDC).
Metadata must name the requested issuer, otherwise one server could impersonate another."""

from __future__ import annotations

from binascii import b2a_base64
from typing import Any, cast
from urllib.parse import quote, urlsplit

import msgspec

from zot.errors import LoginFailed
from zot.provider.auth.oauth.http_requests import (
    JsonResponse,
    error_from_response,
    get,
    host_of,
    post,
    sanitize_server_text,
)
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.http.pool import HttpPool


class AuthorizationServer(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoints; empty ones are not offered."""

    issuer: str = ""
    authorize_url: str = ""
    token_url: str = ""
    device_url: str = ""
    registration_url: str = ""
    revoke_url: str = ""
    token_auth: tuple[str, ...] = ()  # client authentication methods; empty if unknown
    takes_metadata_url: bool = False  # a client id may be the address of a document
    names_itself: bool = False  # its callbacks carry ``iss`` (RFC 9207)
    scopes: tuple[str, ...] = ()  # supported scopes


async def find_server(pool: HttpPool, settings: OAuthSettings) -> AuthorizationServer:
    """The issuer's metadata is fetched only if the settings are incomplete."""
    given = AuthorizationServer(
        issuer=settings.issuer,
        authorize_url=settings.authorize_url,
        token_url=settings.token_url,
        device_url=settings.device_url,
        registration_url=settings.registration_url,
        revoke_url=settings.revoke_url,
    )
    if not settings.issuer or (settings.token_url and (settings.authorize_url or settings.device_url)):
        return given
    answer = await _metadata(pool, settings.issuer)
    methods = _words(answer, "code_challenge_methods_supported")
    if methods and "S256" not in methods:
        raise LoginFailed(f"{host_of(given.issuer)} does not support PKCE with S256, which zot requires")
    return AuthorizationServer(
        issuer=answer.text("issuer"),
        authorize_url=given.authorize_url or answer.text("authorization_endpoint"),
        token_url=given.token_url or answer.text("token_endpoint"),
        device_url=given.device_url or answer.text("device_authorization_endpoint"),
        registration_url=given.registration_url or answer.text("registration_endpoint"),
        revoke_url=given.revoke_url or answer.text("revocation_endpoint"),
        token_auth=_words(answer, "token_endpoint_auth_methods_supported"),
        takes_metadata_url=answer.fields.get("client_id_metadata_document_supported") is True,
        names_itself=answer.fields.get("authorization_response_iss_parameter_supported") is True,
        scopes=_words(answer, "scopes_supported"),
    )


async def find_revocation(pool: HttpPool, settings: OAuthSettings, server: AuthorizationServer) -> AuthorizationServer:
    """With the revocation endpoint of the issuer's metadata if the settings have none."""
    if server.revoke_url or not settings.issuer:
        return server
    answer = await _metadata(pool, settings.issuer)
    return msgspec.structs.replace(server, revoke_url=answer.text("revocation_endpoint"))


async def _metadata(pool: HttpPool, issuer: str) -> JsonResponse:
    answer = None
    # RFC 8414 puts the well-known part before the issuer's path, OpenID Connect after it; both are in use
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = [f"{origin}/.well-known/{kind}{path}" for kind in ("oauth-authorization-server", "openid-configuration")]
    for url in [*places, f"{origin}{path}/.well-known/openid-configuration"] if path else places:
        answer = await get(pool, url, "the metadata of the authorization server")
        if answer.status == 200 and answer.fields:
            break
        if answer.status >= 500:
            text = f"cannot read the metadata of {host_of(issuer)}: http {answer.status}"
            raise LoginFailed(text, transient=True)
    else:
        raise LoginFailed(
            f"{host_of(issuer)} has no authorization server metadata; set authorize_url and token_url in "
            "the provider's oauth settings instead of issuer"
        )
    if answer.text("issuer").rstrip("/") != issuer.rstrip("/"):
        raise LoginFailed(
            f"the metadata of {issuer} names another issuer: {sanitize_server_text(answer.text('issuer'))!r}"
        )
    return answer


def _words(answer: JsonResponse, name: str) -> tuple[str, ...]:
    value: Any = answer.fields.get(name)
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))


# zot's client id: from the configuration, a client document, or dynamic registration (RFC 7591).

NO_CLIENT_ID = (
    'zot has no client id for this server: register a client and set "oauth": {"client_id": "…"} '
    "in the provider's entry in models.json, or use an API key"
)
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class OAuthClient(msgspec.Struct, frozen=True):
    id: str
    secret: str = ""

    def __repr__(self) -> str:
        """Omits the secret, since tracebacks show this."""
        return f"ClientId({self.id!r})"


async def find_client(
    pool: HttpPool, settings: OAuthSettings, server: AuthorizationServer, redirect: str = ""
) -> OAuthClient:
    """``redirect`` is the callback of a browser login; a device login has none."""
    if settings.client_id:
        return OAuthClient(settings.client_id, settings.client_secret)
    if settings.registration_client:
        return OAuthClient(settings.registration_client)
    if settings.client_id_metadata_url and (server.takes_metadata_url or not server.registration_url):
        return OAuthClient(settings.client_id_metadata_url)
    if server.registration_url:
        return await _register(pool, settings, server, redirect)
    raise LoginFailed(NO_CLIENT_ID, code="no_client_id")


def with_client(
    client: OAuthClient, server: AuthorizationServer, fields: dict[str, str]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Fields and headers that identify and, with a secret, authenticate the client."""
    if client.secret and server.token_auth and "client_secret_post" not in server.token_auth:
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}".encode()
        return fields, (("authorization", f"Basic {b2a_base64(pair, newline=False).decode()}"),)
    proof = {"client_secret": client.secret} if client.secret else {}
    return {**fields, "client_id": client.id, **proof}, ()


async def _register(pool: HttpPool, settings: OAuthSettings, server: AuthorizationServer, redirect: str) -> OAuthClient:
    """A public client, since a user's machine cannot keep a secret. A secret that is issued anyway is used."""
    grants = ["authorization_code", "refresh_token"] if redirect else [_DEVICE_GRANT, "refresh_token"]
    fields: dict[str, str | list[str]] = {
        "client_name": settings.client_name,
        "application_type": "native",
        "grant_types": grants,
        "token_endpoint_auth_method": "none",
    }
    if redirect:
        fields |= {"redirect_uris": [redirect], "response_types": ["code"]}
    if settings.scopes:
        fields["scope"] = " ".join(settings.scopes)
    what = "the client registration"
    answer = await post(pool, server.registration_url, what, fields, json=True)
    if not 200 <= answer.status < 300:
        raise error_from_response(answer, what, {})
    if not (client := answer.text("client_id")):
        raise LoginFailed(f"{what} answered without a client_id")
    return OAuthClient(client, answer.text("client_secret"))
