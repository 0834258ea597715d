"""The tools of a conversation: the built-in ones its model gets, and those that features offer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zot.agent.services import Services, ToolChoice
from zot.agent.tools.registry import ALL_TOOLS, DEFAULT_TOOLS, SWARM, SWARM_NAMES, Limits, builtin_tools, unknown_tools
from zot.core.tool import Tool
from zot.errors import NotThere
from zot.provider.model import Model

if TYPE_CHECKING:
    from zot.agent.features import FeatureSet
    from zot.agent.settings import Values


def bash_limits(values: Values) -> Limits:
    return Limits(int(values.bash_timeout_s), int(values.bash_timeout_max_s))


class ToolSet:
    """``own`` are the tools of zot and of the front end; MCP servers and extensions have higher priorities."""

    def __init__(self, services: Services, features: FeatureSet) -> None:
        self._services = services
        self._features = features
        always = tuple(tool.name for tool in services.front_end.tools)
        self.choice = ToolChoice(services.config.tools, always, {SWARM: SWARM_NAMES})
        self.own: list[Tool] = []

    def rebuild(self, model: Model) -> None:
        """The tools of zot and of the front end, for this model."""
        tools = self._builtin(model)
        for feature in self._features:
            if feature.tool_priority == 0:
                tools += feature.tools({tool.name for tool in tools})
        self.own = tools

    def current(self) -> list[Tool]:
        """All tools offered at this moment."""
        tools = list(self.own)
        others = [feature for feature in self._features if feature.tool_priority]
        for feature in sorted(others, key=lambda each: each.tool_priority):
            tools += feature.tools({tool.name for tool in tools})
        return self.choice.keep(tools)

    def _builtin(self, model: Model) -> list[Tool]:
        """Those named with ``--tools``, else the default set and the settings' extras; a model constrained by a grammar
        needs the ones that search."""
        config, values = self._services.config, self._services.settings.values
        if config.tools == ():
            return []
        usual = ALL_TOOLS if model.tool_calls else (*DEFAULT_TOOLS, *values.tools)
        withheld = self._services.withheld
        names = [name for name in (usual if config.tools is None else config.tools) if name not in withheld]
        limits = bash_limits(values)
        tools: list[Tool] = list(builtin_tools(self._services.workspace, names=names, limits=limits))
        for feature in self._features:
            tools = [feature.wrap_tool(tool) for tool in tools]
        return tools

    def check_names(self, named: Sequence[str], offered: Iterable[Tool]) -> str:
        """A warning about an unknown name in ``--tools`` while features are starting; NotThere once they have."""
        others = (name for feature in self._features for name in feature.tool_names())
        known = sorted({*ALL_TOOLS, "skill", *(tool.name for tool in offered), *others})
        for name in unknown_tools(named, known):
            text = f"there is no tool named {name}; there are {', '.join(known)}"
            if not any(feature.is_starting for feature in self._features):
                raise NotThere(text)
            return f"{text}, and what extensions that are still starting may add"
        return ""
