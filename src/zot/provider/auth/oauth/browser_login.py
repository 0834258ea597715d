"""A login in the browser: an authorization code with PKCE (RFC 6749, 7636, 8252), caught on loopback or pasted."""

from __future__ import annotations

from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.auth.oauth.steps import Pasted, Tell
from zot.provider.auth.store import OAuthToken
from zot.provider.http.pool import HttpPool


async def login_in_browser(
    settings: OAuthSettings, *, tell: Tell, pasted: Pasted | None = None, pool: HttpPool | None = None
) -> OAuthToken:
    """The token the user agreed to; LoginFailed otherwise. Opening the address of an ``open`` step is up to ``tell``.

    ``pasted`` is awaited again after something that cannot be used. One login at a time: a second one ends the first.
    """
    raise NotImplementedError
