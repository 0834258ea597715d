"""An extension's slash command: sends it and returns the extension's answer as one value of
``agent/slash_commands.py``. Only a panel is opened here. A tool call in an answer gets a new id."""

from __future__ import annotations

import os
from typing import Any, cast

import msgspec

from zot.agent.slash_commands import (
    CommandAnswer,
    Display,
    FailedCommand,
    Insert,
    Noop,
    PanelAnswer,
    PanelRefused,
    PromptAnswer,
    ToolPrompt,
)
from zot.core.state import InitialToolCall
from zot.errors import ExtensionError
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.features.extensions.panels import PanelRequests
from zot.features.extensions.registry import NameRegistry
from zot.provider.messages import ToolCallBlock
from zot.wire import extension_frames, limits


class CommandInvoker:
    def __init__(self, registry: NameRegistry, panels: PanelRequests) -> None:
        self._registry = registry
        self._panels = panels

    async def run(self, name: str, args: str) -> CommandAnswer:
        found = self._registry.command(name)
        if found is None:
            return FailedCommand(f"unknown command /{name}")
        child, registered = found
        question = extension_frames.CommandInvoked(id=new_request_id(), name=registered, args=args.strip())
        try:
            answer: extension_frames.CommandResponse = await child.ask(question, limits.COMMAND_REPLY)
            return self._act(child, answer)
        except ExtensionError as error:
            return FailedCommand(f"extension /{registered}: {error}")

    async def press(self, child: ExtensionChild, name: str, text: str | None) -> CommandAnswer:
        """Ask what a key does; ``text`` is the prompt being written, if the extension may know it."""
        params = {"name": name} if text is None else {"name": name, "text": text}
        question = extension_frames.Request(id=new_request_id(), method="key", params=params)
        try:
            answer: extension_frames.Response = await child.ask(question, limits.KEY_REPLY)
            if answer.error is not None:
                raise ExtensionError(answer.error.message or answer.error.code)
            fields = cast("dict[str, Any]", answer.result) if isinstance(answer.result, dict) else {}
            given = {**fields, "type": "command_response", "id": question.id}
            return self._act(child, msgspec.convert(given, extension_frames.CommandResponse))
        except msgspec.ValidationError as error:
            return FailedCommand(f"{child.name}: key {name}: {error}")
        except ExtensionError as error:
            return FailedCommand(f"{child.name}: key {name}: {error}")

    def _act(self, child: ExtensionChild, answer: extension_frames.CommandResponse) -> CommandAnswer:
        if answer.error:
            raise ExtensionError(answer.error)
        match answer.action:
            case "prompt":
                return PromptAnswer(child.name, answer.prompt) if answer.prompt.strip() else Noop(child.name)
            case "tool_prompt":
                return ToolPrompt(child.name, answer.prompt, _first_call(child, answer))
            case "insert":
                return Insert(child.name, answer.insert) if answer.insert else Noop(child.name)
            case "display":
                return Display(child.name, answer.display)
            case "open_panel" if answer.open_panel is None:
                return Noop(child.name)
            case "open_panel":
                panel = self._panels.claimed(child, answer.open_panel)
                return PanelAnswer(child.name, panel) if panel is not None else PanelRefused(child.name)
            case "" | "noop":
                return Noop(child.name)
            case other:
                raise ExtensionError(f"unknown action {other[:40]!r}")


def _first_call(child: ExtensionChild, answer: extension_frames.CommandResponse) -> InitialToolCall:
    if not (answer.prompt.strip() and answer.tool_name and isinstance(answer.tool_args, dict | None)):
        raise ExtensionError("tool_prompt: expected prompt, tool_name and an object tool_args")
    arguments = msgspec.json.encode(cast("dict[str, Any]", answer.tool_args or {})).decode()
    return InitialToolCall(ToolCallBlock(f"command-{os.urandom(6).hex()}", answer.tool_name, arguments), child.name)
