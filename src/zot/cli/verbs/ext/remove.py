"""``zot ext remove``: deletes an extension after confirmation; log and, by default, data stay.
It also removes the record of a guard whose files are deleted, and the data of a removed extension."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from zot.cli.arguments import parse
from zot.cli.output import print_notice, read_answer
from zot.cli.verb_table import options
from zot.errors import UsageError, ZotError
from zot.features.extensions.bytecode_cache import forget_bytecode
from zot.features.extensions.install.installed import Installed, all_installed, find, typed_name
from zot.features.extensions.install.source import files_added_since, modified_files, read_record
from zot.features.extensions.loader.data_dir import copy_files, data_dir, legacy_files
from zot.features.extensions.loader.discovery import STAGING, global_dir
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.extensions.loader.guard_registry import forget, known_guards
from zot.features.extensions.loader.lock_file import LockFile
from zot.features.extensions.loader.manifest import Manifest
from zot.system.files import make_private_dir, zot_home


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("ext remove"), least=1, most=1, what="the name")
    name = arguments.words[0]
    installed = any(name in (item.name, item.directory.name) for item in all_installed())
    if not installed and name in known_guards(zot_home()).guards:
        forget(zot_home(), name)
        print_notice(f"removed the record of guard {name}; no extension in {global_dir(zot_home()) / name}")
        return 0
    delete_data = arguments.has("--delete-data")
    if delete_data and arguments.has("--keep-data"):
        raise UsageError("use --keep-data or --delete-data, not both")
    if delete_data and not installed and (zot_home() / "data" / "global" / typed_name(name)).is_dir():
        return _delete_left_data(name, arguments.has("--yes", "-y"))
    item = find(name, print_notice)
    if not (arguments.has("--yes", "-y") or read_answer(f"remove {item.name} ({item.directory})? [y/N]") in ("y", "Y")):
        print_notice("aborted")
        return 0
    data = _data_of(item)
    if data and not (delete_data or arguments.has("--yes", "-y", "--keep-data")):
        delete_data = read_answer(f"delete its data also ({data})? [y/N]") in ("y", "Y")
    try:
        if item.manifest and not delete_data and item.scope == "global" and not item.directory.is_symlink():
            data = _rescue(item.manifest) or data
        _delete(item.directory)
        if data and delete_data:
            shutil.rmtree(data)
    except OSError as error:
        raise ZotError(f"cannot remove {item.directory}: {error.strerror or error}") from error
    ExtensionTrust(zot_home()).untrust(item.directory)
    forget_bytecode(item.directory, zot_home())
    if item.scope == "global":
        forget(zot_home(), item.directory.name)
        LockFile(zot_home()).forget(item.directory.name)
    print_notice(f"removed {item.name} ({item.directory})")
    if data:
        kept = f"kept its data in {data}; delete it with `zot ext remove {item.name} --delete-data`"
        print_notice(f"deleted its data in {data}" if delete_data else kept)
    return 0


def _data_of(item: Installed) -> Path | None:
    """Its data directory, unless empty."""
    if item.manifest is None:
        return None
    place = data_dir(item.manifest, item.scope, Path.cwd(), zot_home())
    return place if place.is_dir() and any(place.iterdir()) else None


def _rescue(manifest: Manifest) -> Path | None:
    """Move data files beside its program to its data directory; existing files there are newer and stay."""
    place = data_dir(manifest, "global", Path.cwd(), zot_home())
    record = read_record(manifest.directory)
    names = legacy_files(manifest)
    if record is not None:
        own = {*files_added_since(manifest.directory, record), *modified_files(manifest.directory, record)}
        names = [name for name in names if name in own]
    names = [name for name in names if not (place / name).exists()]
    if names:
        make_private_dir(place)
        copy_files(manifest.directory, names, place)
    return place if names else None


def _delete_left_data(name: str, yes: bool) -> int:
    data = zot_home() / "data" / "global" / name
    if not (yes or read_answer(f"{name} is not installed; delete its data ({data})? [y/N]") in ("y", "Y")):
        print_notice("aborted")
        return 0
    shutil.rmtree(data)
    print_notice(f"deleted the data of {name} in {data}")
    return 0


def _delete(directory: Path) -> None:
    """Rename first, so that an interrupted removal leaves nothing that loads. A link is removed, not its target."""
    if directory.is_symlink():
        directory.unlink()
        return
    doomed = directory.with_name(f"{STAGING}removed-{os.urandom(4).hex()}")
    directory.rename(doomed)
    shutil.rmtree(doomed)
