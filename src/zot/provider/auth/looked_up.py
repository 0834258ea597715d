"""A key that a program prints, or that another program keeps in its file, may be a token of an hour.

After a server refused it, it is looked up again, once; the same key again is not tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from zot.errors import AuthFailed, ConfigError, NotLoggedIn
from zot.provider.auth.credential_lookup import Credential, forget_commands
from zot.provider.dialects.dialect import Endpoint


class LookedUpKey:
    """A ``Renewal`` for one client; ``look`` finds the credential, and may block."""

    def __init__(self, look: Callable[[], Credential | None]) -> None:
        self._look = look

    async def fresh(self, endpoint: Endpoint) -> Endpoint:
        return endpoint

    async def renewed(self, endpoint: Endpoint, refusal: AuthFailed) -> Endpoint | None:
        """With the key of now; None when it is the refused one, or there is none and ``refusal`` says why."""
        forget_commands()
        try:
            found = await asyncio.to_thread(self._look)
        except (NotLoggedIn, ConfigError) as error:
            refusal.args = (f"{refusal}; {error}",)
            return None
        if found is None or found.key == endpoint.api_key:
            return None
        return msgspec.structs.replace(endpoint, api_key=found.key)
