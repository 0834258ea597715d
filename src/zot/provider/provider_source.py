"""Interface of providers that join a run besides the table and ``models.json``: those of extensions.
A source speaks for its providers itself; ``Provider.api`` is ``providers.JOINED`` for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from zot.provider.model import Model
from zot.provider.model_call import Client
from zot.provider.providers import Provider


class ProviderSource(Protocol):
    def providers(self) -> Mapping[str, Provider]:
        """By id; they replace rows of the table with the same id."""
        ...

    def models(self) -> list[Model]: ...

    def client_for(self, model: Model, *, retries: int) -> Client: ...

    def has_login(self, provider: str) -> bool:
        """True if the user can log in to this provider."""
        ...

    async def log_in(self, provider: str) -> None:
        """Log in again; ZotError if it fails."""
        ...
