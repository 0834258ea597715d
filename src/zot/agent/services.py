"""Shared by the conversations of one run: configuration, settings, models, credentials, connections, workspace.
It does not depend on features."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.config import FrontEnd, RunConfig
from zot.agent.endpoint import LoggedOutClient
from zot.agent.model_resolver import LaunchOverrides, ModelQuery, ResolvedModel, resolve
from zot.agent.settings import Settings
from zot.agent.tools.workspace import Workspace
from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.core.state import Boundary
from zot.core.tool import Tool
from zot.errors import UsageError
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.http.pool import HttpPool
from zot.provider.http_client import CredentialRefresher, connect
from zot.provider.model_call import Client
from zot.provider.providers import JOINED

if TYPE_CHECKING:
    from zot.provider.providers import Provider

CHILDREN_GRACE = 0.3  # for background commands
TRIES_BEFORE_FALLBACK = 3  # retries of a model call if a fallback model exists

# Providers without the HTTP client: their API, and the class that creates clients (above this layer).
CLIENTS = {"local": "zot.local_model.client:LocalClients"}


class ToolChoice(msgspec.Struct, frozen=True):
    """Tools of a run: ``names`` None means all offered ones; ``always`` are the front end's own.
    ``groups`` are names for several tools; ``off`` are excluded by a setting."""

    names: tuple[str, ...] | None = None
    always: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = {}
    off: tuple[str, ...] = ()

    def permits(self, name: str) -> bool:
        """False for a tool that flags or settings exclude."""
        return name not in self.off if self.names is None else name in self.names

    def filter(self, tools: list[Tool]) -> list[Tool]:
        if self.names is None:
            return [tool for tool in tools if tool.name not in self.off] if self.off else tools
        kept = {*self.names, *self.always}
        for group, members in self.groups.items():
            kept.update(members if group in self.names else ())
        return [tool for tool in tools if tool.name in kept]


class Services:
    """``resolved`` is the model of the conversation, ``waiting_model`` the provider and id of the fallback model.
    ``withheld`` are disabled built-in tools, ``constrained_mode`` the permission mode for a grammar-constrained
    model unless the user chose one. ``mode_chosen``: a flag or the resumed session names the permission mode.
    ``resumed`` is the session that the run continues."""

    def __init__(
        self,
        *,
        config: RunConfig,
        front_end: FrontEnd,
        home: Path,
        settings: Settings,
        catalog: Catalog,
        auth: AuthStore,
        sessions: SessionStore,
        workspace: Workspace,
    ) -> None:
        self.config = config
        self.front_end = front_end
        self.home = home
        self.settings = settings
        self.catalog = catalog
        self.auth = auth
        self.sessions = sessions
        self.workspace = workspace
        self.resolved: ResolvedModel
        self.pool = HttpPool(proxy=settings.values.http_proxy)
        self.create_boundary: Callable[[], Boundary] = Boundary
        self.waiting_model: tuple[str, str] | None = None
        self.withheld: frozenset[str] = frozenset()
        self.constrained_mode = ""
        self.mode_chosen = False
        self.resumed: Session | None = None
        self.missing_jail = ""  # why the jail of ``start_mode`` cannot be made
        self.questions: Any = None  # features.questions.QuestionQueue, created on first use
        self._clients: dict[str, Any] = {}  # of providers without HTTP, by API: they share processes

    @property
    def environ(self) -> Mapping[str, str]:
        return os.environ if self.config.environ is None else self.config.environ

    @property
    def project(self) -> Path:
        """The directory whose extensions, hooks and MCP servers apply."""
        return Path(self.config.project) if self.config.project else self.workspace.cwd

    def resolve(self, query: ModelQuery) -> ResolvedModel:
        return resolve(query, self.settings, self.catalog, self.auth, self.environ)

    def model_query(self, launch: LaunchOverrides, current: Provider, model: str, provider: str = "") -> ModelQuery:
        """Resolve a typed model, by default of the ``current`` provider; UsageError if unknown."""
        if not provider and (own := self.settings.values.model_names.get(model)):
            from zot.agent.model_lookup import resolve_alias  # rarely used

            found = resolve_alias(own, self.catalog, current.id)
            model, provider = found.model, found.provider
        if not provider and self.catalog.find(model, current.id) is None and not current.any_model:
            from zot.provider.catalog import builtin_rows
            from zot.provider.families import unlisted_model  # a model newer than the catalog

            if unlisted_model(model, current, builtin_rows) is not None:
                return launch.query(current.id, model)
            raise UsageError(f'unknown model "{model}" (provider="{current.id}")')
        return launch.query(provider or current.id, model)

    def client_for(self, resolved: ResolvedModel) -> Client:
        if resolved.script:
            from zot.provider.scripted_client import ScriptedClient

            return ScriptedClient.load(resolved.script)
        if resolved.endpoint is None:
            return LoggedOutClient(resolved.provider.id, resolved.missing)
        if resolved.provider.api in CLIENTS:
            api = resolved.provider.api
            if api not in self._clients:
                module, _, name = CLIENTS[api].partition(":")
                self._clients[api] = getattr(import_module(module), name)(self.pool)
            return self._clients[api].client_for(resolved)
        values, flag = self.settings.values, self.config.retries
        retries = values.retries if flag is None else flag
        if self.waiting_model is not None and self.waiting_model != (resolved.provider.id, resolved.model.id):
            retries = min(retries, TRIES_BEFORE_FALLBACK - 1)
        if resolved.provider.api == JOINED:
            assert self.catalog.source is not None
            return self.catalog.source.client_for(resolved.model, retries=retries)
        endpoint = msgspec.structs.replace(resolved.endpoint, retries=retries)
        return connect(endpoint, resolved.api, self.pool, renewal=self._renewal(resolved), home=self.home)

    def _renewal(self, resolved: ResolvedModel) -> CredentialRefresher | None:
        """Refreshes a stored login, or looks up again a key that another program stores."""
        credential = resolved.credential
        stored_elsewhere = ("command", "file") if resolved.provider.cloud else ("command",)
        if credential is not None and credential.method == "apikey" and credential.source in stored_elsewhere:
            provider = resolved.provider
            from zot.provider.auth.credential_lookup import (
                ReloadableKey,  # rarely used
                find_credential,
            )

            commands = self.settings.values.api_key_command
            return ReloadableKey(lambda: find_credential(provider, self.auth, self.environ, commands=commands))
        if credential is None or not credential.account or credential.method != "oauth":
            return None
        if not resolved.provider.oauth_row:
            return None
        from zot.provider.auth.oauth.refresh import LoginSigner

        return LoginSigner(self.auth, resolved.provider, credential, proxy=self.settings.values.http_proxy)

    async def stop_jobs(self) -> None:
        """Stop background commands."""
        await self.workspace.stop_jobs(CHILDREN_GRACE)

    async def aclose(self) -> None:
        for clients in self._clients.values():
            await clients.aclose()
        await self.pool.aclose()
