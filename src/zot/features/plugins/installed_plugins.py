"""Which plugins are installed: ``$ZOT_HOME/plugins.json`` says where each came from and what of it was accepted.

What may run of a plugin is exactly what was shown when it was installed. One whose servers, hooks or scripts are
different now is left out as a whole, with a line.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from zot.errors import ZotError, in_words
from zot.features.plugins.components import Parts, parts_of
from zot.features.plugins.manifest import PluginManifest, read_manifest
from zot.system.json_store import JsonStore

INDEX = "plugins.json"
FOLDER = "plugins"
DATA = "plugin-data"
ADVICE = "fix the file, or delete it and install your plugins again"


class PluginEntry(msgspec.Struct, kw_only=True):
    """One plugin; ``accepted`` is the digest of what the person was shown."""

    source: str
    accepted: str
    commit: str = ""
    version: str = ""
    enabled: bool = True


class PluginIndex(msgspec.Struct):
    plugins: dict[str, PluginEntry] = {}


class LoadedPlugin(msgspec.Struct, frozen=True):
    """An installed plugin as it lies there now; ``wrong`` says why nothing of it is used."""

    name: str
    row: PluginEntry
    manifest: PluginManifest | None = None
    parts: Parts = Parts()
    wrong: str = ""


def index_file(home: Path) -> JsonStore[PluginIndex]:
    return JsonStore(home / INDEX, PluginIndex, ADVICE)


def load_all(home: Path) -> list[LoadedPlugin]:
    """Every plugin of the index, by name; a damaged index is a ConfigError."""
    return [_loaded(home, name, row) for name, row in sorted(index_file(home).load().plugins.items())]


def in_use(home: Path, problems: list[str]) -> list[Parts]:
    """What the plugins bring that are switched on and as they were accepted."""
    found: list[Parts] = []
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
        return LoadedPlugin(name, row, wrong=in_words(error) if isinstance(error, OSError) else str(error))
    if parts.digest() != row.accepted:
        wrong = "what it would run is not what you accepted; nothing of it is used until `zot plugin install --force`"
        return LoadedPlugin(name, row, manifest, parts, wrong)
    return LoadedPlugin(name, row, manifest, parts)
