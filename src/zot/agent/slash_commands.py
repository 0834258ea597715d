"""Slash commands of features, the same for every front end: list, find and run them.
The terminal's own commands (``frontends/terminal/commands/registry.py``) come first there; ``TERMINAL_COMMANDS`` names
them for front ends that do not have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec

from zot.core import events
from zot.errors import UsageError, ZotError, closest_match

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.feature import Feature
    from zot.core.loop import Outcome
    from zot.core.state import InitialToolCall
    from zot.provider.messages import ImageBlock, StopReason
    from zot.wire.extension_frames import Panel


class SlashCommand(msgspec.Struct, frozen=True):
    """A command of a feature; ``source`` is shown if there is no summary, ``extension`` names the one that runs it.
    ``expands``: the typed text is a prompt, and ``before_prompt`` of the feature replaces it; otherwise
    ``run_slash_command`` runs it. A ``hidden`` command is not listed."""

    name: str
    summary: str = ""
    arguments: str = ""
    source: str = ""
    extension: str = ""
    expands: bool = False
    hidden: bool = False
    completed: bool = False  # its extension completes the arguments


# --- answers


class FailedCommand(msgspec.Struct, frozen=True):
    """The command is unknown, unanswered or failed; one line for the user."""

    error: str


class PromptAnswer(msgspec.Struct, frozen=True):
    """Submit the text as a prompt: it starts a turn, or queues behind the running one."""

    source: str
    text: str


class ToolPrompt(msgspec.Struct, frozen=True):
    """Run the call, then let the model answer the text with its result."""

    source: str
    text: str
    first_call: InitialToolCall


class Insert(msgspec.Struct, frozen=True):
    """Put the text into the editor without submitting. Without an editor it is submitted."""

    source: str
    text: str


class Display(msgspec.Struct, frozen=True):
    """Show the text as an info note."""

    source: str
    text: str


class PanelAnswer(msgspec.Struct, frozen=True):
    """Show the panel, which is already the open one."""

    source: str
    panel: Panel


class PanelRefused(msgspec.Struct, frozen=True):
    """The command opens a panel, and this front end has none."""

    source: str


class Noop(msgspec.Struct, frozen=True):
    source: str


CommandAnswer = FailedCommand | PromptAnswer | ToolPrompt | Insert | Display | PanelAnswer | PanelRefused | Noop


# --- names

# Commands of the terminal, and what to use instead elsewhere. A test compares the names with the terminal's table.
TERMINAL_COMMANDS: dict[str, str] = {
    "help": "`zot --help`",
    "login": "`zot auth login`",
    "logout": "`zot auth logout`",
    "model": "--model or the RPC command set_model",
    "reasoning": "--reasoning or the RPC command set_reasoning",
    "sessions": "--continue, --session or `zot sessions`",
    "session": "`zot sessions`",
    "rewind": "`zot sessions rewind` or the RPC command rewind",
    "diff": "the RPC command get_changes",
    "export": "`zot sessions export`",
    "compact": "the RPC command compact",
    "jail": "--jail",
    "add-dir": "--jail-write",
    "permissions": "--permission-mode or the RPC command set_permission_mode",
    "mode": "--permission-mode or the RPC command set_permission_mode",
    "plan": "--permission-mode plan",
    "yolo": "--permission-mode everything",
    "doctor": "`zot doctor`",
    "cost": "`zot cost`",
    "swarm": "`zot swarm`",
    "mcp": "`zot mcp`",
    "hooks": "`zot hooks`",
    "serve": "`zot serve`",
    "clear": "the RPC command clear",
    **dict.fromkeys(("new", "jump", "copy", "study", "init", "review", "btw", "unjail", "skills", "reload-ext"), ""),
    **dict.fromkeys(("settings", "vim", "status", "memory", "jobs", "context", "exit", "quit"), ""),
}

_SHAPE = r"(?s)/([A-Za-z0-9_-]+)(:[A-Za-z0-9._:-]+)?(?:\s+(.*))?"
_ESCAPE = "\\/"


def parse(text: str) -> tuple[str, str] | None:
    """Name (lower case) and arguments of a command; None for ``/usr/bin``. ``/skill:x y`` is ``skill``."""
    match = re.fullmatch(_SHAPE, text.strip())
    if match is None or (match[2] and match[1].lower() != "skill"):
        return None
    arguments = f"{match[2][1:]} {match[3] or ''}" if match[2] else match[3] or ""
    return match[1].lower(), arguments.strip()


def _as_text(text: str) -> str:
    """The text with a leading space if it begins with a slash: no front end takes it for a command."""
    return f" {text}" if text.startswith("/") else text


def _unescape(text: str) -> str:
    """``\\/name`` is the text ``/name``, not a command."""
    return _as_text(text[1:]) if text.startswith(_ESCAPE) else text


# --- the commands of a conversation


class TypedCommand(msgspec.Struct, frozen=True):
    """A command found for a text; ``name`` as typed, ``arguments`` stripped."""

    feature: Feature
    command: SlashCommand
    text: str
    name: str
    arguments: str

    async def run(self) -> CommandAnswer:
        if self.command.expands:
            return PromptAnswer(self.command.source, self.text)
        try:
            return await self.feature.run_slash_command(self.name, self.arguments)
        except ZotError as error:
            return FailedCommand(f"/{self.name}: {error}")


def _contributing(conversation: Conversation) -> list[Feature]:
    """Features in the order of precedence. Those that wait for a slash join now."""
    conversation.features.join_for_prompt(conversation, "/")
    return sorted(conversation.features.implementing("slash_commands"), key=lambda each: each.priority)


def list_commands(conversation: Conversation, *, hidden: bool = False) -> list[SlashCommand]:
    """All commands, the first of each name; hidden ones only if requested."""
    found: dict[str, SlashCommand] = {}
    for feature in _contributing(conversation):
        for command in feature.slash_commands():
            found.setdefault(command.name.lower(), command)
    return [command for command in found.values() if hidden or not command.hidden]


def find_command(conversation: Conversation, text: str) -> TypedCommand | None:
    """The command that ``text`` names; None for other text."""
    text = text.strip()
    words = text[1:].split(maxsplit=1)
    if not text.startswith("/") or not words or text[1].isspace() or "/" in words[0]:
        return None
    for feature in _contributing(conversation):
        if (command := feature.find_slash_command(words[0])) is not None:
            return TypedCommand(feature, command, text, words[0], "".join(words[1:]))
    return None


# --- front ends without a table of their own


def is_command(conversation: Conversation, text: str) -> bool:
    """True for a known command, and for a text that only a wrong name keeps from being one."""
    return parse(text) is not None or find_command(conversation, text) is not None


def require_command(conversation: Conversation, text: str) -> TypedCommand | None:
    """The command that ``text`` names, None for other text. UsageError for an unknown command or the terminal's."""
    if not text.startswith("/"):
        return None
    if (found := find_command(conversation, text)) is None and (parsed := parse(text)) is not None:
        raise UsageError(_unknown(conversation, parsed[0]))
    return found


