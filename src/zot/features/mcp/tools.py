"""MCP tools for the model, and ``mcp_search`` to find them. Hints of servers (``readOnlyHint``) are shown but not
trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.features.mcp.list_cache import ServerLists, ToolRow, sanitize_name
from zot.features.mcp.protocol import header_value, object_in
from zot.system.digest import sha256

if TYPE_CHECKING:
    from zot.features.mcp.server import ManagedServer

_LINE = 160
_PROGRESS_S = 0.1
SEARCH = "mcp_search"
RESOURCE = "mcp_resource"


class McpToolHost(Protocol):
    timeout_s: float

    def get_server(self, name: str) -> ManagedServer: ...

    def find(self, full_name: str) -> tuple[str, ToolRow] | None: ...

    def rows(self) -> Mapping[str, tuple[str, ToolRow]]: ...

    def lists(self) -> Mapping[str, ServerLists | None]: ...

    async def list_unknown_servers(self, only: str = "", enough: Callable[[], bool] = ...) -> dict[str, str]: ...

    def activate(self, names: Iterable[str]) -> None: ...

    def has_resources(self, names: Iterable[str]) -> list[str]: ...


class McpTool:
    read_only = False

    def __init__(self, name: str, server: str, row: ToolRow, host: McpToolHost, *, pinned: bool) -> None:
        self.name = name
        self.extension = f"mcp:{server}"
        self.deferred = not pinned
        self._server = server
        self.row = row
        self._host = host
        self._schema: dict[str, Any] | None = None

    @property
    def description(self) -> str:
        return self.row.description or self.row.title or f"A tool of the MCP server {self._server}."

    @property
    def schema(self) -> dict[str, Any]:
        if self._schema is None:
            raw = bytes(self.row.input_schema)
            self._schema = to_provider_schema(msgspec.json.decode(raw), len(raw))
        return self._schema

    @property
    def hints(self) -> dict[str, Any]:
        return self.row.annotations

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.mcp.protocol import McpError, McpNoAnswer
        from zot.features.mcp.tool_results import to_content_blocks

        details = {"mcp": self._server, "tool": self.row.name}
        try:
            answer = await self._host.get_server(self._server).request(
                "tools/call",
                {"name": self.row.name, "arguments": args},
                seconds=self._host.timeout_s,
                headers=self._headers(args),
                progress=_throttled(context),
            )
        except McpNoAnswer as error:
            text = f"mcp: {error}; the limit is the setting mcp_tool_timeout_s"
            return text_result(text, is_error=True, details={**details, "timed_out": True})
        except McpError as error:
            return text_result(f"mcp: {error}", is_error=True, details=details)
        return to_content_blocks(self._server, self.row.name, answer)

    def _headers(self, args: dict[str, Any]) -> dict[str, str]:
        raw = bytes(self.row.input_schema)
        if b"x-mcp-header" not in raw:
            return {}

        return param_headers(msgspec.json.decode(raw), args)


def _throttled(context: ToolContext) -> Any:
    """Progress for the screen, at most ten times a second."""
    last = [0.0]

    def progress(text: str) -> None:
        if text and time.monotonic() - last[0] >= _PROGRESS_S:
            last[0] = time.monotonic()
            context.progress(f"{text}\n")

    return progress


class SearchTool:
    """The tool that is always offered. Its description must not change during a conversation."""

    name = SEARCH
    read_only = True
    extension = "mcp"

    def __init__(
        self, host: McpToolHost, description: str, activate: Callable[[Sequence[str]], None] | None = None
    ) -> None:
        self._host = host
        self._activate = activate or host.activate
        self.description = description
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words for what you need, or exact names."},
                "server": {"type": "string", "description": "Only this server."},
            },
            "required": ["query"],
        }

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.mcp.list_cache import sanitize_name

        query, server = str(args.get("query") or ""), str(args.get("server") or "")
        lists = self._host.lists()
        if server and server not in lists:
            server = next((name for name in lists if sanitize_name(name) == server), server)
            if server not in lists:
                raise ToolError(f"unknown MCP server {server!r}; configured: {', '.join(lists)}")

        def found_each() -> bool:
            rows = self._host.rows()
            return all(ranked(part, rows) for part in query.split(",") if part.strip())

        failed = await self._host.list_unknown_servers(server, found_each)
        rows = {name: row for name, row in self._host.rows().items() if not server or row[0] == server}
        found = ranked(query, rows)
        self._activate(found)
        lines = [_found(name, *rows[name]) for name in found]
        if lines:
            lines.insert(0, "These tools can be called from now on:")
        else:
            lines.append("No tool matches; available:")
            lines += [f"- {name}" for name in list(rows)[:100]]
        wanted = {rows[name][0] for name in found} | {name for name in (server,) if name}
        if "resource" in query.lower():
            wanted |= set(lists)
        if readable := self._host.has_resources(sorted(wanted)):
            self._activate([*found, RESOURCE])
            lines.append(f"({', '.join(readable)}: list and read resources with mcp_resource)")
        lines += [f"({name} has no tools now: {reason})" for name, reason in failed.items()]
        return text_result("\n".join(lines), details={"tools": found})


def _found(name: str, server: str, row: ToolRow) -> str:
    hints = [
        word
        for key, word in (("readOnlyHint", "marked read-only"), ("destructiveHint", "marked destructive"))
        if row.annotations.get(key) is True
    ]
    return " ".join(
        filter(None, (f"- {name}:", " ".join(row.description.split())[:_LINE], *(f"[{hint}]" for hint in hints)))
    )


def pinned(pins: Sequence[str], rows: Mapping[str, tuple[str, ToolRow]]) -> set[str]:
    """Tools that a setting adds to every request: by server, by full name, or all with ``*``."""
    return {name for name, (server, _) in rows.items() if "*" in pins or server in pins or name in pins}


# A server's schema as providers accept it: an object, shallow enough, with references that can be resolved.

DEEPEST = 24
_LONGEST_CHAIN = 16  # references that lead to references
_LARGEST = 60_000  # bytes of one schema; more floods the prompt
_LEAST: dict[str, Any] = {"type": "object", "properties": {}}


def to_provider_schema(schema: Any, size: int = 0) -> dict[str, Any]:
    """The schema with the fields providers require."""
    if not isinstance(schema, dict) or size > _LARGEST:
        return dict(_LEAST)
    given = cast("dict[str, Any]", schema)
    made = cast("dict[str, Any]", _repaired(given, given, 0))
    made.pop("$schema", None)
    made["type"] = "object"
    if not isinstance(made.get("properties"), dict):
        made["properties"] = {}
    required: Any = made.get("required")
    if "required" in made and not (
        isinstance(required, list) and all(isinstance(name, str) for name in cast("list[Any]", required))
    ):
        del made["required"]
    return made


def _repaired(node: Any, root: dict[str, Any], depth: int) -> Any:
    if isinstance(node, list):
        return [_repaired(item, root, depth + 1) for item in cast("list[Any]", node)] if depth < DEEPEST else []
    if not isinstance(node, dict):
        return node
    if depth >= DEEPEST:
        return {}
    fields = cast("dict[str, Any]", node)
    reference = fields.get("$ref")
    if reference is not None and not (isinstance(reference, str) and _leads_somewhere(reference, root)):
        fields = {key: value for key, value in fields.items() if key != "$ref"}
    return {key: _repaired(value, root, depth + 1) for key, value in fields.items()}


def _leads_somewhere(reference: str, root: dict[str, Any]) -> bool:
    """Resolves references within the schema, without cycles."""
    seen: set[str] = set()
    while reference not in seen and len(seen) < _LONGEST_CHAIN:
        seen.add(reference)
        node = _at(reference, root)
        if node is None:
            return False
        following = node.get("$ref")
        if following is None:
            return True
        if not isinstance(following, str):
            return False
        reference = following
    return False


def _at(reference: str, root: dict[str, Any]) -> dict[str, Any] | None:
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    node: Any = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            return None
        node = cast("dict[str, Any]", node)[key]
    return cast("dict[str, Any]", node) if isinstance(node, dict) else None


# ``x-mcp-header`` in a schema: arguments that a call over HTTP repeats in its headers, as ``Mcp-Param-…``.

KEY = "x-mcp-header"
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_TYPES = ("string", "integer", "boolean")
DEEPEST_HEADER = 64
_DATA = ("default", "examples", "const", "enum")  # values, not schemas


def fault(schema: Any) -> str:
    """Why a schema's header annotations are invalid; empty if valid."""
    seen: set[str] = set()
    for path, node in _marked(schema, (), 0):
        header = node[KEY]
        if not path:
            return f"{KEY} is not on an argument"
        if not isinstance(header, str) or not header or not set(header) <= _TOKEN:
            return f"{KEY} of {'.'.join(path)}: expected a header name"
        if node.get("type") not in _TYPES:
            return f"{KEY} of {'.'.join(path)}: expected a string, integer or boolean"
        if header.lower() in seen:
            return f"{KEY} {header} is duplicate"
        seen.add(header.lower())
    return ""


