"""Keeping a stored login fresh: one refresh among all processes, and none that is ever lost."""

from __future__ import annotations

from zot.provider.auth.store import AuthStore, OAuthToken
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider


async def refreshed(store: AuthStore, provider: Provider, *, force: bool = False, refused: str = "") -> OAuthToken:
    """The stored token, refreshed first when it ends within a minute, or with ``force``.

    ``refused`` is the access token a server refused: it is refreshed unless another process has done so already.
    NotLoggedIn when nothing is stored; LoginFailed, ``transient`` or not, when it cannot be refreshed.
    """
    raise NotImplementedError


async def revoked(store: AuthStore, provider: Provider, *, pool: HttpPool | None = None) -> str:
    """Ask the server to forget the stored login, before it is cleared here; a sentence on how that went, or nothing
    where the server offers no way to ask."""
    raise NotImplementedError
