"""The model list is refreshed in the background, once, when a model is in use and the cache is stale.

Only for the provider being talked to, only after its answer began, so that nothing is delayed and nobody is asked
who was not asked already. A run that ends earlier gives the refresh up.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from zot.core.events import AgentEvent, AssistantStart

if TYPE_CHECKING:
    from zot.agent.runtime import Runtime


class ModelRefresh:
    """Owns at most one task; ``aclose`` ends it. An address typed by hand is not the provider's: not asked."""

    def __init__(self, runtime: Runtime, *, api_key: str = "", enabled: bool = True) -> None:
        self._runtime = runtime
        self._api_key = api_key
        self._enabled = enabled and runtime.resolved.endpoint is not None
        self._task: asyncio.Task[None] | None = None

    def watch(self, event: AgentEvent) -> None:
        if self._enabled and isinstance(event, AssistantStart):
            self._enabled = False
            self._task = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        from zot.provider.discovery import refresh, targets

        runtime = self._runtime
        provider = runtime.resolved.provider
        asked = targets([provider], runtime.auth, os.environ, in_use=provider.id, api_key=self._api_key)
        models = await refresh(runtime.pool, asked, runtime.home)
        if models is not None:
            runtime.catalog.learn(models)

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
