"""OAuth settings of a server and of zot as its client.
Addresses given here override the metadata of ``issuer``; they must be https or on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from zot.errors import ConfigError

LOOPBACK_REDIRECT = "http://127.0.0.1:0/callback"  # port 0: any free one, as RFC 8252 allows


class OAuthSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One authorization server. Empty fields are not sent, or found in the issuer's metadata."""

    issuer: str = ""
    authorize_url: str = ""
    token_url: str = ""
    device_url: str = ""
    registration_url: str = ""
    revoke_url: str = ""
    client_id: str = ""
    client_secret: str = ""
    client_id_metadata_url: str = ""  # an https document that describes the client; its address is the client id
    client_name: str = "zot"  # shown by a server when the client registers itself
    registration_client: str = ""  # client id of a first login; the callback names the one issued to the account
    first_extra: dict[str, str] = {}  # more parameters of the login address of a first login
    host_parameter: str = ""  # parameter of the login address with the id of this installation
    required_scope: str = ""  # a login without it is refused
    scopes: tuple[str, ...] = ()
    audience: str = ""
    resource: str = ""  # RFC 8707: the audience of the token
    redirect: str = LOOPBACK_REDIRECT
    any_port: bool = False  # if a fixed port of ``redirect`` is taken, use another one
    manual_redirect: str = ""  # a page of the server that shows a code to paste
    manual_token_url: str = ""  # token endpoint for such a code, if different
    extra: dict[str, str] = {}  # more parameters of the login address
    token_body: Literal["form", "json"] = "form"
    state_in_body: bool = False  # the exchange repeats ``state``
    account_claim: tuple[str, ...] = ()  # path of the account's id in the id token's claims
    header: str = "Authorization: Bearer {token}"  # how requests are signed
    # A device login that answers with a code for the token endpoint (OpenAI):
    device_token_url: str = ""  # polled for the code
    device_page: str = ""  # where the user enters the code
    device_redirect: str = ""  # the redirect of that code
    # A login that is exchanged for a token of some minutes (GitHub Copilot):
    exchange_url: str = ""
    exchange_domain: str = ""  # the exchange may name an address of the API in this domain only

    def __repr__(self) -> str:
        """Omits the secret, since tracebacks show this."""
        return f"OAuthSettings({self.issuer or self.token_url!r}, client_id={self.client_id!r})"

    def signature(self, token: str) -> tuple[str, str]:
        name, _, value = self.header.partition(":")
        return name.strip().lower(), (value.strip() or "{token}").replace("{token}", token)

    @property
    def has_browser_login(self) -> bool:
        """True if there may be a login page; the issuer's metadata is authoritative."""
        return bool(self.authorize_url or self.issuer)

    @property
    def has_device_login(self) -> bool:
        return bool(self.device_url or self.issuer)

    @property
    def can_name_client(self) -> bool:
        """True if there is a client id, or a way to get one, without a request."""
        return bool(self.client_id or self.client_id_metadata_url or self.registration_url or self.registration_client)

    @property
    def is_registering(self) -> bool:
        """True if the server issues a client id during this login."""
        return bool(self.registration_client) and not self.client_id


_ADDRESSES = (
    *("issuer", "authorize_url", "token_url", "device_url", "registration_url", "revoke_url"),
    *("client_id_metadata_url", "manual_redirect", "manual_token_url"),
    *("device_token_url", "device_page", "device_redirect", "exchange_url"),
)


def read_settings(row: Mapping[str, Any]) -> OAuthSettings:
    """The settings in a row of ``providers.json`` or ``models.json``; ConfigError names the wrong field."""
    row = {**row, "scopes": row["scopes"].split()} if isinstance(row.get("scopes"), str) else row
    try:
        settings = msgspec.convert(row, OAuthSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(f'"oauth": {readable(error)}') from error
    if wrong := _wrong(settings):
        raise ConfigError(f'"oauth": {wrong}')
    return settings


def is_safe(url: str) -> bool:
    """True if secrets may be sent there: over TLS, or to this machine."""
    from zot.errors import BadRequest
    from zot.provider.http.route import parse_url
    from zot.provider.providers import is_loopback

    try:
        parts = parse_url(url)
    except BadRequest:
        return False
    return not parts.userinfo and (parts.scheme == "https" or is_loopback(url))


def _wrong(settings: OAuthSettings) -> str:
    """The error in the settings; empty if valid."""
    for name in _ADDRESSES:
        if (url := getattr(settings, name)) and not is_safe(url):
            return f'{name} "{url}": expected https:// (http:// only for this machine), without a password'
    if not _is_here(settings.redirect):
        return f'redirect "{settings.redirect}": expected an address on this machine, for example {LOOPBACK_REDIRECT}'
    if not (settings.issuer or settings.token_url):
        return "expected an issuer, or token_url with authorize_url or device_url"
    name, _, value = settings.header.partition(":")
    if not name.strip() or (value.strip() and "{token}" not in value):
        return f'header "{settings.header}": expected a name, or "Name: value" with {{token}} in the value'
    return ""


def _is_here(redirect: str) -> bool:
    """True if a browser redirect reaches the callback: http, with one of this machine's three names."""
    place = redirect.removeprefix("http://").partition("/")[0]
    host, _, port = place.rpartition(":") if place.rpartition(":")[2].isdecimal() else (place, "", "")
    known = host in ("localhost", "127.0.0.1", "[::1]")
    return redirect.startswith("http://") and known and int(port or 0) <= 65535 and "#" not in redirect


def readable(error: msgspec.ValidationError) -> str:
    text, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    return f"{path}: {text[0].lower()}{text[1:]}" if path else f"{text[0].lower()}{text[1:]}"
