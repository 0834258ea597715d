"""Fetches a version of an extension from an index: files with the promised hash, a manifest that asks for no more than
the index showed. Anything else leaves nothing behind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from zot import __version__
from zot.agent.settings import Settings
from zot.errors import ExtensionError, ZotError
from zot.features.extensions.install.archive import unpack
from zot.features.extensions.install.copy_tree import Notify
from zot.features.extensions.install.index import ExtensionFields, VersionFields, fits, is_url, locate, version_key
from zot.features.extensions.install.index_store import AddedIndex, IndexStore, read_place
from zot.features.extensions.install.source import ExtensionSource, Fetched, clone_at
from zot.features.extensions.install.tree_hash import LARGEST, tree_hash, tree_size
from zot.features.extensions.loader.declared_permissions import added_permissions
from zot.features.extensions.loader.declared_uses import added_uses
from zot.features.extensions.loader.manifest import FILE, Manifest, read_manifest
from zot.system.files import zot_home


def store_of(settings: Settings) -> IndexStore:
    return IndexStore(settings.path.parent, settings.values.ext_indexes)


def find_in_indexes(name: str) -> ExtensionSource:
    """``NAME`` or ``NAME@VERSION``; ZotError if no index has it."""
    name, _, version = name.partition("@")
    store = store_of(Settings(zot_home()))
    found = store.find(name)
    if not found:
        raise ZotError(_not_found(name, store.all()))
    added, _ = found[0]
    return ExtensionSource("index", added.url, version, name)


def _not_found(name: str, indexes: list[AddedIndex]) -> str:
    if not indexes:
        return f'no index has "{name}": none was added; add one with `zot ext index add URL`, or install a PATH or URL'
    problems = [added.problem for added in indexes if added.problem]
    named = ", ".join(added.name for added in indexes if not added.problem)
    told = f"; {problems[0]}" if problems else ""
    return f'"{name}" is neither a path nor in an index ({named}){told}; see `zot ext search`'


def fetch_from_index(source: ExtensionSource, target: Path, notify: Notify, *, force: bool = False) -> Fetched:
    """``source.ref`` is a version, or empty for the newest one that fits."""
    settings = Settings(zot_home())
    if source.place not in {each.url for each in settings.values.ext_indexes}:
        raise ZotError(f"its index {source.place} was removed; add it again: `zot ext index add {source.place}`")
    added = next(each for each in store_of(settings).all() if each.url == source.place)
    entry = added.index.find(source.subdir) if added.index is not None else None
    if entry is None:
        raise ZotError(added.problem or f"{source.subdir} is no longer in {added.name}")
    version = chosen_version(entry, source.ref, force=force)
    notify(f"{entry.name} {version.version} from {added.name}")
    for line in version.described:
        notify(f"  {line}")
    _get_files(version, added.url, target, notify)
    found = tree_hash(target)
    if found != version.tree:
        raise ZotError(f"{entry.name} {version.version}: its files are not those of the index ({found}); {_NOTHING}")
    return Fetched(_checked(target, entry.name, version))


_NOTHING = "nothing was installed"


def newest_source(source: ExtensionSource, installed: Manifest | None, notify: Notify) -> ExtensionSource | None:
    """The newest version, from the refreshed index; None if the installed one is not older."""
    settings = Settings(zot_home())
    store = store_of(settings)
    added = next((each for each in store.all() if each.url == source.place), None)
    if added is not None:
        try:
            store.refresh(added.url, added.key)
        except ZotError as error:
            notify(f"not refreshed, its copy is used: {error}")
        added = store.load(added.url, added.key)
        entry = added.index.find(source.subdir) if added.index is not None else None
        newest = entry.newest(__version__) if entry is not None else None
        if newest is not None and installed is not None:
            now = next((each for each in entry.versions if each.version == installed.version), None) if entry else None
            if now is not None and now.yanked:
                notify(f"note: {installed.name} {installed.version} was withdrawn: {now.yanked}")
            if version_key(installed.version) >= newest.key:
                return None
    return ExtensionSource("index", source.place, "", source.subdir)


def chosen_version(entry: ExtensionFields, wanted: str, *, force: bool = False) -> VersionFields:
    """ZotError names why there is none."""
    if not wanted:
        newest = entry.newest(__version__)
        if newest is None:
            ranges = sorted({each.zot for each in entry.versions if not each.yanked and each.zot})
            needs = f"; versions need zot {' or '.join(ranges)}" if ranges else ""
            raise ZotError(f"{entry.name}: no version fits zot {__version__}{needs}")
        return newest
    version = next((each for each in entry.versions if each.version == wanted), None)
    if version is None:
        known = sorted((each.version for each in entry.versions), key=version_key, reverse=True)
        raise ZotError(f"{entry.name} has no version {wanted}; there are: {', '.join(known[:8]) or 'none'}")
    if version.yanked and not force:
        raise ZotError(f"{entry.name} {wanted} was withdrawn: {version.yanked}; install it anyway with --force")
    if not fits(version.zot, __version__) and not force:
        raise ZotError(f"{entry.name} {wanted} needs zot {version.zot}, this is {__version__}; --force ignores that")
    return version


def _get_files(version: VersionFields, base: str, target: Path, notify: Notify) -> None:
    source = version.source
    fetched = target.with_name(f"{target.name}.fetched")
    if source.archive:
        place = locate(source.archive, base)
        notify(f"reading {place} …")
        unpack(read_place(place, LARGEST), fetched)
        inside = top_directory(fetched)
    else:
        place = locate(source.git, base)
        if is_url(place) and not place.startswith(("https://", "ssh://", "file://")):
            raise ZotError(f"{place}: expected an https:// or ssh:// repository; {_NOTHING}")
        clone_at(place, source.rev, fetched, notify)
        shutil.rmtree(fetched / ".git")
        inside = fetched / source.path
        if not inside.is_dir() or not inside.resolve().is_relative_to(fetched.resolve()):
            raise ZotError(f"{place} has no directory {source.path}; {_NOTHING}")
        if tree_size(inside) > LARGEST:
            raise ZotError(f"{place} has more than {LARGEST >> 20} MiB; {_NOTHING}")
    os.rename(inside, target)
    if inside != fetched:
        shutil.rmtree(fetched)


def top_directory(unpacked: Path) -> Path:
    """The directory with the manifest: archives of repositories have one around it."""
    if (unpacked / FILE).exists():
        return unpacked
    inner = list(unpacked.iterdir())
    return inner[0] if len(inner) == 1 and inner[0].is_dir() else unpacked


def _checked(target: Path, name: str, version: VersionFields) -> Manifest:
    """The manifest must be what the index showed; ZotError if it asks for more."""
    try:
        manifest = read_manifest(target)
    except ExtensionError as error:
        raise ZotError(f"not an extension ({error}); {_NOTHING}") from error
    more = manifest_differences(manifest, name, version)
    if more:
        raise ZotError(f"{name} {version.version} is not what the index showed: {'; '.join(more)}; {_NOTHING}")
    return manifest


def manifest_differences(manifest: Manifest, name: str, version: VersionFields) -> list[str]:
    found: list[str] = []
    if manifest.name != name:
        found.append(f"its name is {manifest.name!r}")
    if manifest.version != version.version:
        found.append(f"its version is {manifest.version or 'missing'}")
    if manifest.guard != version.guard:
        found.append("it is a guard" if manifest.guard else "it is no guard")
    if manifest.has_process:
        found += (f"it {line}" for line in added_permissions(version.granted, manifest.permissions))
    return [*found, *(f"it {line}" for line in added_uses(version.uses, manifest.uses))]
