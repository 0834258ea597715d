"""Marketplaces: repositories whose ``.claude-plugin/marketplace.json`` lists plugins by name.
An entry says where its plugin is and may be its manifest; ``strict`` false makes it the only one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.errors import ConfigError, NotThere, ZotError, closest_match
from zot.features.extensions.install.source import ExtensionSource
from zot.features.mcp.config import decode
from zot.features.plugins.manifest import CLAUDE_FOLDER, OPEN_FILE
from zot.system.files import read_bytes, write_atomic

FILE = "marketplace.json"
COMPONENTS = ("skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles")
_ABOUT_ENTRY = ("source", "category", "tags", "strict", "relevance")  # not part of a manifest
_REMOTE = ("https://", "http://", "ssh://", "git@")
_SHORTHAND = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*")


class MarketplaceEntry(msgspec.Struct, frozen=True):
    """One plugin of a marketplace; ``fields`` as in the file, ``base`` is the directory of relative sources."""

    name: str
    fields: dict[str, Any]
    base: str = ""

    @property
    def is_strict(self) -> bool:
        return self.fields.get("strict", True) is not False

    def relative_path(self) -> str | None:
        """Its directory in the marketplace's repository; None if it is somewhere else."""
        source: Any = self.fields.get("source", "./")
        if not isinstance(source, str):
            return None
        return source if source.startswith("./") or not self.base else f"{self.base.rstrip('/')}/{source}"

    def remote_source(self, *, local: bool) -> ExtensionSource:
        """Its own repository; ``local`` allows ``file://`` addresses."""
        given: Any = self.fields.get("source")
        fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        texts = {key: value for key, value in fields.items() if isinstance(value, str)}
        kind = texts.get("source", "")
        address = texts.get("repo") or texts.get("url", "")
        if kind not in ("github", "url", "git", "git-subdir") or not address:
            raise ZotError(f'plugin {self.name}: sources of kind "{kind[:40]}" are not supported; expected git')
        address = github_url(address) or address
        if not address.startswith((*_REMOTE, "file://") if local else _REMOTE):
            raise ZotError(f"plugin {self.name}: unsupported address {address[:200]}")
        subdir = texts.get("path", "")
        if ".." in subdir.split("/") or subdir.startswith("/"):
            raise ZotError(f'plugin {self.name}: "{subdir[:200]}" is not a directory inside the repository')
        return ExtensionSource(
            "git", address, texts.get("sha") or texts.get("ref", ""), subdir.removeprefix("./").strip("/")
        )


def github_url(typed: str) -> str:
    """The address of ``owner/repository``; empty for other texts."""
    return f"https://github.com/{typed.removesuffix('.git')}.git" if _SHORTHAND.fullmatch(typed) else ""


def read_marketplace(root: Path) -> list[MarketplaceEntry] | None:
    """The entries of a repository's marketplace; None if it has none. ZotError for an unusable file."""
    path = root / CLAUDE_FOLDER / FILE
    try:
        data = read_bytes(path)
        fields = None if data is None else decode(path, data)
    except ConfigError as error:
        raise ZotError(str(error)) from error
    if fields is None:
        return None
    listed: Any = fields.get("plugins") if isinstance(fields.get("plugins"), list) else []
    metadata: Any = fields.get("metadata")
    base: Any = cast("dict[str, Any]", metadata).get("pluginRoot", "") if isinstance(metadata, dict) else ""
    prefix = base if isinstance(base, str) else ""
    rows = [cast("dict[str, Any]", row) for row in cast("list[Any]", listed or []) if isinstance(row, dict)]
    return [MarketplaceEntry(row["name"], row, prefix) for row in rows if isinstance(row.get("name"), str)]


def find_entry(entries: list[MarketplaceEntry], name: str) -> MarketplaceEntry:
    for entry in entries:
        if name in (entry.name, plain_name(entry.name)):
            return entry
    match = closest_match(name, [entry.name for entry in entries])
    hint = f"did you mean {match}?" if match else f"it has: {names_of(entries)}"
    raise NotThere(f'no plugin "{name}" in this marketplace; {hint}')


def names_of(entries: list[MarketplaceEntry]) -> str:
    return ", ".join(plain_name(entry.name) for entry in entries) or "none"


def plain_name(name: str) -> str:
    """The name as plugins are named: lower case, without spaces."""
    return re.sub(r"[^a-z0-9.-]+", "-", name.lower()).strip("-.")[:64]


def write_manifest(root: Path, entry: MarketplaceEntry) -> None:
    """Complete the manifest of a copied plugin with its entry, or create it from the entry."""
    path = root / CLAUDE_FOLDER / OPEN_FILE
    about = {key: value for key, value in entry.fields.items() if key not in _ABOUT_ENTRY}
    try:
        data = read_bytes(path)
        own = decode(path, data) if data is not None and entry.is_strict else None
    except ConfigError as error:
        raise ZotError(str(error)) from error
    if own is None:
        if entry.is_strict and (root / OPEN_FILE).is_file():
            return  # Agent Plugins 1.0
        merged = {**about, "name": plain_name(entry.name)}
        if not entry.is_strict and any(name in about for name in COMPONENTS):
            merged["strict"] = False
    else:
        merged = {**about, **own}
    if merged != own:
        path.parent.mkdir(exist_ok=True)
        write_atomic(path, msgspec.json.format(msgspec.json.encode(merged), indent=2) + b"\n")
