"""The tools of a conversation: built-in ones, those of features, and on-demand tools.
An on-demand tool is named in a row of ``FEATURES``. It is offered once it is activated: named in ``--tools`` or the
setting ``tools``, by the model with ``more_tools``, or by a feature. Its feature joins then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zot.agent.features import FEATURES
from zot.agent.services import ToolChoice
from zot.agent.settings import Settings
from zot.agent.tools.registry import (
    ALL_TOOLS,
    EXTRAS,
    SWARM,
    SWARM_NAMES,
    bash_limits,
    builtin_tools,
    unknown_tools,
)
from zot.errors import NotThere, closest_match

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.tool import Tool

ON_DEMAND = {name: summary for row in FEATURES for name, summary in row.on_demand.items()}


def unknown_tool_settings(settings: Settings) -> list[str]:
    """One line per unknown name in the setting ``tools``, and per probable typo in ``tools_off``, which may also name
    tools of extensions and MCP servers."""
    known = sorted({*EXTRAS, *ON_DEMAND})
    lines = [
        f"{settings.path}: tools: no tool named {name}; available: {', '.join(known)}"
        for name in unknown_tools(settings.values.tools, ("skill", *ON_DEMAND))
    ]
    every = (*ALL_TOOLS, *known, "skill")
    for name in unknown_tools(settings.values.tools_off, every):
        if near := closest_match(name, every):
            lines.append(f"{settings.path}: tools_off: no tool named {name}; did you mean {near}?")
    return lines


class ToolSet:
    """``own`` are the tools of zot and the front end; MCP servers and extensions have higher priorities."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._services = services = conversation.services
        self._features = conversation.features
        always = tuple(tool.name for tool in services.front_end.tools)
        off = services.settings.values.tools_off if services.config.tools is None else ()
        self.choice = ToolChoice(services.config.tools, always, {SWARM: SWARM_NAMES}, off)
        self.own: list[Tool] = []
        self.lent: dict[str, Tool] = {}  # on-demand tools that only a side conversation has
        self._activated: set[str] = set()
        self.name(self._named)

    @property
    def _named(self) -> tuple[str, ...]:
        names = self._services.config.tools
        return self._services.settings.values.tools if names is None else names

    # --- on-demand tools

    @property
    def on_demand(self) -> dict[str, str]:
        """Name and summary of the tools that the model may activate; none for a grammar-constrained model."""
        conversation = self._conversation
        if (
            self.choice.names is not None
            or conversation.model.tool_calls
            or conversation.resolved.provider.api == "local"
        ):
            return {}
        hidden = (*self._named, *self.choice.off)
        return {name: text for name, text in ON_DEMAND.items() if text and name not in hidden}

    def join_named(self) -> None:
        """Let the features of activated tools join."""
        for name in sorted(self._activated):
            self._features.join_for_tool(self._conversation, name)

    def name(self, names: Iterable[str]) -> None:
        """Activate tools before the others are known, as ``--tools`` does."""
        self._activated.update(name for name in names if name in ON_DEMAND and self.choice.permits(name))

    def activate(self, names: Iterable[str]) -> None:
        """Offer on-demand tools from the next model call on. Those that the user excluded, and names that a tool of an
        extension or of the front end has, are ignored."""
        taken = {tool.name for tool in self.permitted()}
        new = {name for name in names if name in ON_DEMAND and name not in taken and self.choice.permits(name)}
        if new:
            self._activated |= new
            self.join_named()
            self._conversation.refresh_tools(own=True)

    def lend(self, names: Iterable[str]) -> list[Tool]:
        """On-demand tools for a side conversation, without offering them in this one."""
        taken = {tool.name for tool in self.permitted()}
        wanted = [name for name in names if name in ON_DEMAND and name not in taken and self.choice.permits(name)]
        for name in wanted:
            feature = self._features.join_for_tool(self._conversation, name)
            offered = [] if feature is None else feature.tools(taken)
            self.lent |= {tool.name: tool for tool in offered if tool.name == name}
        return [self.lent[name] for name in wanted if name in self.lent]

    def find_own(self, name: str) -> Tool | None:
        """A tool of zot itself, offered here or lent."""
        return next((tool for tool in self.own if tool.name == name), None) or self.lent.get(name)

    # --- what is offered

    def rebuild(self) -> None:
        """The tools of zot and of the front end."""
        tools = self._builtin()
        hidden = ON_DEMAND.keys() - self._activated
        for feature in self._features:
            if feature.priority == 0:
                own = feature.tools({tool.name for tool in tools})
                tools += [tool for tool in own if feature.name == "front_end" or tool.name not in hidden]
        self.own = tools

    def current(self) -> list[Tool]:
        """All tools offered now."""
        tools = self.permitted()
        for feature in self._features:
            tools = feature.limit_tools(tools)
        return tools

    def permitted(self) -> list[Tool]:
        """All tools that flags and settings permit."""
        tools = list(self.own)
        others = [feature for feature in self._features if feature.priority]
        for feature in others:
            tools = feature.replace_tools(tools)
        for feature in sorted(others, key=lambda each: each.priority):
            tools += feature.tools({tool.name for tool in tools})
        return self.choice.filter(tools)

    def _builtin(self) -> list[Tool]:
        """Those of ``--tools``, else all."""
        config, values = self._services.config, self._services.settings.values
        if config.tools == ():
            return []
        withheld = self._services.withheld
        names = [name for name in (ALL_TOOLS if config.tools is None else config.tools) if name not in withheld]
        limits = bash_limits(values)
        tools: list[Tool] = list(builtin_tools(self._services.workspace, names=names, limits=limits))
        for feature in self._features:
            tools = [feature.wrap_tool(tool) for tool in tools]
        return tools

    def check_names(self, named: Sequence[str], offered: Iterable[Tool]) -> str:
        """Warn about an unknown name in ``--tools`` while features are starting; NotThere afterwards."""
        others = (name for feature in self._features for name in feature.tool_names())
        known = sorted({*ALL_TOOLS, *EXTRAS, *ON_DEMAND, "skill", *(tool.name for tool in offered), *others})
        for name in unknown_tools(named, known):
            text = f"no tool named {name}; available: {', '.join(known)}"
            if not any(feature.is_starting for feature in self._features):
                raise NotThere(text)
            return f"{text}, and tools of extensions that are still starting"
        return ""
