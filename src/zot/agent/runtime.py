"""A running agent with everything it owns: session, client, tools, skills. Modes hold one and nothing else.

``build`` makes it; leaving its block closes the session, the connections and every child process.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from zot.agent.resolve import Resolved
from zot.agent.settings import Settings
from zot.agent.skills.discover import Skills
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent
from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.core.tool import Tool
from zot.provider.auth.store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.http import HttpPool
from zot.provider.messages import Usage


class ToolChoice(msgspec.Struct, frozen=True):
    """Which tools a run may have: ``names`` None means all that are offered; ``always`` are the embedder's own."""

    names: tuple[str, ...] | None = None
    always: tuple[str, ...] = ()

    def keep(self, tools: list[Tool]) -> list[Tool]:
        if self.names is None:
            return tools
        return [tool for tool in tools if tool.name in self.names or tool.name in self.always]


class Runtime:
    """``notices`` are lines for the user, gathered while building; a mode shows each once."""

    def __init__(
        self,
        *,
        agent: Agent,
        home: Path,
        workspace: Workspace,
        settings: Settings,
        catalog: Catalog,
        auth: AuthStore,
        resolved: Resolved,
        skills: Skills,
        session: Session | None,
        pool: HttpPool,
        tool_choice: ToolChoice,
        builtin_tools: list[Tool],
        notices: list[str],
        sessions: SessionStore,
    ) -> None:
        self.agent = agent
        self.home = home
        self.workspace = workspace
        self.settings = settings
        self.catalog = catalog
        self.auth = auth
        self.resolved = resolved
        self.skills = skills
        self.session = session
        self.pool = pool
        self.tool_choice = tool_choice
        self.builtin_tools = builtin_tools
        self.notices = notices
        self.sessions = sessions
        self._spent_before = agent.cost

    def spent(self) -> Usage:
        """What this run used, without what a resumed session had used before."""
        now, before = self.agent.cost, self._spent_before
        return Usage(
            now.input_tokens - before.input_tokens,
            now.output_tokens - before.output_tokens,
            now.cache_read_tokens - before.cache_read_tokens,
            now.cache_write_tokens - before.cache_write_tokens,
            now.cost_usd - before.cost_usd,
            None if now.reasoning_tokens is None else now.reasoning_tokens - (before.reasoning_tokens or 0),
        )

    def start_over(self) -> None:
        """Drop the transcript; a session stays as it is and the next one begins. The usage goes on counting."""
        self.agent.set_messages(())
        if self.session is None:
            return
        model = self.agent.model
        before, self.session = self.session, self.sessions.create(model.provider, model.id)
        self.session.on_failure = before.on_failure
        self.agent.journal, self.agent.session_id = self.session, self.session.id
        self.workspace.exported |= {"ZOT_SESSION_ID": self.session.id, "ZOT_SESSION_FILE": str(self.session.path)}
        before.close()

    async def aclose(self) -> None:
        """Close in the order of what may be lost: the session first."""
        if self.session is not None:
            self.session.close()
        await self.agent.client.aclose()
        await self.pool.aclose()