def param_headers(schema: Any, args: dict[str, Any]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for path, node in _marked(schema, (), 0):
        value: Any = args
        for key in path or ():
            value = object_in(value).get(key)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if path and isinstance(value, str | int | float):
            headers[f"mcp-param-{node[KEY]}"] = header_value(str(value))
    return headers


def _marked(
    node: Any, path: tuple[str, ...] | None, depth: int
) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Annotated schemas with the names that lead to them; None if not reachable by names alone."""
    if depth > DEEPEST_HEADER:
        return
    if isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _marked(item, None, depth + 1)
        return
    if not isinstance(node, dict):
        return
    schema = cast("dict[str, Any]", node)
    if KEY in schema:
        yield path, schema
    for key, inner in schema.items():
        if key == "properties":
            for name, each in object_in(inner).items():
                yield from _marked(each, (*path, name) if path is not None else None, depth + 1)
        elif key in ("$defs", "definitions", "patternProperties", "dependentSchemas"):
            for each in object_in(inner).values():
                yield from _marked(each, None, depth + 1)
        elif key not in _DATA and key != KEY:
            yield from _marked(inner, None, depth + 1)


# Names of servers' tools, their ranking for a search, and the summary that every request contains.

LONGEST_NAME = 64  # the limit of all providers
NAMES_BUDGET = 800  # bytes of names that every request may carry
MOST_FOUND = 8  # tools that one search brings into the request


def unique_tool_names(lists: Mapping[str, ServerLists | None]) -> tuple[dict[str, tuple[str, ToolRow]], list[str]]:
    """Every tool by the name the model uses, and notices about name collisions."""
    rows: dict[str, tuple[str, ToolRow]] = {}
    problems: list[str] = []
    servers: dict[str, str] = {}
    for server in lists:
        prefix = sanitize_name(server)
        while servers.get(prefix, server) != server:
            prefix += "_2"
            problems.append(f"mcp: two server names are equal after cleaning; {server} is called {prefix}")
        servers[prefix] = server
        for row in _tools(lists[server]):
            name = f"mcp__{prefix}__{sanitize_name(row.name)}"
            if len(name) > LONGEST_NAME:  # cut to the limit of providers, with a digest in place of its end
                name = f"{name[: LONGEST_NAME - 9]}_{sha256(name.encode())[:8]}"
            if name in rows:
                problems.append(f"mcp: {server}: duplicate tool {name}; the first is used")
                continue
            rows[name] = (server, row)
    return rows, problems


def _tools(listed: ServerLists | None) -> tuple[ToolRow, ...]:
    return listed.tools if listed is not None else ()


def ranked(query: str, rows: Mapping[str, tuple[str, ToolRow]]) -> list[str]:
    wanted = [word for word in query.replace(",", " ").split() if word]
    exact = [name for name, (_, row) in rows.items() if name in wanted or row.name in wanted]
    words = [word.lower() for word in wanted if len(word) > 1]
    scores: list[tuple[float, str]] = []
    for name, (_, row) in rows.items():
        title, text = name.lower(), f"{row.title} {row.description}".lower()
        score = sum(3.0 if word in title else 1.0 if word in text else 0.0 for word in words)
        if score and name not in exact:
            scores.append((-score, name))
    return [*exact, *(name for _, name in sorted(scores))][: max(MOST_FOUND, len(exact))]


def describe_servers(lists: Mapping[str, ServerLists | None]) -> str:
    """The description of all servers in every request, within its budget."""
    head = (
        "Find tools of the user's MCP servers and make them callable. Name what you need, or exact tools; what is "
        "found can be called from the next step on. Servers: "
    )
    parts = {
        server: sanitize_name(server) + (f" ({len(listed.tools)})" if listed is not None and listed.asked else "")
        for server, listed in lists.items()
    }
    room = NAMES_BUDGET - len(", ".join(parts.values()).encode())
    if room < 0:
        return head + (", ".join(parts.values()).encode()[: NAMES_BUDGET - 4].decode("utf-8", "ignore") + " …")
    for server, names in _shared(lists, room).items():
        parts[server] = (
            f"{sanitize_name(server)} ({', '.join(names)}{', …' if len(names) < len(_tools(lists[server])) else ''})"
        )
    return head + ", ".join(parts.values())


def _shared(lists: Mapping[str, ServerLists | None], room: int) -> dict[str, list[str]]:
    """As many tool names as fit, one of each server in turn."""
    chosen: dict[str, list[str]] = {}
    waiting = {server: [sanitize_name(row.name) for row in _tools(listed)] for server, listed in lists.items()}
    while any(waiting.values()):
        for server, names in waiting.items():
            if not names:
                continue
            size = len(names[0]) + 2 + (5 if server not in chosen else 0)
            if size > room:
                return chosen
            room -= size
            chosen.setdefault(server, []).append(names.pop(0))
    return chosen
