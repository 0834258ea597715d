"""``web_search`` in ``--tools`` or the settings: web search and page reading that the provider runs itself.
zot sees no request and cannot ask about one, so a jail without network switches it off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zot.agent.feature import Feature

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.provider.model import Model

# Tools per dialect, by the names of ``Request.server_tools``.
_TOOLS = {
    "anthropic": ("web_search", "web_fetch"),
    "openai-responses": ("web_search",),
    "gemini": ("web_search", "web_fetch"),
}


class WebSearchFeature(Feature):
    name = "web_search"

    def join(self) -> None:
        self._reported = ""
        self._offer()

    def joined(self) -> None:
        self._offer()  # the jail has joined

    def for_child(self, child: Conversation) -> Feature:
        return WebSearchFeature(child)

    def tool_names(self) -> Iterable[str]:
        return (self.name,)

    def model_changed(self, before: Model) -> None:
        self._offer()

    def limits_changed(self) -> None:
        self._offer()

    def _offer(self) -> None:
        resolved, jail = self.conversation.resolved, self.conversation.workspace.jail
        tools = _TOOLS.get(resolved.api, ("web_search",) if resolved.provider.id == "openrouter" else ())
        reason = ""
        if not tools:
            reason = f"{resolved.provider.id} runs no web search"
        elif jail is not None and not jail.policy.network:
            reason = "the jail has no network (--jail=net allows it)"
        self.conversation.agent.server_tools = () if reason else tools
        if reason and reason != self._reported:
            self.notify(f"web_search is not offered: {reason}")
        self._reported = reason
