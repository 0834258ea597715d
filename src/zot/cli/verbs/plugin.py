"""``zot plugin …``: install, list, enable and remove plugins. Installing asks before it allows commands."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_escaped, print_notice, print_result, read_answer
from zot.cli.verb_table import options
from zot.errors import NotThere, UsageError, ZotError, closest_match
from zot.features.extensions.install.copy_tree import copy_tree
from zot.features.extensions.install.source import ExtensionSource, fetch_files, read_source
from zot.features.plugins.components import (
    DATA,
    FOLDER,
    LoadedPlugin,
    PluginEntry,
    index_file,
    load_all,
    parts_of,
)
from zot.features.plugins.manifest import CLAUDE_FOLDER, PluginManifest, read_manifest
from zot.features.plugins.marketplace import find_entry, github_url, read_marketplace, write_manifest
from zot.system.files import exchange_dirs, make_private_dir, zot_home
from zot.system.temp_files import locked_temp_dir, remove_if_dead

_STAGING = ".staging-"


def run(argv: list[str]) -> int:
    """Run ``zot plugin ARGV`` and return its exit status."""
    verb, rest = verb_of("plugin", argv, _VERBS)
    command, least, most, what = _VERBS[verb]
    try:
        arguments = parse(rest, options(f"plugin {verb}"), least=least, most=most, what=what)
    except UsageError as error:
        raise ZotError(f"{error}; see `zot plugin {verb} --help`") from error
    return command(arguments)


# --- installing


def _install(arguments: ParsedArguments) -> int:
    values = arguments.values
    typed, name = arguments.words[0], arguments.words[1] if len(arguments.words) > 1 else ""
    address = "" if os.path.exists(os.path.expanduser(typed)) else github_url(typed)
    source = read_source(address or typed, values.get("--ref", ""), values.get("--subdir", ""))
    home = zot_home()
    folder = home / FOLDER
    make_private_dir(folder)
    for stale in folder.glob(f"{_STAGING}*"):
        remove_if_dead(os.fspath(stale))
    with locked_temp_dir(folder / f"{_STAGING}{os.urandom(4).hex()}") as place:
        staged = Path(place) / "plugin"
        commit = fetch_files(source, staged, print_notice)
        if name:
            staged, commit = _chosen(source, staged, name, commit)
        manifest = read_manifest(staged)
        if manifest.name in index_file(home).load().plugins and not arguments.has("--force"):
            raise ZotError(f"plugin {manifest.name} is already installed; replace it with --force")
        parts = parts_of(manifest, home / DATA / manifest.name)
        kind = "Agent Plugins 1.0" if manifest.kind == "agent-plugin" else "Claude Code"
        print_notice(f"{manifest.name} {manifest.version} ({kind}) {manifest.description}".replace("  ", " ").rstrip())
        for line in parts.lines():
            print_notice(f"  {line}")
        for line in (*manifest.remarks, *parts.problems):
            print_notice(f"  note: {line}")
        if parts.missing:
            print_notice(f"  not supported by zot: {', '.join(parts.missing)}")
        if not arguments.has("--yes"):
            if not sys.stdin.isatty():
                raise ZotError("cannot ask for confirmation here; pass --yes to accept")
            if read_answer("install it and allow these commands? [y/N]").lower() not in ("y", "yes"):
                print_notice("nothing was installed")
                return 1
        _put(home, staged, f"{source.told} {name}".rstrip(), commit, manifest)
    print_notice(f"installed {manifest.name}; zot uses it from its next start")
    return 0


def _chosen(source: ExtensionSource, root: Path, name: str, commit: str) -> tuple[Path, str]:
    """The directory and commit of one plugin of a marketplace, with its manifest."""
    entries = read_marketplace(root)
    if entries is None:
        raise ZotError(f"{source.told} is not a marketplace: it has no {CLAUDE_FOLDER}/marketplace.json")
    entry, target = find_entry(entries, name), root.with_name("chosen")
    relative = entry.relative_path()
    if relative is None:
        is_local = source.kind == "path" or source.place.startswith("file://")
        commit = fetch_files(entry.remote_source(local=is_local), target, print_notice)
    else:
        inside = (root / relative).resolve()
        if not inside.is_dir() or not inside.is_relative_to(root.resolve()):
            raise ZotError(f"plugin {entry.name}: the marketplace has no directory {relative}")
        copy_tree(inside, target, root.resolve(), lambda path: path.name == ".git", print_notice)
    write_manifest(target, entry)
    return target, commit


def _put(home: Path, staged: Path, source: str, commit: str, manifest: PluginManifest) -> None:
    """The installed directory and its row; trust refers to the copy, not the source."""
    destination = home / FOLDER / manifest.name
    make_private_dir(home / DATA / manifest.name)
    if os.path.lexists(destination):
        exchange_dirs(staged, destination)
    else:
        staged.rename(destination)
    placed = parts_of(read_manifest(destination), home / DATA / manifest.name)
    with index_file(home).edit() as index:
        before = index.plugins.get(manifest.name)
        index.plugins[manifest.name] = PluginEntry(
            source=source,
            accepted=placed.digest(),
            commit=commit,
            version=manifest.version,
            enabled=before is None or before.enabled,
        )


# --- listing


def _list(arguments: ParsedArguments) -> int:
    plugins = load_all(zot_home())
    if arguments.has("--json"):
        print_escaped(json.dumps({"plugins": [_as_json(plugin) for plugin in plugins]}))
        return 0
    if not plugins:
        print_notice("no plugins installed; install one with `zot plugin install PATH|GIT`")
    for plugin in plugins:
        print_result(f"{plugin.name} {plugin.row.version}".rstrip() + f": {_state(plugin)}, from {plugin.row.source}")
        for line in plugin.parts.lines():
            print_result(f"  {line}")
    return 0


def _as_json(plugin: LoadedPlugin) -> dict[str, object]:
    row = plugin.row
    fields = {"name": plugin.name, "version": row.version, "source": row.source, "commit": row.commit}
    return {**fields, "state": _state(plugin), "parts": plugin.parts.lines(), "missing": list(plugin.parts.missing)}


def _state(plugin: LoadedPlugin) -> str:
    if plugin.wrong:
        return "not used"
    return "on" if plugin.row.enabled else "off"


def _doctor(arguments: ParsedArguments) -> int:
    """Print problems; exit code 1 if a plugin is not used."""
    wanted = [_named(name) for name in arguments.words] or load_all(zot_home())
    for plugin in wanted:
        print_result(f"{plugin.name}: {_state(plugin)}")
        notes = [plugin.wrong] if plugin.wrong else []
        notes += [*(plugin.manifest.remarks if plugin.manifest is not None else ()), *plugin.parts.problems]
        notes += [f"not supported by zot: {what}" for what in plugin.parts.missing]
        for entry in plugin.parts.servers:
            if entry.kind == "stdio" and "${" not in entry.command and shutil.which(entry.command) is None:
                notes.append(f"MCP server {entry.name}: program {entry.command} not found")
        for note in notes:
            print_result(f"  {note}")
    return int(any(plugin.wrong for plugin in wanted))


# --- changing


def _named(name: str) -> LoadedPlugin:
    plugins = {plugin.name: plugin for plugin in load_all(zot_home())}
    if name not in plugins:
        match = closest_match(name, plugins)
        hint = f"did you mean {match}?" if match else f"installed: {', '.join(plugins) or 'none'}"
        raise NotThere(f'no plugin "{name}"; {hint}')
    return plugins[name]


def _remove(arguments: ParsedArguments) -> int:
    home = zot_home()
    for name in arguments.words:
        plugin = _named(name)
        with index_file(home).edit() as index:
            index.plugins.pop(plugin.name, None)
        shutil.rmtree(home / FOLDER / plugin.name, ignore_errors=True)
        print_notice(f"removed {plugin.name}; its data stays in {home / DATA / plugin.name}")
    return 0


def _switch(arguments: ParsedArguments, *, on: bool) -> int:
    for name in arguments.words:
        plugin = _named(name)
        with index_file(zot_home()).edit() as index:
            index.plugins[plugin.name].enabled = on
        print_notice(f"{plugin.name} is {'enabled' if on else 'disabled'} from the next start of zot")
    return 0


_Command = Callable[[ParsedArguments], int]
_VERBS: dict[str, tuple[_Command, int, int | None, str]] = {
    "list": (_list, 0, 0, ""),
    "install": (_install, 1, 2, "a path, a git URL or OWNER/REPOSITORY"),
    "remove": (_remove, 1, None, "NAME"),
    "enable": (lambda arguments: _switch(arguments, on=True), 1, None, "NAME"),
    "disable": (lambda arguments: _switch(arguments, on=False), 1, None, "NAME"),
    "doctor": (_doctor, 0, None, "NAME"),
}
