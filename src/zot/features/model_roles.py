"""Models for other work than answering: ``models`` in the settings names them by role.
``plan`` answers in plan mode, ``compact`` summarises long conversations, ``small`` does so without ``compact``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.feature import Feature, PromptDraft
from zot.agent.model_resolver import ResolvedModel, require_credential
from zot.errors import ConfigError, NotLoggedIn, UsageError
from zot.provider.providers import canonical_id

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.provider.model import Model
    from zot.provider.model_call import Client

PLAN = "plan"
_INSTEAD = {"compact": "small"}  # a role without a model uses the one of another


class ModelRolesFeature(Feature):
    """``_before_plan`` is the model to return to, ``_plan`` the one that the mode chose."""

    name = "model_roles"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._clients: dict[str, tuple[Client, Model]] = {}
        self._before_plan: ResolvedModel | None = None
        self._plan: tuple[str, str] | None = None

    def join(self) -> None:
        self.conversation.agent.find_side_model = self._side_model

    def named(self, role: str) -> str:
        """The configured model of a role; empty for the conversation's."""
        models = {**self.services.settings.values.models}
        return models.get(role, "") or models.get(_INSTEAD.get(role, ""), "")

    async def _side_model(self, role: str) -> tuple[Client, Model] | None:
        if not (name := self.named(role)):
            return None
        if name not in self._clients:
            resolved = await self._resolved(role, name)
            if resolved is None:
                return None
            self._clients[name] = self.services.client_for(resolved), resolved.model
        return self._clients[name]

    async def _resolved(self, role: str, name: str) -> ResolvedModel | None:
        try:
            resolved = await self.conversation.find_model(*split_model(self.conversation, name))
            require_credential(resolved)
        except (NotLoggedIn, UsageError, ConfigError) as error:
            self.notify(f"models.{role} in the settings: {error}; using {self.conversation.model.id}")
            return None
        return resolved

    # --- plan mode

    async def before_prompt(self, draft: PromptDraft) -> str:
        gate = self.conversation.gate
        planning = gate is not None and gate.mode == PLAN
        if planning and self._plan is None and (name := self.named(PLAN)):
            await self._enter_plan(name)
        elif not planning and self._plan is not None:
            await self._leave_plan()
        return ""

    async def _enter_plan(self, name: str) -> None:
        resolved = await self._resolved(PLAN, name)
        if resolved is None:
            self._plan = ("", "")  # reported once
            return
        self._plan = (resolved.provider.id, resolved.model.id)
        if self._plan != self._present():
            self._before_plan = self.conversation.resolved
            await self.conversation.apply_model(resolved).aclose()
        self.conversation.agent.role = PLAN

    async def _leave_plan(self) -> None:
        """Return to the model before; one that the user chose meanwhile stays."""
        before, unchanged = self._before_plan, self._plan == self._present()
        self._before_plan = self._plan = None
        self.conversation.agent.role = ""
        if before is not None and unchanged:
            await self.conversation.apply_model(before).aclose()

    def _present(self) -> tuple[str, str]:
        present = self.conversation.snapshot
        return present.provider, present.model

    def model_changed(self, before: Model) -> None:
        if self._plan is not None and self._plan != self._present():
            self.conversation.agent.role = ""

    def settings_changed(self) -> None:
        if self._plan == ("", ""):
            self._plan = None

    async def aclose(self) -> None:
        for client, _ in self._clients.values():
            await client.aclose()


def split_model(conversation: Conversation, typed: str) -> tuple[str, str]:
    """Id and provider of an alias, an id, or ``provider/id``; an empty provider is the current one."""
    from zot.agent.model_lookup import match_model, resolve_alias

    catalog, current = conversation.catalog, conversation.resolved.provider
    if own := conversation.settings.values.model_names.get(typed):
        found = resolve_alias(own, catalog, current.id)
        return found.model, found.provider
    if catalog.find(typed, current.id) is not None:
        return typed, current.id
    found = match_model(typed, catalog, {})
    if found.provider:
        return found.model, canonical_id(found.provider, catalog.providers())
    row = catalog.find(found.model)
    return found.model, "" if row is None else row.provider


async def find_requested_model(conversation: Conversation, wanted: str) -> ResolvedModel:
    """The model that a template or an agent file names; ZotError if it is not available."""
    from zot.agent.model_lookup import match_model, version_key

    names, current = conversation.settings.values.model_names, conversation.resolved.provider
    owner = current.rows_of or current.id
    if wanted not in names and wanted.isalpha():
        # ``haiku`` is the newest of the provider's models with that word in its id
        rows = (row.id for row in conversation.catalog.rows() if row.provider == owner and wanted in row.id.split("-"))
        wanted = max(rows, key=version_key, default=wanted)
    found = match_model(wanted, conversation.catalog, names, provider=current.id)
    return await conversation.find_model(found.model, found.provider)
