"""Agents in a conversation: the tool ``agent``, ``/agents``, and ``@agent-NAME`` in a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from zot.agent.feature import Feature, PromptDraft
from zot.agent.slash_commands import CommandAnswer, Display, SlashCommand
from zot.agent.tool_set import ON_DEMAND
from zot.agent.tools.registry import ALL_TOOLS
from zot.core.session.store import AGENTS
from zot.features.agents.builtin import BUILTIN
from zot.features.agents.definitions import AgentDefinition, dirs_in, dirs_of, listed, read_agents, zot_names
from zot.provider.messages import Message, TextBlock, utc_now

if TYPE_CHECKING:
    from pathlib import Path

    from zot.core.tool import Tool
    from zot.features.agents.run import AgentRun

MENTION = "@agent-"
_MENTIONED = re.compile(r"(?<!\S)@agent-([\w.:-]+)")
_ASKED = (
    "[zot: the user asks for {names} by name. Call the tool `agent` with the part of the prompt that is for {it}, and "
    "use the answer.]"
)


class AgentsFeature(Feature):
    """Files are read when the model, a mention or ``/agents`` needs them, and again for ``/agents``."""

    name = "agents"

    def join(self) -> None:
        self._agents: dict[str, AgentDefinition] | None = None
        self._reported: set[str] = set()
        self._runs = 0

    # --- the agents

    @property
    def agents(self) -> dict[str, AgentDefinition]:
        if self._agents is None:
            problems: list[str] = []
            workspace = self.conversation.workspace
            self._agents = read_agents(dirs_of(self.conversation), workspace.jailed_files, problems, BUILTIN)
            for text in problems:
                self.report(text)
        return self._agents

    def find(self, name: str) -> AgentDefinition | None:
        """An agent by its name in any case; files are read again for an unknown one."""
        for again in (False, True):
            if again:
                self._agents = None
            agents = self.agents
            found = agents.get(name) or next((one for one in agents.values() if one.name.lower() == name.lower()), None)
            if found is not None:
                return found
        return None

    def report(self, text: str) -> None:
        """One notice per problem."""
        if text not in self._reported:
            self._reported.add(text)
            self.notify(text)

    def create_run(self, definition: AgentDefinition, show: Callable[[str], None]) -> AgentRun:
        from zot.features.agents.run import AgentRun

        self._runs += 1
        return AgentRun(self.conversation, definition, self._transcript(definition), show, self.report)

    def _transcript(self, definition: AgentDefinition) -> Path | None:
        """``SESSION.agents/NUMBER-NAME.jsonl`` beside the session; None without a session."""
        session = self.conversation.session
        if session is None:
            return None
        folder = session.path.with_suffix(AGENTS)
        name = re.sub(r"[^\w.-]+", "-", definition.name)
        number = self._runs
        while (path := folder / f"{number}-{name}.jsonl").exists():
            number += 1
        self._runs = number
        return path

    # --- what it adds

    def tools(self, taken: Collection[str]) -> list[Tool]:
        from zot.features.agents.tool import AgentTool

        return [AgentTool(self, self.agents)]

    def slash_commands(self) -> Iterable[SlashCommand]:
        yield SlashCommand("agents", "list the agents that the model can delegate to", source="agents")

    async def run_slash_command(self, name: str, arguments: str) -> CommandAnswer:
        self._agents = None
        known = {*ALL_TOOLS, *ON_DEMAND, "skill", *self.conversation.agent.toolbox}
        return Display("agents", "\n".join(_line(agent, known) for agent in listed(self.agents)))

    def mentions(self) -> Iterable[tuple[str, str]]:
        return [(f"agent-{one.name}", one.description) for one in listed(self.agents)]

    def on_prompt(self, draft: PromptDraft) -> None:
        """The prompt stays as typed; a note before it names the agents."""
        if MENTION not in draft.text or draft.replaces:
            return
        typed = [name.rstrip(".:-") for name in _MENTIONED.findall(draft.text)]
        names = [name for name in dict.fromkeys(typed) if name in self.agents]
        for name in typed:
            if name not in self.agents:
                self.notify(f"@agent-{name}: no agent is called {name}; /agents lists them")
        if names:
            self.conversation.toolset.activate(["agent"])
            asked = f"the agent {names[0]}" if len(names) == 1 else f"the agents {', '.join(names)}"
            note = _ASKED.format(names=asked, it="it" if len(names) == 1 else "each")
            self.conversation.add_message(Message("user", (TextBlock(note),), utc_now()))

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        problems: list[str] = []
        agents = read_agents(dirs_in(cwd, home), None, problems)
        return [*problems, *(f"agent {one.file}: {note}" for one in agents.values() for note in one.notes)]


def _line(agent: AgentDefinition, known: Collection[str]) -> str:
    where = agent.label if agent.file is None else f"{agent.label}, {agent.file}"
    notes = list(agent.notes)
    zot_names((*(agent.tools or ()), *agent.disallowed), known, notes)
    return f"{agent.name}: {agent.description} ({'; '.join((where, *notes))})"
