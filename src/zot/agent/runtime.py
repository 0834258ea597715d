"""A running agent with everything it owns: session, client, tools, skills. Modes hold one and nothing else.

``build`` makes it; leaving its block closes the session, the connections and every child process.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.resolve import Resolved
from zot.agent.settings import Settings
from zot.agent.skills.discover import Skills
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent
from zot.core.events import RECORDED
from zot.core.session.session import Session
from zot.core.session.store import SessionStore, new_id
from zot.core.tool import Tool
from zot.provider.auth.store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.http.pool import HttpPool
from zot.provider.messages import Usage

if TYPE_CHECKING:
    from zot.agent.extensions.host import ExtensionHost, ReloadStats


CHILDREN_GRACE = 0.3  # for what commands left in the background


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
        extensions: ExtensionHost | None = None,
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
        self.extensions = extensions
        self._spent_before = agent.cost
        self._leave_stream = agent.readers.add(session.read, *RECORDED, first=True) if session is not None else None

    # --- extensions

    async def start_extensions(self) -> None:
        """Start them and join them to the agent: from here on they see and may refuse everything."""
        host, agent = self.extensions, self.agent
        if host is None:
            return
        agent.interceptors.append(host.interceptor)
        agent.readers.add(host.observe, *host.observed)
        agent.system_editor = host.edit_system_prompt
        host.run_tool = agent.run_tool
        host.session_id = lambda: agent.session_id
        host.on_tools_changed = self.refresh_tools
        await host.start()
        host.session_started()

    async def reload_extensions(self) -> ReloadStats | None:
        """``/reload-ext``: restart them with the current model; the conversation continues. Needs an idle agent."""
        if self.extensions is None:
            return None
        self.extensions.provider, self.extensions.model = self.agent.model.provider, self.agent.model.id
        stats = await self.extensions.reload()
        self.agent.rebuild_system()
        return stats

    def refresh_tools(self) -> None:
        """The tools of this run as they are now, for the agent's next model call."""
        taken = {tool.name for tool in self.builtin_tools}
        offered = self.extensions.tools(taken) if self.extensions else []
        self.agent.set_tools(self.tool_choice.keep([*self.builtin_tools, *offered]))

    # --- the run

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
            self.agent.session_id = new_id()
            return
        model = self.agent.model
        before, session = self.session, self.sessions.create(model.provider, model.id)
        session.on_failure = before.on_failure
        self.record(session)
        self.workspace.exported |= {"ZOT_SESSION_ID": session.id, "ZOT_SESSION_FILE": str(session.path)}
        before.close()

    def record(self, session: Session) -> None:
        """From now on this session is the first reader of the agent."""
        if self._leave_stream is not None:
            self._leave_stream()
        self._leave_stream = self.agent.readers.add(session.read, *RECORDED, first=True)
        self.session, self.agent.session_id = session, session.id

    async def aclose(self) -> None:
        """Close in the order of what may be lost: the session first."""
        if self.session is not None:
            self.session.close()
        for tree in self.workspace.left_running:
            await tree.stop(CHILDREN_GRACE)
        if self.extensions is not None:
            await self.extensions.stop()
        await self.agent.client.aclose()
        await self.pool.aclose()
