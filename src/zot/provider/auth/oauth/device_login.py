"""A login on another device (RFC 8628): the user types a code there while zot asks whether that has happened."""

from __future__ import annotations

from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.auth.oauth.steps import Tell
from zot.provider.auth.store import OAuthToken
from zot.provider.http.pool import HttpPool


async def login_by_device(settings: OAuthSettings, *, tell: Tell, pool: HttpPool | None = None) -> OAuthToken:
    """The token the user agreed to; LoginFailed when it was refused or took too long."""
    raise NotImplementedError
