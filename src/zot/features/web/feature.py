"""The tools ``web_fetch`` and ``web_search`` of a conversation; their code is imported with the first call.
If the user named ``web_search`` and nothing asks, the provider searches within its own answer instead; zot does not see
those requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from zot.agent.feature import Feature
from zot.core.permission_modes import CallClass
from zot.errors import ToolError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.tool import Tool, ToolContext, ToolResult
    from zot.features.web.addresses import AddressPolicy
    from zot.features.web.cache import PageCache
    from zot.features.web.engines import Engine
    from zot.provider.messages import ToolCallBlock
    from zot.provider.model import Model

FETCH, SEARCH = "web_fetch", "web_search"

# Tools that providers run themselves, per dialect, by the names of ``Request.server_tools``.
_PROVIDER_TOOLS = {
    "anthropic": (SEARCH, FETCH),
    "openai-responses": (SEARCH,),
    "gemini": (SEARCH, FETCH),
}
_NO_NETWORK = "the jail has no network (--jail=net allows it)"


class WebShared:
    """What side conversations share: the cache, and the addresses that are allowed."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = allowed
        self._policy: AddressPolicy | None = None
        self._cache: PageCache | None = None

    @property
    def policy(self) -> AddressPolicy:
        if self._policy is None:
            from zot.features.web.addresses import AddressPolicy

            self._policy = AddressPolicy(self._allowed)
        return self._policy

    @property
    def cache(self) -> PageCache:
        if self._cache is None:
            from zot.features.web.cache import PageCache

            self._cache = PageCache()
        return self._cache


class WebFetchTool:
    name = FETCH
    description = "Fetch a URL: pages come as Markdown; text, JSON and PDF as text. Long ones in parts."
    schema: dict[str, Any] = {  # noqa: RUF012  (constant)
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "prompt": {"type": "string", "description": "A question about the page, if you need only its answer."},
            "offset": {"type": "integer", "description": "First character, to continue a long page."},
        },
        "required": ["url"],
    }
    read_only = True

    def __init__(self, feature: WebFeature) -> None:
        self._feature = feature

    def classify(self, args: dict[str, Any]) -> CallClass:
        """By host, so that "always" allows exactly this one."""
        from zot.features.web.client import host_of

        address = str(args.get("url", "")).strip()
        host = host_of(address if "://" in address else f"https://{address}")
        if host and self._feature.shared.policy.refuses(host):
            return CallClass("look")  # the call itself refuses it: a question would be useless
        return CallClass("look elsewhere", words=(host,), prefix=(host,)) if host else CallClass("look elsewhere")

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.web.web_fetch import web_fetch

        return await web_fetch(self._feature, args, context)


class WebSearchTool:
    name = SEARCH
    description = "Search the web: at most 10 results with title, URL and snippet."
    schema: dict[str, Any] = {  # noqa: RUF012  (constant)
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }
    read_only = True

    def __init__(self, feature: WebFeature) -> None:
        self._feature = feature

    def classify(self, args: dict[str, Any]) -> CallClass:
        """By engine, which is where the query goes."""
        engine = self._feature.engine()
        if engine is None and not self._feature.provider_tools():
            return CallClass("look")  # nothing is sent: the call says how to configure it
        name = engine.name if engine is not None else self._feature.conversation.resolved.provider.id
        return CallClass("look elsewhere", words=(name,), prefix=(name,))

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.web.web_search import web_search

        return await web_search(self._feature, args, context)


