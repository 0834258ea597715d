"""An extension's slash command: sends it and returns the extension's answer as one value.
Only a panel is opened here; each front end acts on the other answers. A tool call in an answer gets a new id."""

from __future__ import annotations

import os
from typing import Any, cast

import msgspec

from zot.core.state import InitialToolCall
from zot.errors import ExtensionError
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.features.extensions.inbound_requests import PanelRequests
from zot.features.extensions.registry import NameRegistry
from zot.provider.messages import ToolCallBlock
from zot.wire import extension_frames, limits


class FailedCommand(msgspec.Struct, frozen=True):
    """The command is unknown, unanswered or failed; one line for the user."""

    error: str


class PromptAnswer(msgspec.Struct, frozen=True):
    """Submit the text as a prompt: it starts a turn, or queues behind the running one."""

    extension: str
    text: str


class ToolPrompt(msgspec.Struct, frozen=True):
    """Run the call, then let the model answer the text with its result."""

    extension: str
    text: str
    first_call: InitialToolCall


class Insert(msgspec.Struct, frozen=True):
    """Put the text into the editor without submitting."""

    extension: str
    text: str


class Display(msgspec.Struct, frozen=True):
    """Show the text as an info note."""

    extension: str
    text: str


class PanelAnswer(msgspec.Struct, frozen=True):
    """Show the panel, which is already the open one."""

    extension: str
    panel: extension_frames.Panel


class Noop(msgspec.Struct, frozen=True):
    extension: str


CommandAnswer = FailedCommand | PromptAnswer | ToolPrompt | Insert | Display | PanelAnswer | Noop


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
                case "open_panel":
                    panel = self._panels.claimed(child, answer.open_panel)
                    return PanelAnswer(child.name, panel) if panel is not None else Noop(child.name)
                case "" | "noop":
                    return Noop(child.name)
                case other:
                    raise ExtensionError(f"unknown action {other[:40]!r}")
        except ExtensionError as error:
            return FailedCommand(f"extension /{registered}: {error}")


def _first_call(child: ExtensionChild, answer: extension_frames.CommandResponse) -> InitialToolCall:
    if not (answer.prompt.strip() and answer.tool_name and isinstance(answer.tool_args, dict | None)):
        raise ExtensionError("tool_prompt: expected prompt, tool_name and an object tool_args")
    arguments = msgspec.json.encode(cast("dict[str, Any]", answer.tool_args or {})).decode()
    return InitialToolCall(ToolCallBlock(f"command-{os.urandom(6).hex()}", answer.tool_name, arguments), child.name)
