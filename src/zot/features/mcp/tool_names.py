"""What servers' tools are called, which of them fit what somebody looks for, and what every request says of them all.

Names are cleaned for the strictest provider and never the same twice. What a request says has a budget, however many
servers there are.
"""

from __future__ import annotations

from collections.abc import Mapping

from zot.features.mcp.list_cache import Listed, ToolRow, clean
from zot.system.digest import sha256

LONGEST_NAME = 64  # what every provider takes
NAMES_BUDGET = 800  # bytes of names that every request may carry
MOST_FOUND = 8  # tools that one search brings into the request


def full_names(lists: Mapping[str, Listed | None]) -> tuple[dict[str, tuple[str, ToolRow]], list[str]]:
    """Every tool under the name the model calls it by, and what there is to say about names that collided."""
    rows: dict[str, tuple[str, ToolRow]] = {}
    problems: list[str] = []
    servers: dict[str, str] = {}
    for server in lists:
        prefix = clean(server)
        while servers.get(prefix, server) != server:
            prefix += "_2"
            problems.append(f"mcp: the names of two servers are the same once cleaned: {server} is called {prefix}")
        servers[prefix] = server
        for row in _tools(lists[server]):
            name = _fitted(f"mcp__{prefix}__{clean(row.name)}")
            if name in rows:
                problems.append(f"mcp: {server}: two of its tools are called {name}; the first is used")
                continue
            rows[name] = (server, row)
    return rows, problems


def _tools(listed: Listed | None) -> tuple[ToolRow, ...]:
    return listed.tools if listed is not None else ()


def _fitted(name: str) -> str:
    """Cut to what providers take, with a mark of the whole in place of its end."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 9]}_{sha256(name.encode())[:8]}"


def ranked(query: str, rows: Mapping[str, tuple[str, ToolRow]]) -> list[str]:
    """The names that fit best, exact ones first."""
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


def described(lists: Mapping[str, Listed | None]) -> str:
    """What every request says of all servers together, within its budget."""
    head = (
        "Find tools of the user's MCP servers and make them callable. Name what you need, or exact tools; what is "
        "found can be called from the next step on. Servers: "
    )
    parts = {server: f"{clean(server)}{_count(listed)}" for server, listed in lists.items()}
    room = NAMES_BUDGET - len(", ".join(parts.values()).encode())
    if room < 0:
        return head + _cut(", ".join(parts.values()), NAMES_BUDGET)
    for server, names in _shared(lists, room).items():
        parts[server] = (
            f"{clean(server)} ({', '.join(names)}{', …' if len(names) < len(_tools(lists[server])) else ''})"
        )
    return head + ", ".join(parts.values())


def _count(listed: Listed | None) -> str:
    return f" ({len(listed.tools)})" if listed is not None and listed.asked else ""


def _shared(lists: Mapping[str, Listed | None], room: int) -> dict[str, list[str]]:
    """As many names of tools as there is room for, one of each server in turn."""
    chosen: dict[str, list[str]] = {}
    waiting = {server: [clean(row.name) for row in _tools(listed)] for server, listed in lists.items()}
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


def _cut(text: str, room: int) -> str:
    return text.encode()[: room - 4].decode("utf-8", "ignore") + " …"
