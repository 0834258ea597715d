"""Imports MCP servers configured for Claude Code, Codex, VS Code and Cursor."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

from zot.errors import ConfigError
from zot.features.mcp.config import ServerConfig, decode, parse_server
from zot.system.files import read_bytes

SOURCES = ("claude", "codex", "vscode", "cursor")


class ImportedServer(NamedTuple):
    """``source`` is the program, ``fields`` the entry as zot writes it."""

    source: str
    file: Path
    entry: ServerConfig
    fields: dict[str, Any]


def find_configured_servers(user: Path, cwd: Path, problems: list[str], only: str = "") -> list[ImportedServer]:
    """Servers of all programs, for the user and this directory; the first of each name."""
    rows: dict[str, ImportedServer] = {}
    for source in SOURCES:
        if only in ("", source):
            for found in _of(source, user, cwd, problems):
                rows.setdefault(found.entry.name, found)
    return list(rows.values())


def _of(source: str, user: Path, cwd: Path, problems: list[str]) -> list[ImportedServer]:
    found: list[ImportedServer] = []
    code = [user / ".config" / "Code" / "User", user / "Library" / "Application Support" / "Code" / "User"]
    desktop = [user / ".config" / "Claude", user / "Library" / "Application Support" / "Claude"]
    for path in {
        "claude": [user / ".claude.json", *(place / "claude_desktop_config.json" for place in desktop)],
        "codex": [user / ".codex" / "config.toml"],
        "vscode": [
            cwd / ".vscode" / "mcp.json",
            *(place / name for place in code for name in ("mcp.json", "settings.json")),
        ],
        "cursor": [cwd / ".cursor" / "mcp.json", user / ".cursor" / "mcp.json"],
    }[source]:
        try:
            of_project = path.parent.parent == cwd != user  # its links must not lead out
            data = read_bytes(path, cwd if of_project else None)
            if data is None:
                continue
            value = _toml(path, data) if path.suffix == ".toml" else decode(path, data)
            for name, fields in _servers(source, value, cwd).items():
                _add(found, source, path, name, fields, problems)
        except ConfigError as error:
            problems.append(str(error))
    return found


def _add(found: list[ImportedServer], source: str, path: Path, name: str, fields: Any, problems: list[str]) -> None:
    try:
        written = _translated(fields)
        found.append(ImportedServer(source, path, parse_server(name, written), written))
    except ConfigError as error:
        problems.append(f"{path}: {error}")


def _servers(source: str, value: dict[str, Any], cwd: Path) -> dict[str, Any]:
    """Servers by name; each program uses another key."""
    if source == "codex":
        return _object(value.get("mcp_servers"))
    if source == "vscode":
        return _object(value.get("servers")) or _object(_object(value.get("mcp")).get("servers"))
    own = _object(value.get("mcpServers"))
    project = _object(_object(_object(value.get("projects")).get(str(cwd))).get("mcpServers"))
    return {**own, **project}


def _translated(fields: Any) -> Any:
    """The entry with zot's field names; unknown fields are dropped."""
    if not isinstance(fields, dict):
        return fields
    theirs = cast("dict[str, Any]", fields)
    names = ("type", "command", "args", "env", "cwd", "url", "headers", "enabled", "disabled", "oauth")
    made = {name: theirs[name] for name in names if theirs.get(name) not in (None, {}, [])}
    if isinstance(theirs.get("http_headers"), dict):
        made["headers"] = theirs["http_headers"]
    if isinstance(variable := theirs.get("bearer_token_env_var"), str):
        made["headers"] = {**_object(made.get("headers")), "Authorization": f"Bearer ${{{variable}}}"}
    return _with_our_variables(made)


def _with_our_variables(value: Any) -> Any:
    """VS Code and Cursor write ``${env:NAME}`` and ``${workspaceFolder}``."""
    if isinstance(value, str):
        return value.replace("${env:", "${").replace("${workspaceFolder}", ".").replace("${userHome}", "${HOME}")
    if isinstance(value, list):
        return [_with_our_variables(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _with_our_variables(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _toml(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from error