def _unknown(conversation: Conversation, name: str) -> str:
    as_text = f"to send it as text, begin with \\/{name}"
    close = (
        "" if name in TERMINAL_COMMANDS else closest_match(name, (each.name for each in list_commands(conversation)))
    )
    if close:
        return f"unknown command /{name}; did you mean /{close}? {as_text}"
    meant = name if name in TERMINAL_COMMANDS else closest_match(name, TERMINAL_COMMANDS.keys() - {"mode"})
    if not meant:
        return f"unknown command /{name}; {as_text}"
    if find_command(conversation, f"/{meant}") is not None:  # also answered without the terminal, such as /jobs
        return f"unknown command /{name}; did you mean /{meant}? {as_text}"
    instead = f"use {TERMINAL_COMMANDS[meant]}; " if TERMINAL_COMMANDS[meant] else ""
    unknown = "" if meant == name else f"unknown command /{name}; "
    return f"{unknown}/{meant} works in the terminal only; {instead}{as_text}"


async def submit_typed(conversation: Conversation, text: str, images: Sequence[ImageBlock] = ()) -> Outcome:
    """Submit a prompt of the user; a text that names a command runs it, with ``Error`` and ``Done`` as for a prompt."""
    try:
        typed = require_command(conversation, text)
    except UsageError as error:
        return _fail(conversation, str(error))
    if typed is None or typed.command.expands:
        return await conversation.prompt(_unescape(text), images)
    conversation.record_command(typed.text)
    done = await conversation.run_abortable(typed.run())
    if done.cancelled():
        return _end(conversation, "aborted")
    return await _act_on(conversation, typed, done.result(), images)


async def _act_on(
    conversation: Conversation, typed: TypedCommand, answer: CommandAnswer, images: Sequence[ImageBlock]
) -> Outcome:
    """Inserted text is submitted; displayed text and panels go to the front end's ``surface``."""
    surface = conversation.services.front_end.surface
    match answer:
        case PromptAnswer(_, prompt) | Insert(_, prompt):
            return await conversation.prompt(_as_text(prompt), images)
        case ToolPrompt(_, prompt, first_call):
            return await conversation.prompt(_as_text(prompt), images, first_call=first_call)
        case FailedCommand(error):
            return _fail(conversation, error)
        case PanelRefused(source):
            return _fail(conversation, f"/{typed.name} of {source} opens a panel, which works in the terminal only")
        case Display(source, shown):
            surface.display(source, shown) if surface is not None else conversation.notify(shown, source, "info")
        case PanelAnswer(source, panel):
            surface.open_panel(source, panel) if surface is not None else None
        case Noop():
            pass
        case _:
            assert_never(answer)
    return _end(conversation, "end")


def _fail(conversation: Conversation, reason: str) -> Outcome:
    conversation.emit(events.Error(reason))
    return _end(conversation, "error", UsageError(reason))


def _end(conversation: Conversation, stop: StopReason, error: Exception | None = None) -> Outcome:
    from zot.core.loop import Outcome  # the terminal imports this module before the agent

    conversation.emit(events.Done())
    return Outcome(stop, error)