class WebFeature(Feature):
    name = "web"

    def __init__(self, conversation: Conversation, shared: WebShared | None = None) -> None:
        super().__init__(conversation)
        values = conversation.settings.values
        self.shared = shared or WebShared(values.web_allow_private)
        self._fetch, self._search = WebFetchTool(self), WebSearchTool(self)
        self._reported = ""
        self._offered: list[Tool] = []

    def join(self) -> None:
        values = self.conversation.settings.values
        if values.web_search.key_env:
            self.conversation.workspace.withhold(values.web_search.key_env)
        for problem in self.shared.policy.problems if values.web_allow_private else ():
            self.notify(problem)

    def joined(self) -> None:
        self._offer()  # the jail and the gate have joined

    def for_child(self, child: Conversation) -> Feature:
        return WebFeature(child, self.shared)

    def tool_names(self) -> Iterable[str]:
        return (FETCH, SEARCH)

    def tools(self, taken: Collection[str]) -> list[Tool]:
        self._offered = self._available()
        return self._offered

    def model_changed(self, before: Model) -> None:
        self._offer()

    def limits_changed(self) -> None:
        self._offer()

    def settings_changed(self) -> None:
        self._offer()

    # --- what is offered

    def _offer(self) -> None:
        hosted = self._hosted()
        self.conversation.agent.server_tools = hosted
        if self._available() != self._offered and not self.conversation.is_child:
            self.conversation.refresh_tools(own=True)
        reason = self._missing_search() if self._is_named(SEARCH) else ""
        if self._is_named(FETCH) and not reason and not self._has_network():
            reason = f"{FETCH} is not offered: {_NO_NETWORK}"
        if reason and reason != self._reported:
            self.notify(reason)
        self._reported = reason

    def _available(self) -> list[Tool]:
        """Named tools are missing with a notice. One that the model asked for is offered: its call gives the reason."""
        hosted = self._hosted()
        tools: list[Tool] = []
        if FETCH not in hosted and (self._has_network() or not self._is_named(FETCH)):
            tools.append(self._fetch)
        if SEARCH not in hosted and not (self._is_named(SEARCH) and self._missing_search()):
            tools.append(self._search)
        return tools

    def _hosted(self) -> tuple[str, ...]:
        """The provider's own tools, if the user named the search and chose no engine, and nothing asks about calls."""
        gate = self.conversation.agent.gate
        is_asked = gate is not None and not getattr(gate, "allows_everything", False)
        if not self._is_named(SEARCH) or is_asked or not self._has_network() or self.engine() is not None:
            return ()
        return tuple(name for name in self.provider_tools() if name == SEARCH or not self._is_named(FETCH))

    def _missing_search(self) -> str:
        if not self._has_network():
            return f"{SEARCH} is not offered: {_NO_NETWORK}"
        if self.engine() is not None or self.provider_tools():
            return ""
        provider = self.conversation.resolved.provider.id
        return f"{SEARCH} is not offered: {provider} runs no web search; set web_search in config.json (zot docs web)"

    def _is_named(self, name: str) -> bool:
        named = self.services.config.tools
        return name in (self.services.settings.values.tools if named is None else named)

    def _has_network(self) -> bool:
        jail = self.conversation.workspace.jail
        return jail is None or jail.policy.network

    # --- for the tools

    def require_network(self, tool: str) -> None:
        """The jail may have changed since the tool was offered."""
        if not self._has_network():
            raise ToolError(f"{tool}: {_NO_NETWORK}")

    def engine(self) -> Engine | None:
        """The search engine of the settings or of the environment; None if the provider searches."""
        setting = self.conversation.settings.values.web_search
        if setting.engine == "provider":
            return None
        from zot.features.web.engines import chosen_engine

        if not setting.engine and not setting.url and self.provider_tools():
            return None
        return chosen_engine(setting, self.services.environ)

    def provider_tools(self) -> tuple[str, ...]:
        resolved = self.conversation.resolved
        return _PROVIDER_TOOLS.get(resolved.api, (SEARCH,) if resolved.provider.id == "openrouter" else ())

    async def approve_redirect(self, call: ToolCallBlock, address: str, origin: str) -> None:
        """Ask guards and the gate about a redirect to another host, like about a call of its own."""
        hop = type(call)(f"{call.id}-redirect", FETCH).with_args({"url": address})
        if reason := await self._denial(hop, origin):
            raise ToolError(f"the server redirects to {address[:300]}, which was not followed: {reason}")

    async def _denial(self, call: ToolCallBlock, origin: str) -> str:
        """Empty if the call may run as it is."""
        from zot.core.interceptors import HandledCall, review_call

        agent = self.conversation.agent
        reviewed = await review_call(agent.interceptors, call, origin, agent.report_interceptor)
        if isinstance(reviewed, str):
            return reviewed
        if isinstance(reviewed, HandledCall) or reviewed.args != call.args:
            return "a guard would change it; fetch that address if you need it"
        try:
            answer = await agent.gate.authorize(reviewed, origin) if agent.gate is not None else None
        except Exception as error:
            return f"the confirm gate failed: {error or type(error).__name__}"
        if isinstance(answer, str):
            return answer
        return "" if answer is None or answer.args == call.args else "its address was changed"
