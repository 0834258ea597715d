"""Cached tool lists of servers, one file per server and exact entry, so that a run knows tools before any server
starts."""

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
    """A tool as its server describes it; the schema is read when somebody needs it."""

    name: str
    description: str = ""
    title: str = ""
    input_schema: msgspec.Raw = msgspec.Raw(b"{}")
    annotations: dict[str, Any] = {}


class PromptRow(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()  # with a ``*`` behind those that must be given


class ResourceRow(msgspec.Struct, frozen=True):
    uri: str
    name: str = ""
    description: str = ""


class ServerLists(msgspec.Struct, frozen=True, kw_only=True):
    """``until`` is when the server wants to be asked again (0: whenever it is started)."""

    era: Era = ""
    version: str = ""
    asked: float = 0.0
    until: float = 0.0
    tools: tuple[ToolRow, ...] = ()
    prompts: tuple[PromptRow, ...] = ()
    resources: bool = False
    readable: tuple[ResourceRow, ...] = ()  # the first of its resources, for people to choose from
    about: str = ""  # the server's own name and version

    @property
    def is_fresh(self) -> bool:
        return time.time() < self.until


def place(home: Path, entry: ServerConfig) -> Path:
    return home / FOLDER / f"{sanitize_name(entry.name)[:40]}-{sha256(entry.content())[:16]}.json"


def load_lists(home: Path, entry: ServerConfig) -> ServerLists | None:
    """None when it was never asked, or what was kept cannot be used: it will be asked."""
    try:
        return msgspec.json.decode(read_whole(place(home, entry), _LARGEST), type=ServerLists)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def save_lists(home: Path, entry: ServerConfig, listed: ServerLists) -> None:
    """OSError when the home cannot be written; the run goes on without."""
    path = place(home, entry)
    make_private_dir(path.parent)
    write_atomic(path, msgspec.json.encode(listed))


def forget(home: Path, entry: ServerConfig) -> None:
    place(home, entry).unlink(missing_ok=True)


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def sanitize_name(name: str) -> str:
    """The name with nothing in it that a model's tool names may not have."""
    return "".join(letter if letter in _SAFE else "_" for letter in name) or "_"
