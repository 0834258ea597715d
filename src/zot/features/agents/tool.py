"""The tool ``agent``: delegates a task to an agent and returns its answer within the call. Several calls of one
message run side by side."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from zot.agent.system_prompt import one_line
from zot.agent.tools.arguments import ToolArguments
from zot.core.events import ToolProgress
from zot.core.permission_modes import CallClass
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError, closest_match
from zot.features.agents.definitions import listed

if TYPE_CHECKING:
    from pathlib import Path

    from zot.features.agents.definitions import AgentDefinition
    from zot.features.agents.feature import AgentsFeature
    from zot.features.agents.run import AgentReport

AGENT = "agent"
_MOST_RUNNING = 8
_MOST_LISTED = 40
_DESCRIPTION = 160  # characters
_LONGEST = 48_000  # characters of an answer


class AgentTool:
    name = AGENT
    read_only = False
    parallel = True
    deferred = True  # not in the list of tools of the system prompt

    def __init__(self, feature: AgentsFeature, agents: dict[str, AgentDefinition]) -> None:
        self._feature = feature
        self._running = asyncio.Semaphore(_MOST_RUNNING)
        rows = [f"- {one.name}: {one_line(one.description, _DESCRIPTION)}" for one in listed(agents)[:_MOST_LISTED]]
        more = len(agents) - len(rows)
        self.description = "\n".join(
            [
                "Delegate a task to an agent with its own context; it sees nothing of this conversation, so the task "
                "must contain everything. Returns its answer. Several calls in one message run side by side. Agents:",
                *rows,
                *([f"- and {more} more, which the user may name"] if more > 0 else []),
            ]
        )
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "agent": {"type": "string", "description": "Name of the agent."},
                "task": {"type": "string", "description": "What to do, and what to answer."},
            },
            "required": ["agent", "task"],
        }

    def classify(self, args: dict[str, Any]) -> CallClass:
        """Starting one changes nothing; each of its calls is decided by itself."""
        return CallClass("look")

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        definition = self._find(arguments.filled_text("agent"))
        task = arguments.filled_text("task")

        def show(text: str) -> None:
            if context.report is not None:
                context.report(ToolProgress(context.call_id, text, replace=True))

        if self._running.locked():
            show(f"{definition.name}: waits; {_MOST_RUNNING} agents are running\n")
        async with self._running:
            run = self._feature.create_run(definition, show)
            report = await run.run(task)
        return _result(definition, report)

    def _find(self, name: str) -> AgentDefinition:
        wanted = name.removeprefix("@").removeprefix("agent-").strip()
        found = self._feature.find(name) or self._feature.find(wanted)
        if found is None:
            known = self._feature.agents
            close = closest_match(wanted, known)
            hint = f"did you mean {close}?" if close else f"available: {', '.join(sorted(known)[:_MOST_LISTED])}"
            raise ToolError(f"agent: no agent is called {name[:60]!r}; {hint}")
        return found


def _result(definition: AgentDefinition, report: AgentReport) -> ToolResult:
    text = report.text
    if len(text) > _LONGEST:
        where = f"; all of it is in {report.transcript}" if report.transcript is not None else ""
        text = f"{text[:_LONGEST]}\n[… {len(text) - _LONGEST} more characters{where}]"
    lines = [text or "(it answered nothing)"]
    if report.error:
        lines.append(f"[agent {definition.name} failed: {report.error}]")
    if report.files:
        lines.append(f"[changed: {', '.join(report.files)}]")
    if report.transcript is not None and (report.error or report.files):
        lines.append(f"[transcript: {report.transcript}]")
    return text_result("\n".join(lines), is_error=bool(report.error), details=_details(definition, report))


def _details(definition: AgentDefinition, report: AgentReport) -> dict[str, Any]:
    transcript: Path | None = report.transcript
    return {
        "agent": definition.name,
        "colour": definition.colour,
        "steps": report.steps,
        "tokens": report.tokens,
        "cost_usd": report.cost_usd,
        "files": list(report.files),
        "transcript": str(transcript) if transcript is not None else "",
    }
