"""What zot offers over MCP: the handlers of the methods, and the tools by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING

from zot.errors import NotLoggedIn, ZotError
from zot.frontends.json_rpc import INVALID_PARAMS, Params, RpcError
from zot.frontends.mcp_server.engine import Engine, Handler
from zot.frontends.mcp_server.exchange import Exchange
from zot.frontends.mcp_server.limits import Limits, Place
from zot.frontends.mcp_server.stored_sessions import StoredSessions
from zot.frontends.mcp_server.tools import Arguments, text_answer, tool_list

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.frontends.mcp_server.conversations import Conversations

_Run = Callable[[Exchange, Arguments], Awaitable[Params]]
CAPABILITIES: Params = {"tools": {}, "resources": {}}
INSTRUCTIONS = (
    "zot is a coding agent. `prompt` gives it a task in its own context and waits; `continue` goes on with the session "
    "it returns. Tasks that do not depend on each other can be given at once."
)


class Service:
    """``config`` is fixed: no client can widen its mode, tools, jail, directory, model or cost limit."""

    def __init__(self, config: RunConfig) -> None:
        mode = config.permission_mode
        self._config = config
        self._place = Place(config)
        self._limits = Limits(config.max_cost)
        self._sessions = StoredSessions(config, self._place)
        self._tools = tool_list(read_only=mode == "plan", mode=mode)
        self._fields = {tool["name"]: list(tool["inputSchema"]["properties"]) for tool in self._tools}
        self._runs: dict[str, _Run] = {
            "prompt": self._prompt,
            "continue": self._continue,
            "sessions_list": lambda exchange, given: self._sessions.list(given),
            "session_read": lambda exchange, given: self._sessions.read(given),
            "swarm_run": self._swarm_run,
        }

    def engine(self) -> Engine:
        handlers: dict[str, Handler] = {
            "tools/list": self._list_tools,
            "tools/call": self._call,
            "resources/list": self._sessions.list_resources,
            "resources/templates/list": self._sessions.list_templates,
            "resources/read": self._sessions.read_resource,
        }
        return Engine(handlers, CAPABILITIES, INSTRUCTIONS)

    async def _list_tools(self, exchange: Exchange, params: Params) -> Params:
        return {"tools": self._tools}

    async def _call(self, exchange: Exchange, params: Params) -> Params:
        """What a tool cannot do is a result, so that the caller's model reads why."""
        name = params.get("name")
        run = self._runs.get(name) if isinstance(name, str) else None
        if run is None:
            raise RpcError(INVALID_PARAMS, f"unknown tool {str(name)[:80]!r}: expected one of {', '.join(self._runs)}")
        try:
            return await run(exchange, Arguments(params.get("arguments"), self._fields[str(name)]))
        except NotLoggedIn as error:
            where = f"{error}".replace(" or /login", "")
            return text_answer(f"zot cannot use a model: {where} (where the server runs)", is_error=True)
        except ZotError as error:
            return text_answer(str(error), is_error=True)

    async def _prompt(self, exchange: Exchange, given: Arguments) -> Params:
        text, session = given.text("text", required=True), given.text("session")
        found = await self._sessions.find(session) if session else None
        cwd, model = given.text("cwd"), given.text("model")
        return await self._conversations.run(exchange, text, cwd=cwd, model=model, session=found)

    @cached_property
    def _conversations(self) -> Conversations:
        from zot.frontends.mcp_server.conversations import Conversations  # the first call imports the agent

        return Conversations(self._config, self._place, self._limits)

    async def _continue(self, exchange: Exchange, given: Arguments) -> Params:
        text = given.text("text", required=True)
        found = await self._sessions.find(given.text("session", required=True))
        return await self._conversations.run(exchange, text, session=found)

    async def _swarm_run(self, exchange: Exchange, given: Arguments) -> Params:
        from zot.frontends.mcp_server.swarm_task import SwarmTask

        task = SwarmTask(self._config, self._place, self._limits, exchange)
        return await task.run(given.text("task", required=True), given.text("cwd"), given.text("model"))
