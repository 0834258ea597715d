"""The configured servers become the host of a run: what may run at once, what waits for a person's trust, what is said.

The user's own files and ``--mcp-config`` are acts of the user. What a project brings runs after exactly that entry was
trusted, with its command before the person's eyes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zot.agent.mcp.config import Entry, by_name, load
from zot.agent.mcp.host import McpHost

if TYPE_CHECKING:
    from zot.agent.resources import Resources


def mcp_host_of(resources: Resources, tell: Callable[[str], None], problems: list[str]) -> McpHost | None:
    """None when no file has a server; ``problems`` are added to."""
    config, values = resources.config, resources.settings.values
    found = load(resources.home, resources.workspace.cwd, config.mcp_config, installed=config.mcp, problems=problems)
    waiting = [] if config.trust_project else untrusted_of(resources, found)
    untrusted = {entry.name: entry for entry in waiting}
    entries = by_name((entry for entry in found if not any(entry is other for other in waiting)), problems)
    if untrusted and not resources.front_end.may_log_in:
        problems += [not_trusted(entry) for entry in untrusted.values()]
    if not entries and not untrusted:
        return None
    host = McpHost(
        entries,
        home=resources.home,
        workspace=resources.workspace,
        pins=values.mcp_pinned,
        timeout_s=values.mcp_tool_timeout_s,
        store=resources.auth,
        proxy=values.http_proxy,
        tell=tell,
    )
    host.untrusted = untrusted
    return host


def untrusted_of(resources: Resources, found: Sequence[Entry]) -> list[Entry]:
    """What the project brings and nobody has trusted as it is now."""
    asks = [entry for entry in found if needs_trust(entry) and entry.enabled]
    if not asks:
        return []
    from zot.agent.guest_trust import GuestTrust

    trust, cwd = GuestTrust(resources.home), resources.workspace.cwd
    return [entry for entry in asks if not trust.is_trusted(cwd, "mcp", entry.name, entry.content())]


def needs_trust(entry: Entry) -> bool:
    return entry.origin == "project"


def not_trusted(entry: Entry) -> str:
    where = f"mcp: {entry.name} of {entry.file}"
    return f"{where} is not trusted and does not run: {entry.shown()}; `zot mcp trust {entry.name}`"
