"""What a prompt means to MCP servers: ``/mcp:server:prompt`` is said as the server's text, ``@server:uri`` is read.

Whatever cannot be had is told and does not end the prompt: somebody waits for its answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zot.core.events import SYNTHETIC
from zot.errors import ZotError
from zot.features.mcp.list_cache import clean
from zot.features.mcp.prompts import PREFIX, command_names, prompt_text
from zot.features.mcp.resources import mentions, read
from zot.provider.messages import Block, Message, TextBlock, utc_now

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.mcp.host import McpHost, Status
    from zot.features.templates.discovery import Template
    from zot.wire.rpc_frames import McpServer


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
