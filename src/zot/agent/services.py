"""What the conversations of one run share: home, settings, models, credentials, connections, tools and extensions.

``build`` makes it once; a child conversation works with the same object, so pool, guards, limits and policy are the
same for every agent of the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.config import FrontEnd, RunConfig
from zot.agent.endpoint import LoggedOut
from zot.agent.model_resolver import Query, Resolved, resolve
from zot.agent.settings import Settings
from zot.agent.tools.registry import SWARM, SWARM_NAMES
from zot.agent.tools.workspace import Workspace
from zot.core.session.store import SessionStore
from zot.core.tool import Tool
from zot.features.skills.discovery import Skills
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.http.pool import HttpPool
from zot.provider.http_client import Renewal, connect
from zot.provider.model_call import Client

if TYPE_CHECKING:
    from zot.features.budget.ledger import Ledger
    from zot.features.extensions.host import ExtensionHost
    from zot.features.hooks.host import HookHost
    from zot.features.jail.outside_access import Outside
    from zot.features.mcp.host import McpHost
    from zot.features.permissions.saved_rules import KeptRules
    from zot.local_model.client import LocalClient
    from zot.provider.dialects.dialect import Endpoint
    from zot.provider.providers import Provider
    from zot.swarm.model_agents import ModelSwarm

CHILDREN_GRACE = 0.3  # for what commands left in the background
TRIES_BEFORE_STAND_IN = 3  # of a model call, where another model waits to take over


class ToolChoice(msgspec.Struct, frozen=True):
    """Which tools a run may have: ``names`` None means all that are offered; ``always`` are the front end's own."""

    names: tuple[str, ...] | None = None
    always: tuple[str, ...] = ()

    def keep(self, tools: list[Tool]) -> list[Tool]:
        if self.names is None:
            return tools
        kept = {*self.names, *self.always, *(SWARM_NAMES if SWARM in self.names else ())}
        return [tool for tool in tools if tool.name in kept]


class Resources:
    """``extensions`` is None until there is something for a host to do; ``own_tools`` are those of zot and of the
    front end, whatever extensions add."""

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
        self.pool = HttpPool(proxy=settings.values.http_proxy)
        self.skills = Skills()
        self.own_tools: list[Tool] = []
        self.tool_choice = ToolChoice(config.tools, tuple(tool.name for tool in front_end.tools))
        self.extensions: ExtensionHost | None = None
        self.mcp: McpHost | None = None  # there when servers are configured
        self.hooks: HookHost | None = None  # there when hooks are configured
        self.swarm: ModelSwarm | None = None  # there once the model has used it
        self.make_swarm: Callable[[], ModelSwarm] | None = None  # by the conversation whose model it is
        self.stand_in: tuple[str, str] | None = None  # provider and model of a second one that waits to take over
        self.kept_rules: KeptRules | None = None  # there with a gate
        self._ledger: Ledger | None = None
        self._local: dict[Path, LocalClient] = {}  # models on this machine that were used
        self.outside: Outside | None = None  # there with ``approve``, and where that may be switched on
        self.withheld: frozenset[str] = frozenset()  # tools a model held by a grammar does not get here
        self.held_mode = ""  # the permission mode for such a model, where nobody said one
        self.narrowed = False  # the gate was open until such a model took over in mid-session

    @property
    def asks_outside(self) -> bool:
        """Whether what a call wants outside a jail is put to a person."""
        return self.outside is not None and self.outside.asks

    @property
    def environ(self) -> Mapping[str, str]:
        """Where credentials are looked for."""
        return os.environ if self.config.environ is None else self.config.environ

    @property
    def has_ledger(self) -> bool:
        return self._ledger is not None

    @property
    def ledger(self) -> Ledger:
        """What all runs of this home spend."""
        if self._ledger is None:
            from zot.features.budget.ledger import Ledger  # the first request is not kept waiting for it

            self._ledger = Ledger(self.home)
        return self._ledger

    def resolve(self, query: Query) -> Resolved:
        return resolve(query, self.settings, self.catalog, self.auth, self.environ)

    def client_for(self, resolved: Resolved) -> Client:
        if resolved.script:
            from zot.provider.scripted_client import ScriptedClient

            return ScriptedClient.load(resolved.script)
        if resolved.endpoint is None:
            return LoggedOut(resolved.provider.id, resolved.missing)
        if resolved.provider.api == "local":
            return self._local_client(resolved, resolved.endpoint)
        endpoint = msgspec.structs.replace(resolved.endpoint, retries=self._retries(resolved))
        return connect(endpoint, resolved.api, self.pool, renewal=self._renewal(resolved))

    def _local_client(self, resolved: Resolved, endpoint: Endpoint) -> Client:
        """One for each model: it holds the model's server as long as this run lasts."""
        from zot.local_model.client import LocalClient
        from zot.local_model.weights import chosen

        model = chosen(resolved.model.id)
        if model.path not in self._local:
            self._local[model.path] = LocalClient(model, resolved.api, endpoint, self.pool)
        for path, other in self._local.items():
            if path != model.path:
                other.rest()
        return self._local[model.path]

    def _renewal(self, resolved: Resolved) -> Renewal | None:
        """What keeps a stored login fresh, or looks a key up again that somebody else keeps."""
        credential = resolved.credential
        kept_elsewhere = ("command", "file") if resolved.provider.cloud else ("command",)
        if credential is not None and credential.method == "apikey" and credential.source in kept_elsewhere:
            return self._looked_up(resolved.provider)
        if credential is None or not credential.account or credential.method != "oauth":
            return None
        if not resolved.provider.oauth_row:
            return None
        from zot.provider.auth.oauth.token_signer import StoredLogin

        return StoredLogin(self.auth, resolved.provider, credential, proxy=self.settings.values.http_proxy)

    def _looked_up(self, provider: Provider) -> Renewal:
        from zot.provider.auth.credential_lookup import find_credential
        from zot.provider.auth.looked_up import LookedUpKey  # few have such a key

        commands = self.settings.values.api_key_command
        return LookedUpKey(lambda: find_credential(provider, self.auth, self.environ, commands=commands))

    def _retries(self, resolved: Resolved) -> int:
        """How often a call is tried again; few times where another model waits."""
        values, asked = self.settings.values, self.config.retries
        retries = values.retries if asked is None else asked
        waits = self.stand_in is not None and self.stand_in != (resolved.provider.id, resolved.model.id)
        return min(retries, TRIES_BEFORE_STAND_IN - 1) if waits else retries

    def tools(self) -> list[Tool]:
        """The tools of this run as they are at this moment."""
        taken = {tool.name for tool in self.own_tools}
        offered = self.extensions.tools(taken) if self.extensions else []
        if self.mcp is not None:
            offered = [*offered, *self.mcp.tools({*taken, *(tool.name for tool in offered)})]
        return self.tool_choice.keep([*self.own_tools, *offered])

    def models_swarm(self) -> ModelSwarm:
        """The agents the model has started, or will."""
        assert self.make_swarm is not None
        self.swarm = self.swarm or self.make_swarm()
        return self.swarm

    async def aclose(self) -> None:
        """Nothing that was started for this run is left."""
        await self.workspace.stop_jobs(CHILDREN_GRACE)
        if self.swarm is not None:
            await self.swarm.aclose()
        if self.mcp is not None:
            await self.mcp.stop()
        if self.extensions is not None:
            await self.extensions.stop()
        if self.workspace.jail is not None:
            self.workspace.jail.close()
        for client in self._local.values():
            await client.aclose()
        if self._ledger is not None:
            self._ledger.close()
        await self.pool.aclose()
