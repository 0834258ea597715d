"""``--fallback-model``: a second model that takes over once when the first one fails.
It is checked at the start and continues the same run with the same prompt. Until then the first model has fewer
retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.feature import Feature
from zot.agent.model_resolver import ModelQuery, ResolvedModel, require_credential
from zot.errors import NotLoggedIn, UsageError
from zot.provider.error_mapping import recovery_kind
from zot.provider.providers import canonical_id

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation


class FallbackFeature(Feature):
    name = "fallback"

    def join(self) -> None:
        """UsageError or NotLoggedIn name the flag."""
        self._second: ResolvedModel | None = _resolved(self.conversation)
        self.services.waiting_model = (self._second.provider.id, self._second.model.id)
        self.conversation.apply_settings()  # with fewer retries
        self.conversation.agent.fallback = self._take_over

    async def _take_over(self, error: Exception) -> bool:
        second = self._second
        if second is None or recovery_kind(error) in ("", "too_large"):
            return False
        self._second = self.services.waiting_model = None
        present = self.conversation.snapshot
        if (second.provider.id, second.model.id) == (present.provider, present.model):
            return False  # a resumed session already uses it, or the user switched
        failed, other = f"{present.provider}/{present.model}", f"{second.provider.id}/{second.model.id}"
        self.notify(f"model {failed} failed: {error}; continuing with {other}")
        await self.conversation.apply_model(second, source="fallback").aclose()
        return True


def _resolved(conversation: Conversation) -> ResolvedModel:
    typed = conversation.services.config.fallback_model
    try:
        resolved = conversation.services.resolve(_query(conversation, typed))
        require_credential(resolved)
    except NotLoggedIn as error:
        raise NotLoggedIn(f"--fallback-model {typed}: {error}") from error
    except UsageError as error:
        raise UsageError(f"--fallback-model {typed}: {error}") from error
    return resolved


def _query(conversation: Conversation, typed: str) -> ModelQuery:
    """An id or ``provider/id``. The first model's provider wins, since its ids may contain slashes."""
    catalog, current = conversation.catalog, conversation.resolved.provider
    if own := conversation.settings.values.model_names.get(typed):
        from zot.agent.model_lookup import resolve_alias

        found = resolve_alias(own, catalog, current.id)
        return conversation.launch.query(found.provider or current.id, found.model)
    if catalog.find(typed, current.id) is not None:
        return conversation.launch.query(current.id, typed)
    providers = catalog.providers()
    name, slash, id = typed.partition("/")
    named = providers.get(canonical_id(name, providers)) if slash else None
    if named is not None and (catalog.find(id, named.id) is not None or named.any_model or not current.any_model):
        return conversation.launch.query(named.id, id)
    if catalog.find(typed) is not None:
        return ModelQuery(model=typed)
    return conversation.launch.query(current.id, typed)
