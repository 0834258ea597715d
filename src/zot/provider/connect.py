"""From an endpoint to a client. Only the dialect that is needed is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from zot.provider.dialects.dialect import Endpoint
    from zot.provider.http.pool import HttpPool
    from zot.provider.model_call import Client


def connect(endpoint: Endpoint, api: str, pool: HttpPool | None = None) -> Client:
    """A client for an HTTP endpoint. A pool that is passed in is shared; without one the client owns its own."""
    from zot.provider.client import HttpClient
    from zot.provider.dialects import dialect_for

    return HttpClient(endpoint.provider, dialect_for(api), endpoint, pool)


def connect_script(path: Path) -> Client:
    """The scripted model: reads its answers from a file."""
    from zot.provider.scripted import ScriptedClient

    return ScriptedClient.load(path)
