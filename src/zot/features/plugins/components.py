"""Installed plugins (``$ZOT_HOME/plugins.json``) and their supported components.
Nothing runs; paths out of a plugin are problems. A plugin whose servers, hooks or scripts changed since it was accepted
is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.errors import ConfigError, ZotError, describe_error
from zot.features.agents.definitions import AgentDir
from zot.features.hooks.config import HookSource, hooks_of
from zot.features.mcp.config import ServerConfig, decode, entries_of
from zot.features.plugins.manifest import PluginManifest, read_manifest
from zot.features.skills.discovery import FILE_NAME, SkillFile
from zot.features.templates.discovery import TemplateDir
from zot.features.trust import CommandFiles, merge_files
from zot.system.digest import sha256
from zot.system.files import read_bytes
from zot.system.json_store import JsonStore

_NOT_HERE = {
    "output-styles": "output styles",
    "outputStyles": "output styles",
    ".lsp.json": "language servers",
    "lspServers": "language servers",
    "settings.json": "settings",
    "monitors": "monitors",
    "themes": "themes",
    "bin": "programs for PATH",
    "channels": "channels",
}


class PluginComponents(msgspec.Struct, frozen=True, kw_only=True):
    """``missing`` are unsupported components; ``problems`` are unusable ones."""

    skills: tuple[SkillFile, ...] = ()
    servers: tuple[ServerConfig, ...] = ()
    hooks: HookSource | None = None
    commands: tuple[TemplateDir, ...] = ()
    agents: tuple[AgentDir, ...] = ()
    missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        rows = [f"skill {item.prefix}{item.file.parent.name}" for item in self.skills]
        rows += [f"MCP server {entry.name}: {entry.shown()}" for entry in self.servers]
        rows += [f"hook {hook.shown()}" for hook in (self.hooks.hooks if self.hooks is not None else ())]
        rows += [f"agents {place.prefix}… in {place.root.name}/" for place in self.agents]
        rows += [f"templates /{place.prefix}… in {place.root.name}/" for place in self.commands]
        return rows + self.covered().lines()

    def covered(self) -> CommandFiles:
        """Files that its hooks and servers run."""
        hooks = self.hooks.pinned if self.hooks is not None else ()
        return merge_files((*hooks, *(entry.pinned for entry in self.servers)))

    def digest(self) -> str:
        servers = [(entry.name, entry.reviewed_content().decode()) for entry in self.servers]
        hooks = self.hooks.content().decode() if self.hooks is not None else ""
        return sha256(msgspec.json.encode((servers, hooks)))


def parts_of(manifest: PluginManifest, data: Path) -> PluginComponents:
    """``data`` is the plugin's data directory."""
    root, name = manifest.root, manifest.name
    given = {
        **dict.fromkeys(("PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"), str(root)),
        **dict.fromkeys(("PLUGIN_DATA", "CLAUDE_PLUGIN_DATA"), str(data)),
    }
    problems: list[str] = []
    is_claude = manifest.kind == "claude"
    paths = _Paths(manifest, problems)
    folders = paths.of("commands", "commands")
    agents = [AgentDir(path, f"plugin {name}", root, f"{name}:", given) for path in paths.of("agents", "agents")]
    commands = [TemplateDir(path, f"plugin {name}", root, f"{name}:", given) for path in folders]
    return PluginComponents(
        skills=tuple(_skills(name, root, paths.of("skills", "skills") if is_claude else [root / "skills"])),
        servers=tuple(_servers(manifest, paths, given, problems)),
        hooks=_hooks(manifest, paths, given, problems) if is_claude else None,
        commands=tuple(place for place in commands if os.path.isdir(place.root)) if is_claude else (),
        agents=tuple(place for place in agents if os.path.isdir(place.root)) if is_claude else (),
        missing=tuple(_missing(manifest)),
        problems=tuple(problems),
    )


class _Paths:
    """The default directory of a component and those the manifest adds."""

    def __init__(self, manifest: PluginManifest, problems: list[str]) -> None:
        self._manifest = manifest
        self._problems = problems

    def of(self, field: str, usual: str) -> list[Path]:
        found = [path for path in [self._inside(field, usual)] if path is not None]
        if self._manifest.lists_all:
            found = []
        named: Any = self._manifest.fields.get(field) if self._manifest.kind == "claude" else None
        for item in cast("list[Any]", named) if isinstance(named, list) else [named]:
            if isinstance(item, str) and (path := self._inside(field, item)) is not None and path not in found:
                found.append(path)
        return found

    def _inside(self, field: str, item: str) -> Path | None:
        root = self._manifest.root
        path = root / item
        if "\0" in item:
            self._problems.append(f"{field}: skipped {item!r}: not a path")
            return None
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
            self._problems.append(f"{field}: skipped {item!r}: outside the plugin")
            return None
        return Path(os.path.normpath(path))


def _skills(name: str, root: Path, places: list[Path]) -> Iterator[SkillFile]:
    for place in filter(os.path.isdir, places):
        found = [place / FILE_NAME] if os.path.isfile(place / FILE_NAME) else sorted(place.glob(f"*/{FILE_NAME}"))
        for file in found:
            yield SkillFile(file, f"plugin {name}", f"{name}:", root)


