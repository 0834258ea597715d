"""Refreshes a stale model list once in the background while a model is in use.
Only for the current provider, and only after its answer began, so that nothing is delayed and no other server is
contacted. A run that ends earlier cancels it."""

from __future__ import annotations

import asyncio
import os

import msgspec

from zot.agent.feature import Feature
from zot.core.events import AgentEvent, AssistantStart


class ModelRefreshFeature(Feature):
    name = "model_refresh"
    _task: asyncio.Task[None] | None = None

    def join(self) -> None:
        self._unsubscribe = self.conversation.subscribe(self._on_answer, AssistantStart)

    def _on_answer(self, event: AgentEvent) -> None:
        self._unsubscribe()
        self._task = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        from zot.provider.discovery import refresh, targets

        services, provider = self.services, self.conversation.resolved.provider
        asked = targets([provider], services.auth, os.environ, in_use=provider.id, api_key=services.config.api_key)
        models = await refresh(services.pool, asked, services.home)
        if models is not None:
            services.catalog.learn(models)
            self._update_model()
        if url := services.settings.values.catalog_url:
            from zot.provider.catalog_file import fetch_catalog

            if await fetch_catalog(services.pool, url, services.home):
                services.catalog.reload()

    def _update_model(self) -> None:
        """Update the current model's limits from the refreshed catalog."""
        agent = self.conversation.agent
        known = self.services.catalog.find(agent.model.id, agent.model.provider)
        if known is None:
            return
        if known.context_window != agent.model.context_window:
            sizes = {"context_window": known.context_window, "max_output": known.max_output}
            agent.model = msgspec.structs.replace(agent.model, **sizes)
        for feature in self.conversation.features:
            feature.model_updated(known)

    async def before_close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
