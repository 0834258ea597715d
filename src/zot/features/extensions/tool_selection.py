"""Tools that an extension switched off for this session (``tools.active``). It cannot switch off those of a guard, nor
switch on what flags and settings do not permit."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from zot.core.events import AgentEvent, SessionStarted

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.tool import Tool
    from zot.features.extensions.host import ExtensionHost


class ToolSelection:
    def __init__(self, host: ExtensionHost, conversation: Conversation) -> None:
        self._host = host
        self._conversation = conversation
        self._off: frozenset[str] = frozenset()
        conversation.subscribe(self._session_started, SessionStarted)

    def choose(self, names: Collection[str]) -> None:
        """Only these and the tools of guards are active; tools that appear later are too."""
        offered = {tool.name for tool in self._conversation.toolset.permitted()}
        self._off = frozenset(offered - set(names) - self._of_guards())
        self._host.activate(tuple(names))
        self._conversation.refresh_tools()

    def limit(self, tools: list[Tool]) -> list[Tool]:
        return [tool for tool in tools if tool.name not in self._off] if self._off else tools

    def _of_guards(self) -> set[str]:
        return {name for child in self._host.children if child.guard for name in child.tools}

    def _session_started(self, event: AgentEvent) -> None:
        if self._off:
            self._off = frozenset()
            self._conversation.refresh_tools()
