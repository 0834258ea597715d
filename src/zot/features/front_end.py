"""The tools and interceptors of the front end itself, for instance those of a program that embeds zot."""

from __future__ import annotations

from collections.abc import Collection

from zot.agent.feature import Feature
from zot.core.tool import Tool
from zot.errors import UsageError


class FrontEndFeature(Feature):
    name = "front_end"

    def join(self) -> None:
        for interceptor in self.services.front_end.interceptors:
            self.conversation.agent.add_interceptor(interceptor)

    def tools(self, taken: Collection[str]) -> list[Tool]:
        """UsageError if a name is used twice."""
        used = dict.fromkeys(taken, "a built-in tool")
        for tool in self.services.front_end.tools:
            if owner := used.get(tool.name):
                raise UsageError(f'tools: "{tool.name}" is already {owner}; rename yours')
            used[tool.name] = "one of your tools"
        return list(self.services.front_end.tools)
