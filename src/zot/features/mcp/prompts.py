"""Servers' prompts as slash commands: ``/mcp:server:prompt words`` becomes what the server makes of the words.

Arguments are given in the order the server lists them, or by name (``who=Ada``); one with blanks goes in quotes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from zot.core.events import SYNTHETIC
from zot.errors import UsageError, ZotError
from zot.features.mcp.list_cache import PromptRow, clean
from zot.features.mcp.protocol import fields, list_in, object_in, text_of
from zot.features.mcp.resources import mentions, read
from zot.provider.messages import Block, Message, TextBlock, utc_now

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.mcp.host import McpHost, Status
    from zot.features.templates.discovery import Template
    from zot.wire.rpc_frames import McpServer

PREFIX = "mcp:"
SECONDS = 60.0


def command_names(host: McpHost) -> dict[str, tuple[str, PromptRow]]:
    """What is typed after the slash, in lower case, and the prompt it stands for."""
    return {
        f"{PREFIX}{clean(server)}:{clean(prompt.name)}".lower(): (server, prompt)
        for server, listed in host.lists().items()
        if listed is not None
        for prompt in listed.prompts
    }


async def prompt_text(host: McpHost, name: str, typed: str) -> str:
    """What is to be said to the model; UsageError for a prompt nobody has, or arguments that do not fit."""
    found = command_names(host).get(name.lower())
    if found is None:
        raise UsageError(f"unknown command /{name}")
    server, prompt = found
    arguments = arguments_of(prompt, typed)
    raw = await host.running(server).request(
        "prompts/get", {"name": prompt.name, "arguments": arguments}, seconds=SECONDS
    )
    texts = [_text(object_in(message).get("content")) for message in list_in(fields(raw).get("messages"))]
    text = "\n\n".join(part for part in texts if part)
    if not text:
        raise UsageError(f"{server} answered with an empty prompt")
    return text


def _text(content: Any) -> str:
    parts = list_in(content) or [content]
    found: list[str] = []
    for part in map(object_in, parts):
        found.append(text_of(part.get("text")) or text_of(object_in(part.get("resource")).get("text")))
    return "\n".join(piece for piece in found if piece)


def arguments_of(prompt: PromptRow, typed: str) -> dict[str, str]:
    from shlex import split  # only for what somebody typed

    try:
        words = split(typed)
    except ValueError:
        words = typed.split()
    names = [name.rstrip("*") for name in prompt.arguments]
    given: dict[str, str] = {}
    free = list(names)
    rest: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            given[name] = value
            free.remove(name) if name in free else None
        else:
            rest.append(word)
    for name in list(free):
        if rest:
            last = name == free[-1]
            given[name] = " ".join(rest) if last else rest[0]
            rest = [] if last else rest[1:]
    missing = [name.rstrip("*") for name in prompt.arguments if name.endswith("*") and name.rstrip("*") not in given]
    if missing:
        raise UsageError(f"{prompt.name} needs {', '.join(missing)}: {' '.join(prompt.arguments)}")
    if rest:
        raise UsageError(f"{prompt.name} takes {' '.join(prompt.arguments) or 'no arguments'}")
    return given


# Expands ``/mcp:server:prompt`` and ``@server:uri`` in a prompt. A failure is reported and does not end the prompt.


async def meant(conversation: Conversation, host: McpHost, text: str) -> str:
    """What is to be said; resources it names are added before it."""
    if text.startswith(f"/{PREFIX}"):
        name, _, typed = text[1:].partition(" ")
        try:
            text = await prompt_text(host, name, typed.strip())
        except ZotError as error:
            conversation.notify(f"mcp: /{name}: {error}")
            return f"{text}\n\n(the prompt could not be had: {error})"
    for server, uri in mentions(host, text):
        try:
            blocks = await read(host, server, uri)
        except ZotError as error:
            conversation.notify(f"mcp: @{server}:{uri}: {error}")
            continue
        said: list[Block] = [TextBlock(f"The resource {uri} of the MCP server {server}:"), *blocks]
        conversation.add(Message("user", tuple(said), utc_now(), {SYNTHETIC: "true"}))
    return text


def names_prompt(host: McpHost, text: str) -> bool:
    return text.startswith(f"/{PREFIX}") and text[1:].partition(" ")[0].lower() in command_names(host)


def as_told(status: Status) -> McpServer:
    """A server as programs are told of it."""
    from zot.wire.rpc_frames import McpServer

    fields = {name: value for name, value in status._asdict().items() if name != "pid"}
    return McpServer(**fields)


def as_templates(host: McpHost) -> list[Template]:
    """Servers' prompts where prompt templates are listed."""
    from zot.features.templates.discovery import Template

    return [
        Template(
            name=f"{PREFIX}{clean(server)}:{clean(prompt.name)}",
            file=Path(),
            label=f"mcp {server}",
            description=" ".join(prompt.description.split())[:200],
            hint=" ".join(prompt.arguments),
        )
        for server, prompt in command_names(host).values()
    ]
