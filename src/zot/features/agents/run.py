"""One run of an agent: a side conversation with its own context, tools and transcript, within the limits of its
conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.system_prompt import SystemPrompt, one_line
from zot.core import events
from zot.core.permission_gate import PermissionGate, preview
from zot.core.tool import spec_of
from zot.errors import StepLimitReached, ZotError
from zot.features.agents.definitions import AgentDefinition, zot_names
from zot.features.model_roles import find_requested_model
from zot.provider.model import REASONING_LEVELS

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.agent import Outcome
    from zot.core.session.session import Session
    from zot.core.tool import Tool
    from zot.features.agents.narrow_gate import NarrowGate
    from zot.provider.messages import ToolCallBlock

_WITHHELD = ("agent", "more_tools", "swarm_spawn", "agent_wait", "agent_send", "agent_stop", "agent_list")
_ACTIVITY = 100  # characters
_SHOWN = 3  # activities in the tool's row
_JOBS = "jobs"
_SMALL = "small"  # the role of a model, as a value of ``model``


class AgentReport(msgspec.Struct, frozen=True):
    """What the caller gets. ``error`` is empty if the agent answered; ``files`` were changed with tools."""

    text: str
    error: str = ""
    steps: int = 0
    files: tuple[str, ...] = ()
    transcript: Path | None = None
    tokens: int = 0
    cost_usd: float = 0.0


class AgentRun:
    """``show`` receives the lines that describe what the agent does now."""

    def __init__(
        self,
        conversation: Conversation,
        definition: AgentDefinition,
        transcript: Path | None,
        show: Callable[[str], None],
        problems: Callable[[str], None],
    ) -> None:
        self._conversation = conversation
        self._definition = definition
        self._transcript = transcript
        self._show = show
        self._report = problems
        self._steps = 0
        self._activities: list[str] = []
        self._files: dict[str, None] = {}
        self._writes: dict[str, str] = {}  # path by call

    async def run(self, task: str) -> AgentReport:
        child = await self._create()
        session = self._keep_transcript(child)
        child.subscribe(self._observe, events.TurnStart, events.ToolCall, events.ToolResultEvent)
        try:
            outcome = await child.prompt(f" {task}" if task.startswith("/") else task)
        finally:
            if session is not None:
                session.close()
        if outcome.stop == "aborted":
            raise asyncio.CancelledError
        return self._result(child, outcome)

    # --- before

    async def _create(self) -> Conversation:
        definition, conversation = self._definition, self._conversation
        tools = self._tools()
        child = conversation.child(tools=tools, system=self._system(tools), role=f"agent {definition.name}")
        await self._choose_model(child)
        child.agent.gate = self._gate() or child.agent.gate
        if definition.max_steps:
            limit = child.agent.max_steps
            child.agent.max_steps = min(definition.max_steps, limit) if limit else definition.max_steps
        if definition.effort:
            self._set_effort(child)
        return child

    def _tools(self) -> list[Tool]:
        """Those that the file names, of those that the conversation may use."""
        definition, toolset = self._definition, self._conversation.toolset
        offered = {tool.name: tool for tool in self._conversation.agent.tools if tool.name not in _WITHHELD}
        on_demand = {name for name in toolset.on_demand if name not in (*_WITHHELD, *offered)}
        known, notes = [*offered, *on_demand], list(definition.notes)
        names = definition.tools
        wanted = list(offered) if names is None else zot_names(names, known, notes)
        barred = set(zot_names(definition.disallowed, known, notes))
        wanted = [name for name in wanted if name not in barred]
        if notes and definition.file is not None:
            self._report(f"agent {definition.name} ({definition.file}): {'; '.join(notes)}")
        if "bash" in wanted and "bash" in offered and _JOBS not in (*barred, *wanted) and definition.mode != "plan":
            on_demand.add(_JOBS)  # for commands that it starts in the background
            wanted.append(_JOBS)
        lent = toolset.lend(name for name in wanted if name in on_demand)
        return [*(offered[name] for name in wanted if name in offered), *lent]

    def _system(self, tools: list[Tool]) -> str:
        system = self._conversation.agent.system
        assert isinstance(system, SystemPrompt)
        given: dict[str, Any] = {**system.parts(), "custom": self._prompt(), "appends": ()}
        jail = str(given.pop("jail"))
        del given["brief"]
        own = SystemPrompt(**given, jail=(lambda: jail) if jail else None)
        return own(tuple(map(spec_of, tools)))

    def _prompt(self) -> str:
        prompt, skills = self._definition.prompt, self._definition.skills
        loads = f"\n\nLoad these skills with the `skill` tool before you start: {', '.join(skills)}."
        return prompt + loads if skills else prompt

    async def _choose_model(self, child: Conversation) -> None:
        name = self._definition.model
        if name in ("", "inherit", "default", self._conversation.model.id):
            return
        if name == _SMALL:
            find = self._conversation.agent.find_side_model
            if find is not None and (found := await find(_SMALL)) is not None:
                child.agent.replace_model(*found)
            return
        try:
            resolved = await find_requested_model(self._conversation, name)
        except ZotError as error:
            present = self._conversation.model.id
            self._report(f"agent {self._definition.name}: model {one_line(name, _ACTIVITY)}: {error}; using {present}")
            return
        if resolved.model is not child.agent.model:
            child.agent.replace_model(self._conversation.services.client_for(resolved), resolved.model)

    def _gate(self) -> NarrowGate | None:
        definition, parent = self._definition, self._conversation.agent.gate
        if not definition.mode:
            return None
        from zot.features.agents.narrow_gate import NarrowGate
        from zot.features.permissions.feature import CallClassifier

        conversation, toolset = self._conversation, self._conversation.toolset
        classify = (
            parent.nature
            if isinstance(parent, PermissionGate)
            else CallClassifier(
                conversation.workspace,
                conversation.home,
                lambda: {tool.name for tool in toolset.own} | toolset.lent.keys(),
                lambda name: toolset.find_own(name) or conversation.agent.toolbox.get(name),
            )
        )
        return NarrowGate(
            parent,
            definition.name,
            classify,
            only_reads=definition.mode == "plan",
            never_asks=definition.mode == "dontAsk",
        )

    def _set_effort(self, child: Conversation) -> None:
        level = self._definition.effort.lower()
        if level in REASONING_LEVELS:
            child.agent.reasoning = level
        else:
            expected = ", ".join(REASONING_LEVELS)
            self._report(
                f"agent {self._definition.name}: effort {one_line(level, _ACTIVITY)}: expected one of {expected}"
            )

    def _keep_transcript(self, child: Conversation) -> Session | None:
        """Written like a session, beside that of the conversation."""
        if self._transcript is None:
            return None
        sessions, model = self._conversation.sessions, child.agent.model
        session = sessions.create(model.provider, model.id, self._transcript)
        session.on_failure = lambda text, lost: self._report(f"agent {self._definition.name}: {text}")
        child.agent.readers.subscribe(session.on_event, *events.RECORDED, first=True)
        child.agent.session_id = session.id
        return session

    # --- meanwhile

    def _observe(self, event: events.AgentEvent) -> None:
        match event:
            case events.TurnStart(step):
                self._steps = step
                self._update()
            case events.ToolCall(call):
                self._activities.append(_activity(call))
                if call.name in ("write", "edit"):
                    self._writes[call.id] = str((call.args or {}).get("path") or "")
                self._update()
            case events.ToolResultEvent(id, is_error):
                if (path := self._writes.pop(id, "")) and not is_error:
                    self._files[path] = None
            case _:
                pass

    def _update(self) -> None:
        rows = [f"{self._definition.name}: step {self._steps}", *(f"  {row}" for row in self._activities[-_SHOWN:])]
        self._show("\n".join(rows) + "\n")

    # --- after

    def _result(self, child: Conversation, outcome: Outcome) -> AgentReport:
        answers = [message.text() for message in child.messages if message.role == "assistant"]
        usage = child.run_usage()
        error = outcome.refused or (str(outcome.error) if outcome.error is not None else "")
        if isinstance(outcome.error, StepLimitReached):
            error = f"it was stopped after {self._steps} steps (maxTurns)"
        return AgentReport(
            text=next((text for text in reversed(answers) if text.strip()), ""),
            error=error,
            steps=self._steps,
            files=tuple(self._files),
            transcript=self._transcript if self._transcript is not None and self._transcript.exists() else None,
            tokens=usage.input_tokens + usage.output_tokens,
            cost_usd=usage.cost_usd,
        )


def _activity(call: ToolCallBlock) -> str:
    return one_line(f"{call.name} {preview(call.value)}", _ACTIVITY)
