"""Who zot is to an authorization server. It borrows nobody's name: the user's configuration names a client, or the
address of a document that describes one, or the server lets zot register itself (RFC 7591)."""

from __future__ import annotations

from binascii import b2a_base64
from urllib.parse import quote

import msgspec

from zot.errors import LoginFailed
from zot.provider.auth.oauth.http_requests import post, refusal
from zot.provider.auth.oauth.server_metadata import Server
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.http.pool import HttpPool

NO_CLIENT_ID = (
    "zot has no client id there and borrows nobody's: register a client with the provider and write"
    ' "oauth": {"client_id": "…"} into its entry in models.json, or use an API key'
)
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class ClientId(msgspec.Struct, frozen=True):
    id: str
    secret: str = ""

    def __repr__(self) -> str:
        """Without the secret: tracebacks show this."""
        return f"ClientId({self.id!r})"


async def find_client(pool: HttpPool, settings: OAuthSettings, server: Server, redirect: str = "") -> ClientId:
    """``redirect`` is where the answer of a login in the browser will come; a device needs none."""
    if settings.client_id:
        return ClientId(settings.client_id, settings.client_secret)
    if settings.client_id_metadata_url and (server.takes_metadata_url or not server.registration_url):
        return ClientId(settings.client_id_metadata_url)
    if server.registration_url:
        return await _register(pool, settings, server, redirect)
    raise LoginFailed(NO_CLIENT_ID, code="no_client_id")


def with_client(
    client: ClientId, server: Server, fields: dict[str, str]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """The fields and headers of a request that says, and with a secret proves, which client asks."""
    if client.secret and server.token_auth and "client_secret_post" not in server.token_auth:
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}".encode()
        return fields, (("authorization", f"Basic {b2a_base64(pair, newline=False).decode()}"),)
    proof = {"client_secret": client.secret} if client.secret else {}
    return {**fields, "client_id": client.id, **proof}, ()


async def _register(pool: HttpPool, settings: OAuthSettings, server: Server, redirect: str) -> ClientId:
    """A public client: what is on a user's machine keeps no secret. A secret that is given anyway is used."""
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
    what = "the registration of clients"
    answer = await post(pool, server.registration_url, what, fields, json=True)
    if not 200 <= answer.status < 300:
        raise refusal(answer, what, {})
    if not (client := answer.text("client_id")):
        raise LoginFailed(f"{what} answered without a client_id")
    return ClientId(client, answer.text("client_secret"))
