"""Files of MCP servers changed by a command: one server at a time, everything else in the file stays.

A file with comments is left to its author: writing it anew would lose them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from zot.errors import ConfigError
from zot.features.mcp.config import KEYS, PROJECT_FILES, USER_FILE, Entry, decode, fields_of
from zot.system import strict_json
from zot.system.files import read_bytes
from zot.system.json_store import JsonStore


def file_of(home: Path, cwd: Path, *, project: bool) -> Path:
    return cwd / PROJECT_FILES[0] if project else home / USER_FILE


def has(path: Path, name: str) -> bool:
    return name in _servers(_ServersFile(path).load())


def put(path: Path, name: str, fields: dict[str, Any]) -> None:
    with _edit(path) as servers:
        servers[name] = fields


def take(path: Path, name: str) -> None:
    with _edit(path) as servers:
        servers.pop(name, None)


def as_json(entry: Entry) -> dict[str, Any]:
    """What a program is told of an entry: the values of variables and headers are the user's own business."""
    fields = fields_of(entry)
    for key in ("env", "headers"):
        if key in fields:
            fields[key] = sorted(fields[key])
    fields.pop("oauth", None)
    return {"name": entry.name, "origin": entry.origin, "file": entry.file, **fields}


def _servers(value: dict[str, Any]) -> dict[str, Any]:
    key = next((key for key in KEYS if key in value), KEYS[0])
    servers: Any = value.setdefault(key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f'"{key}" must be an object')
    return cast("dict[str, Any]", servers)


@contextmanager
def _edit(path: Path) -> Generator[dict[str, Any]]:
    with _ServersFile(path).edit() as value:
        yield _servers(value)


class _ServersFile(JsonStore[dict[str, Any]]):
    """The user's file is private; a project's is for everybody who has the project."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, dict[str, Any])
        self.mode = 0o600 if path.name == USER_FILE else 0o644

    def load_to_edit(self) -> dict[str, Any]:
        data = read_bytes(self.path)
        if data is not None and data.strip():
            try:
                strict_json.loads(data)
            except ValueError:
                decode(self.path, data)  # says what is wrong if it is more than comments
                raise ConfigError(f"{self.path}: has comments, which would be lost; change it by hand") from None
        return self.load()

    def decode(self, data: bytes) -> dict[str, Any]:
        return decode(self.path, data) if data.strip() else {}
