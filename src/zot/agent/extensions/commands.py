"""Running an extension's slash command and doing what it answers, through the surface of the mode."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from zot.agent.extensions.child_requests import Panels
from zot.agent.extensions.process.child import Child, new_id
from zot.agent.extensions.registry import Registry
from zot.agent.extensions.surface import Surface
from zot.errors import ExtensionError
from zot.wire import frames, limits


class ToolPrompt(msgspec.Struct, frozen=True):
    """Run this tool, then let the model answer ``prompt`` with the result before it."""

    extension: str
    prompt: str
    tool: str
    args: dict[str, Any]


class CommandResult(msgspec.Struct, frozen=True):
    """``error`` is for the status line; a ``tool_prompt`` is the mode's to run (``Agent.prompt(first_call=…)``)."""

    error: str = ""
    tool_prompt: ToolPrompt | None = None


class Commands:
    def __init__(self, registry: Registry, panels: Panels, surface: Surface) -> None:
        self._registry = registry
        self._panels = panels
        self._surface = surface

    async def run(self, name: str, args: str) -> CommandResult:
        found = self._registry.command(name)
        if found is None:
            return CommandResult(f"unknown command /{name}")
        child, registered = found
        question = frames.CommandInvoked(id=new_id(), name=registered, args=args.strip())
        try:
            answer: frames.CommandResponse = await child.ask(question, limits.COMMAND_REPLY)
            return self._obey(child, answer)
        except ExtensionError as error:
            return CommandResult(f"extension /{registered}: {error}")

    def _obey(self, child: Child, answer: frames.CommandResponse) -> CommandResult:
        if answer.error:
            raise ExtensionError(answer.error)
        match answer.action:
            case "prompt":
                if answer.prompt.strip():
                    self._surface.submit(child.name, answer.prompt)
            case "insert":
                self._surface.insert(child.name, answer.insert)
            case "display":
                self._surface.display(child.name, answer.display)
            case "open_panel":
                self._panels.open(child, answer.open_panel)
            case "tool_prompt":
                return CommandResult(tool_prompt=_tool_prompt(child, answer))
            case "" | "noop":
                pass
            case other:
                raise ExtensionError(f"unknown action {other[:40]!r}")
        return CommandResult()


def _tool_prompt(child: Child, answer: frames.CommandResponse) -> ToolPrompt:
    if not (answer.prompt.strip() and answer.tool_name and isinstance(answer.tool_args, dict | None)):
        raise ExtensionError("tool_prompt needs prompt, tool_name and an object tool_args")
    return ToolPrompt(child.name, answer.prompt, answer.tool_name, cast("dict[str, Any]", answer.tool_args or {}))
