"""Plugin manifests: Agent Plugins 1.0 (``plugin.json``) and Claude Code's.
The former is read strictly; ``.claude-plugin/plugin.json`` needs only a name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot.errors import ConfigError, ZotError
from zot.features.mcp.config import decode
from zot.system.files import read_bytes

OPEN_FILE = "plugin.json"
CLAUDE_FOLDER = ".claude-plugin"
_NAME = re.compile(r"[a-z0-9.-]{1,64}")
_OPEN_FIELDS = (
    *("$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords"),
    "extensions",
)
_TEXTS = ("version", "description", "homepage", "license")

Kind = Literal["agent-plugin", "claude"]


class PluginManifest(msgspec.Struct, frozen=True, kw_only=True):
    """``fields`` are all fields of the file; ``remarks`` are notices about it."""

    kind: Kind
    name: str
    root: Path
    version: str = ""
    description: str = ""
    fields: dict[str, Any] = {}
    remarks: tuple[str, ...] = ()

    @property
    def lists_all(self) -> bool:
        """True if it names every component, as an entry of a marketplace with ``strict`` false."""
        return self.kind == "claude" and self.fields.get("strict") is False


def read_manifest(root: Path) -> PluginManifest:
    claude, plain = root / CLAUDE_FOLDER / OPEN_FILE, root / OPEN_FILE
    try:
        if (fields := _fields(claude)) is not None:
            return _claude(root, fields)
        if (fields := _fields(plain)) is not None:
            return _open(root, fields)
    except ConfigError as error:
        raise ZotError(str(error)) from error
    if (fields := _fields(root / CLAUDE_FOLDER / "marketplace.json")) is not None:
        raise ZotError(f"a marketplace of several plugins; name one after it: {_offered(fields)}")
    raise ZotError(f"{root.name} is not a plugin: it has neither {OPEN_FILE} nor {CLAUDE_FOLDER}/{OPEN_FILE}")


def _fields(path: Path) -> dict[str, Any] | None:
    data = read_bytes(path)
    return None if data is None else decode(path, data)


def _open(root: Path, fields: dict[str, Any]) -> PluginManifest:
    unknown = [name for name in fields if name not in _OPEN_FIELDS]
    wrong = [name for name in _TEXTS if name in fields and not isinstance(fields[name], str)]
    if not isinstance(fields.get("$schema"), str):
        raise ZotError(f'{OPEN_FILE}: "$schema": expected text')
    keywords: Any = fields.get("keywords", [])
    if not isinstance(keywords, list) or not all(isinstance(word, str) for word in cast("list[Any]", keywords)):
        wrong.append("keywords")
    if "author" in fields and not isinstance(fields["author"], str | dict):
        wrong.append("author")
    if "repository" in fields and not isinstance(fields["repository"], str | dict):
        wrong.append("repository")
    if "extensions" in fields and not isinstance(fields["extensions"], dict):
        wrong.append("extensions")
    if wrong:
        raise ZotError(f"{OPEN_FILE}: wrong type: {', '.join(wrong)}")
    remarks = [f'{OPEN_FILE}: ignored unknown field "{name}"' for name in unknown]
    return PluginManifest(
        kind="agent-plugin",
        name=_checked_name(fields.get("name"), OPEN_FILE),
        root=root,
        version=str(fields.get("version", "")),
        description=str(fields.get("description", "")),
        fields=fields,
        remarks=tuple(remarks),
    )


def _claude(root: Path, fields: dict[str, Any]) -> PluginManifest:
    def text(name: str) -> str:
        value: Any = fields.get(name, "")
        return value if isinstance(value, str) else ""

    name = _checked_name(fields.get("name"), f"{CLAUDE_FOLDER}/{OPEN_FILE}")
    return PluginManifest(
        kind="claude", name=name, root=root, version=text("version"), description=text("description"), fields=fields
    )


def _checked_name(name: Any, file: str) -> str:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None or name[0] in ".-" or ".." in name:
        raise ZotError(f'{file}: "name": expected 1 to 64 lower-case letters and digits; dots and hyphens not first')
    return name


def _offered(fields: dict[str, Any]) -> str:
    listed: Any = fields.get("plugins")
    rows = cast("list[dict[str, Any]]", listed) if isinstance(listed, list) else []
    names = [row.get("name") for row in rows]
    return ", ".join(name for name in names if isinstance(name, str)) or "it lists none"
