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
    from zot.agent.conversation import Conversation


class ModelRefresh:
    """Owns at most one task; ``aclose`` ends it. An address typed by hand is not the provider's: not asked."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._enabled = not conversation.resources.config.base_url and conversation.resolved.endpoint is not None
        self._task: asyncio.Task[None] | None = None

    def watch(self, event: AgentEvent) -> None:
        if self._enabled and isinstance(event, AssistantStart):
            self._enabled = False
            self._task = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        from zot.provider.discovery import refresh, targets

        resources, provider = self._conversation.resources, self._conversation.resolved.provider
        key = resources.config.api_key
        asked = targets([provider], resources.auth, os.environ, in_use=provider.id, api_key=key)
        models = await refresh(resources.pool, asked, resources.home)
        if models is not None:
            resources.catalog.learn(models)
            self._conversation.learn_window()
        if url := resources.settings.values.catalog_url:
            from zot.provider.catalog_file import fetch_catalog

            if await fetch_catalog(resources.pool, url, resources.home):
                resources.catalog.reload()

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
