"""Cached tool lists, one file per server and exact entry: tools are known before a server starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from zot.features.mcp.config import ServerConfig
from zot.system.digest import sha256
from zot.system.files import make_private_dir, write_atomic
from zot.system.safe_open import read_whole

FOLDER = "mcp"
_LARGEST = 16 * 1024 * 1024
_MOST_CHANGES = 6

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


def tool_changes(before: Sequence[ToolRow], now: Sequence[ToolRow]) -> str:
    """What the user should know when a server lists other tools than last time; empty if nothing changed."""
    old, new = {row.name: row for row in before}, {row.name: row for row in now}
    parts: list[str] = []
    for label, names in (("new", sorted(new.keys() - old.keys())), ("removed", sorted(old.keys() - new.keys()))):
        if names:
            parts.append(f"{len(names)} {label} ({_some(names)})")
    for name in sorted(old.keys() & new.keys()):
        was, is_now = old[name], new[name]
        if was.description != is_now.description:
            parts.append(f"{name} is described as {_short(is_now.description)}, before as {_short(was.description)}")
        elif was != is_now:
            parts.append(f"{name} takes other arguments or has other annotations")
    more = len(parts) - _MOST_CHANGES
    return "; ".join(parts[:_MOST_CHANGES]) + (f"; {more} more" if more > 0 else "")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:120]}{"…" if len(line) > 120 else ""}"'


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
