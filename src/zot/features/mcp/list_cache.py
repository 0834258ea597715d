"""Cached tool lists, one file per server and exact entry: tools are known before a server starts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import msgspec

from zot.features.mcp.config import ServerConfig
from zot.system.digest import sha256
from zot.system.files import make_private_dir, write_atomic
from zot.system.safe_open import read_whole

FOLDER = "mcp"
_LARGEST = 16 * 1024 * 1024

Era = Literal["", "modern", "classic"]


class ToolRow(msgspec.Struct, frozen=True, rename="camel"):
    """A tool as its server describes it; the schema is parsed on use."""

    name: str
    description: str = ""
    title: str = ""
    input_schema: msgspec.Raw = msgspec.Raw(b"{}")
    annotations: dict[str, Any] = {}


class PromptRow(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()  # required ones end with ``*``


class ResourceRow(msgspec.Struct, frozen=True):
    uri: str
    name: str = ""
    description: str = ""


class ServerLists(msgspec.Struct, frozen=True, kw_only=True):
    """``until`` is when the lists expire (0: at the next start)."""

    era: Era = ""
    version: str = ""
    asked: float = 0.0
    until: float = 0.0
    tools: tuple[ToolRow, ...] = ()
    prompts: tuple[PromptRow, ...] = ()
    resources: bool = False
    readable: tuple[ResourceRow, ...] = ()  # the first of its resources, for completion
    about: str = ""  # the server's own name and version

    @property
    def is_fresh(self) -> bool:
        return time.time() < self.until


def place(home: Path, entry: ServerConfig) -> Path:
    return home / FOLDER / f"{sanitize_name(entry.name)[:40]}-{sha256(entry.content())[:16]}.json"


def load_lists(home: Path, entry: ServerConfig) -> ServerLists | None:
    """None without a usable cache."""
    try:
        return msgspec.json.decode(read_whole(place(home, entry), _LARGEST), type=ServerLists)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def save_lists(home: Path, entry: ServerConfig, listed: ServerLists) -> None:
    """OSError if the home is not writable; the run continues without a cache."""
    path = place(home, entry)
    make_private_dir(path.parent)
    write_atomic(path, msgspec.json.encode(listed))


def forget(home: Path, entry: ServerConfig) -> None:
    place(home, entry).unlink(missing_ok=True)


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def sanitize_name(name: str) -> str:
    """Replaces characters that tool names may not contain."""
    return "".join(letter if letter in _SAFE else "_" for letter in name) or "_"
