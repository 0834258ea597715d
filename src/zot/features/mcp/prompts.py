"""Prompts of servers as slash commands (``/mcp:server:prompt words``) and resources (``mcp_resource``,
``@server:uri``). Arguments are given in order or by name (``who=Ada``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from zot.core.events import SYNTHETIC
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError, UsageError, ZotError
from zot.features.mcp.list_cache import PromptRow, sanitize_name
from zot.features.mcp.protocol import McpError, fields, list_in, object_in, text_of
from zot.features.mcp.tool_results import of_resource, truncate_blocks
from zot.features.mcp.tools import RESOURCE
from zot.provider.messages import Block, Message, ResultBlock, TextBlock, utc_now

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.slash_commands import SlashCommand
    from zot.features.mcp.host import McpHost, Status
    from zot.wire.rpc_frames import McpServer

PREFIX = "mcp:"
SECONDS = 60.0


def command_names(host: McpHost) -> dict[str, tuple[str, PromptRow]]:
    """Prompts by the name typed after the slash, in lower case."""
    return {
        f"{PREFIX}{sanitize_name(server)}:{sanitize_name(prompt.name)}".lower(): (server, prompt)
        for server, listed in host.lists().items()
        if listed is not None
        for prompt in listed.prompts
    }


async def prompt_text(host: McpHost, name: str, typed: str) -> str:
    """The prompt's text; UsageError for an unknown prompt or wrong arguments."""
    found = command_names(host).get(name.lower())
    if found is None:
        raise UsageError(f"unknown command /{name}")
    server, prompt = found
    arguments = arguments_of(prompt, typed)
    raw = await host.get_server(server).request(
        "prompts/get", {"name": prompt.name, "arguments": arguments}, seconds=SECONDS
    )
    texts = [_text(object_in(message).get("content")) for message in list_in(fields(raw).get("messages"))]
    text = "\n\n".join(part for part in texts if part)
    if not text:
        raise UsageError(f"{server} returned an empty prompt")
    return text


def _text(content: Any) -> str:
    parts = list_in(content) or [content]
    found: list[str] = []
    for part in map(object_in, parts):
        found.append(text_of(part.get("text")) or text_of(object_in(part.get("resource")).get("text")))
    return "\n".join(piece for piece in found if piece)


def arguments_of(prompt: PromptRow, typed: str) -> dict[str, str]:
    from shlex import split  # only for typed commands

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
        raise UsageError(f"{prompt.name}: missing {', '.join(missing)}; expected: {' '.join(prompt.arguments)}")
    if rest:
        raise UsageError(f"{prompt.name}: expected {' '.join(prompt.arguments) or 'no arguments'}")
    return given


# Expands ``/mcp:server:prompt`` and ``@server:uri`` in a prompt. A failure is reported and does not end the prompt.


async def expand_prompt(conversation: Conversation, host: McpHost, text: str) -> str:
    if text.startswith(f"/{PREFIX}"):
        name, _, typed = text[1:].partition(" ")
        try:
            text = await prompt_text(host, name, typed.strip())
        except ZotError as error:
            conversation.notify(f"mcp: /{name}: {error}")
            return f"{text}\n\n(cannot expand the prompt: {error})"
    for server, uri in mentions(host, text):
        try:
            blocks = await read(host, server, uri)
        except ZotError as error:
            conversation.notify(f"mcp: @{server}:{uri}: {error}")
            continue
        resource: list[Block] = [TextBlock(f"The resource {uri} of the MCP server {server}:"), *blocks]
        conversation.add_message(Message("user", tuple(resource), utc_now(), {SYNTHETIC: "true"}))
    return text


def server_info(status: Status) -> McpServer:
    from zot.wire.rpc_frames import McpServer

    fields = {name: value for name, value in status._asdict().items() if name != "pid"}
    return McpServer(**fields)


def prompt_commands(host: McpHost) -> list[SlashCommand]:
    from zot.agent.slash_commands import SlashCommand

    return [
        SlashCommand(
            name=f"{PREFIX}{sanitize_name(server)}:{sanitize_name(prompt.name)}",
            summary=" ".join(prompt.description.split())[:200],
            arguments=" ".join(prompt.arguments),
            source=f"mcp {server}",
            expands=True,
        )
        for server, prompt in command_names(host).values()
    ]


MOST_LISTED = 200
MOST_MENTIONS = 8
_MENTION = re.compile(r"(?<![\w@])@([\w.-]{1,64}):([a-zA-Z][a-zA-Z0-9+.-]{0,40}://\S{1,2000})")


class ResourceTool:
    """Lists or reads resources of a server. Added once a server with resources is known."""

    name = RESOURCE
    description = "List the resources of an MCP server, or read one of them by its uri."
    read_only = True
    deferred = True
    extension = "mcp"

    def __init__(self, host: McpHost) -> None:
        self._host = host
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "server": {"type": "string"},
                "uri": {"type": "string", "description": "Omit it to list them."},
            },
            "required": ["server"],
        }

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        server, uri = text_of(args.get("server")), text_of(args.get("uri"))
        if server not in self._host.lists():
            raise ToolError(f"unknown MCP server {server!r}; configured: {', '.join(self._host.lists())}")
        try:
            if uri:
                return ToolResult(tuple(await read(self._host, server, uri)), False, {"mcp": server, "uri": uri})
            return text_result(await listing(self._host, server), details={"mcp": server})
        except McpError as error:
            return text_result(f"mcp: {error}", is_error=True)


async def listing(host: McpHost, server: str) -> str:
    session = await host.get_server(server).session()
    if not session.offers("resources"):
        return f"{server} has no resources"
    rows, _ = await session.pages("resources/list", "resources", SECONDS)
    lines = [
        " · ".join(
            filter(None, (text_of(row.get("uri"))[:500], *(text_of(row.get(k))[:200] for k in ("name", "description"))))
        )
        for row in rows[:MOST_LISTED]
    ]
    more = [f"({len(rows) - MOST_LISTED} more)"] if len(rows) > MOST_LISTED else []
    return "\n".join([*lines, *more]) or f"{server} has no resources"


async def read(host: McpHost, server: str, uri: str) -> list[ResultBlock]:
    raw = await host.get_server(server).request("resources/read", {"uri": uri}, seconds=SECONDS)
    blocks = [block for each in list_in(fields(raw).get("contents")) for block in of_resource(each)]
    return truncate_blocks(blocks) or [TextBlock(f"({uri} is empty)")]


def mentions(host: McpHost, text: str) -> list[tuple[str, str]]:
    """Server and uri of each resource a prompt mentions; unknown servers are plain words."""
    servers = host.lists()
    found = [(match[1], match[2].rstrip(".,;:!?)")) for match in _MENTION.finditer(text)]
    return list(dict.fromkeys(each for each in found if each[0] in servers))[:MOST_MENTIONS]
