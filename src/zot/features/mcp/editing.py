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
from zot.system.files import encode_pretty, locked, make_private_dir, read_bytes, write_atomic


def file_of(home: Path, cwd: Path, *, project: bool) -> Path:
    return cwd / PROJECT_FILES[0] if project else home / USER_FILE


def has(path: Path, name: str) -> bool:
    return name in _servers(_read(path))


def put(path: Path, name: str, fields: dict[str, Any]) -> None:
    with _changing(path) as servers:
        servers[name] = fields


def take(path: Path, name: str) -> None:
    with _changing(path) as servers:
        servers.pop(name, None)


def as_json(entry: Entry) -> dict[str, Any]:
    """What a program is told of an entry: the values of variables and headers are the user's own business."""
    fields = fields_of(entry)
    for key in ("env", "headers"):
        if key in fields:
            fields[key] = sorted(fields[key])
    fields.pop("oauth", None)
    return {"name": entry.name, "origin": entry.origin, "file": entry.file, **fields}


def _read(path: Path) -> dict[str, Any]:
    data = read_bytes(path)
    return decode(path, data) if data is not None and data.strip() else {}


def _servers(value: dict[str, Any]) -> dict[str, Any]:
    key = next((key for key in KEYS if key in value), KEYS[0])
    servers: Any = value.setdefault(key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f'"{key}" must be an object')
    return cast("dict[str, Any]", servers)


@contextmanager
def _changing(path: Path) -> Generator[dict[str, Any]]:
    if not path.parent.is_dir():
        make_private_dir(path.parent)
    with locked(path):
        data = read_bytes(path)
        if data is not None and data.strip():
            try:
                strict_json.loads(data)
            except ValueError:
                decode(path, data)  # says what is wrong if it is more than comments
                raise ConfigError(f"{path}: has comments, which would be lost; change it by hand") from None
        value = _read(path)
        yield _servers(value)
        write_atomic(path, encode_pretty(value), 0o600 if path.name == USER_FILE else 0o644)