def _servers(
    manifest: PluginManifest, paths: _Paths, given: dict[str, str], problems: list[str]
) -> Iterator[ServerConfig]:
    is_claude = manifest.kind == "claude"
    inline: Any = manifest.fields.get("mcpServers") if is_claude else None
    sources: list[tuple[str, dict[str, Any]]] = []
    for path in paths.of("mcpServers", ".mcp.json") if is_claude else [manifest.root / "mcp.json"]:
        if (value := _object(path, problems)) is not None:
            wrapped = value if "mcpServers" in value or not is_claude else {"mcpServers": value}
            sources.append((str(path), wrapped))
    if isinstance(inline, dict):
        sources.append((str(manifest.root), {"mcpServers": inline}))
    for file, value in sources:
        try:
            found = entries_of(value, file, f"plugin {manifest.name}", manifest.root, problems, given)
        except ConfigError as error:
            problems.append(str(error))
            continue
        for entry in found:
            named = msgspec.structs.replace(entry, name=f"plugin_{manifest.name}_{entry.name}")
            yield (named if is_claude else _unexpanded(named)).with_files()


def _unexpanded(entry: ServerConfig) -> ServerConfig:
    """Agent Plugins expand only their own two variables."""
    texts = (entry.command, *entry.args, *entry.env.values(), entry.cwd, entry.url, *entry.headers.values())
    names = {part.partition("}")[0].partition(":-")[0] for text in texts for part in text.split("${")[1:]}
    own = {name: value for name, value in entry.given.items() if name in ("PLUGIN_ROOT", "PLUGIN_DATA")}
    return msgspec.structs.replace(entry, given={**{name: f"${{{name}}}" for name in names}, **own})


def _hooks(manifest: PluginManifest, paths: _Paths, given: dict[str, str], problems: list[str]) -> HookSource | None:
    root, label = manifest.root, f"plugin {manifest.name}"
    values = [value for path in paths.of("hooks", "hooks/hooks.json") if (value := _object(path, problems)) is not None]
    inline: Any = manifest.fields.get("hooks")
    if isinstance(inline, dict):
        values.append(cast("dict[str, Any]", inline) if "hooks" in inline else {"hooks": inline})
    found = [hook for value in values for hook in hooks_of(value, label, problems)]
    if not found:
        return None
    variables = {name: value for name, value in given.items() if name.startswith("CLAUDE_")}
    source = HookSource(
        name=label,
        file=str(root),
        origin="plugin",
        root=root,
        project=root,
        hooks=tuple(found),
        given=variables,
    )
    return source.with_files()


def _object(path: Path, problems: list[str]) -> dict[str, Any] | None:
    try:
        data = read_bytes(path)
        return None if data is None else decode(path, data)
    except ConfigError as error:
        problems.append(str(error))
        return None


def _missing(manifest: PluginManifest) -> list[str]:
    """Components in the package or manifest that zot does not support."""
    in_root = () if manifest.lists_all else tuple(name for name in _NOT_HERE if (manifest.root / name).exists())
    found = [what for name, what in _NOT_HERE.items() if name in manifest.fields or name in in_root]
    if manifest.kind == "agent-plugin":
        extra = {"hooks": "hooks", "commands": "commands"}
        found += [
            f"{what} (no part of Agent Plugins 1.0)" for name, what in extra.items() if (manifest.root / name).exists()
        ]
    return list(dict.fromkeys(found))


INDEX = "plugins.json"
FOLDER = "plugins"
DATA = "plugin-data"
ADVICE = "fix the file, or delete it and install your plugins again"


class PluginEntry(msgspec.Struct, kw_only=True):
    """One plugin; ``accepted`` is the digest of the reviewed content."""

    source: str
    accepted: str
    commit: str = ""
    version: str = ""
    enabled: bool = True


class PluginIndex(msgspec.Struct):
    plugins: dict[str, PluginEntry] = {}


class LoadedPlugin(msgspec.Struct, frozen=True):
    """An installed plugin as it is on disk; ``wrong`` is why it is skipped."""

    name: str
    row: PluginEntry
    manifest: PluginManifest | None = None
    parts: PluginComponents = PluginComponents()
    wrong: str = ""


def index_file(home: Path) -> JsonStore[PluginIndex]:
    return JsonStore(home / INDEX, PluginIndex, ADVICE)


def load_all(home: Path) -> list[LoadedPlugin]:
    """Every plugin of the index by name; ConfigError for a damaged index."""
    return [_loaded(home, name, row) for name, row in sorted(index_file(home).load().plugins.items())]


def enabled_components(home: Path, problems: list[str]) -> list[PluginComponents]:
    """Components of enabled, unchanged plugins."""
    found: list[PluginComponents] = []
    try:
        plugins = load_all(home)
    except ZotError as error:
        problems.append(str(error))
        return []
    for plugin in plugins:
        if not plugin.row.enabled:
            continue
        if plugin.wrong:
            problems.append(f"plugin {plugin.name}: {plugin.wrong}")
        else:
            found.append(plugin.parts)
    return found


def _loaded(home: Path, name: str, row: PluginEntry) -> LoadedPlugin:
    try:
        manifest = read_manifest(home / FOLDER / name)
        parts = parts_of(manifest, home / DATA / name)
    except (ZotError, OSError) as error:
        return LoadedPlugin(name, row, wrong=describe_error(error) if isinstance(error, OSError) else str(error))
    if parts.digest() != row.accepted or parts.covered().unreadable():
        wrong = "changed since you accepted it and was skipped; review it: `zot plugin install --force`"
        return LoadedPlugin(name, row, manifest, parts, wrong)
    return LoadedPlugin(name, row, manifest, parts)
