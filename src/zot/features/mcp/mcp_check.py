"""What ``zot doctor`` says about MCP servers: which there are and what is wrong with them, without starting one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from zot.errors import ConfigError, ExtensionError
from zot.features.child_process import resolve_exec
from zot.features.mcp.config import ServerConfig, by_name, expanded, load
from zot.features.mcp.feature import needs_trust
from zot.features.mcp.list_cache import recall
from zot.features.mcp.server import working_directory
from zot.features.trust import TrustStore


def mcp_words(home: Path, cwd: Path) -> str:
    """Each with what is known of it; empty without any."""
    entries = by_name(load(home, cwd, problems=[]), [])
    return ", ".join(f"{entry.name} ({_state(home, cwd, entry)})" for entry in entries.values())


def _state(home: Path, cwd: Path, entry: ServerConfig) -> str:
    if not entry.enabled:
        return "switched off"
    if not _may_run(home, cwd, entry):
        return "not trusted"
    listed = recall(home, entry)
    return f"{len(listed.tools)} tools" if listed is not None else "not asked yet"


def _may_run(home: Path, cwd: Path, entry: ServerConfig) -> bool:
    try:
        return not needs_trust(entry) or TrustStore(home).is_trusted(cwd, "mcp", entry.name, entry.content())
    except ConfigError:
        return False  # the file is told of elsewhere


def mcp_problems(home: Path, cwd: Path) -> Iterator[str]:
    problems: list[str] = []
    entries = by_name(load(home, cwd, problems=problems), problems)
    yield from problems
    for entry in entries.values():
        if not entry.enabled or not _may_run(home, cwd, entry):
            continue
        made, missing = expanded(entry, os.environ.get)
        for name in missing:
            yield f"mcp: {entry.name}: {name} is not set (its entry in {entry.file} names it)"
        if made.kind == "stdio" and not missing and not _is_there(made):
            yield f"mcp: {entry.name}: its command {made.command!r} is not there (its entry in {entry.file})"


def _is_there(entry: ServerConfig) -> bool:
    try:
        program = resolve_exec(os.path.expanduser(entry.command), working_directory(entry), os.environ.get("PATH", ""))
    except ExtensionError:
        return False
    return os.access(program, os.X_OK)
