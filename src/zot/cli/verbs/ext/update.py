"""``zot ext update``: fetches an extension again from its source and replaces it in one step.

Local edits and a guard that would stop being one need ``--force``; more permissions need confirmation.
"""

from __future__ import annotations

import filecmp
import os
import sys
from pathlib import Path

import msgspec

from zot.cli.arguments import parse
from zot.cli.output import print_notice, read_answer
from zot.cli.verb_table import options
from zot.cli.verbs.ext.install import report_exec
from zot.errors import UsageError, ZotError, describe_error
from zot.features.extensions.install.installed import Installed, all_installed, find
from zot.features.extensions.install.place import install_in_place, staging
from zot.features.extensions.install.source import ExtensionSource, InstallRecord, fetch, modified_files, read_record
from zot.features.extensions.loader.data_dir import RECORD, files_below, looks_like_data
from zot.features.extensions.loader.declared_permissions import added_permissions
from zot.features.extensions.loader.declared_uses import added_uses, describe_uses
from zot.features.extensions.loader.lock_file import LockFile, pins_of
from zot.features.extensions.loader.manifest import FILE, Manifest
from zot.system.files import zot_home
from zot.system.safe_open import read_whole


class _UpdateOptions(msgspec.Struct, frozen=True):
    force: bool
    dry_run: bool


def run(argv: list[str]) -> int:
    typed = parse(argv, options("ext update"), least=0)
    if typed.words and typed.has("--all"):
        raise UsageError("use names or --all, not both")
    items = (
        [find(name, print_notice) for name in typed.words]
        if typed.words
        else [item for item in all_installed() if item.scope == "global"]
    )
    if not items:
        print_notice("nothing to update: no extensions installed")
    wanted = _UpdateOptions(typed.has("--force"), typed.has("--dry-run"))
    return 1 if sum(not _try_update(item, wanted, named=bool(typed.words)) for item in items) else 0


def _try_update(item: Installed, wanted: _UpdateOptions, *, named: bool) -> bool:
    """A failure does not stop the other updates."""
    try:
        record = None if item.directory.is_symlink() else read_record(item.directory)
        if record is None and not named:
            print_notice(f"{item.name}: skipped: {_why_unknown(item)}")
            return True
        _update(item, record, wanted)
        return True
    except (ZotError, OSError) as error:
        print_notice(f"{item.name}: not updated: {describe_error(error)}")
        return False


def _why_unknown(item: Installed) -> str:
    if item.directory.is_symlink():
        return f"a link to {os.path.realpath(item.directory)}; update it there"
    return "unknown install source; reinstall with `zot ext install --force PATH|URL`"


def _recorded(item: Installed, record: InstallRecord | None) -> InstallRecord:
    if item.scope == "project":
        raise ZotError(f"part of this project; change it in {item.directory}, then run `zot ext trust`")
    if record is None:
        raise ZotError(_why_unknown(item))
    return record


def _update(item: Installed, found: InstallRecord | None, wanted: _UpdateOptions) -> None:
    record = _recorded(item, found)
    source = _newest(item, record)
    if source is None:
        print_notice(f"{item.name} is up to date ({_version(item.manifest.version if item.manifest else '', '')})")
        return
    with staging(item.directory.name) as place:
        fetched = fetch(source, place, print_notice)
        if item.manifest and _is_same(item.directory, place, record):
            lock = LockFile(zot_home())
            if lock.of(item.directory.name) is None:  # installed before files were pinned
                lock.accept(item.directory.name, item.manifest, pins_of(item.directory, record.files))
            print_notice(f"{item.name} is up to date ({_version(item.manifest.version, record.commit)})")
            return
        more = _added_permissions(item, fetched.manifest)
        if not wanted.force:
            _refuse_losses(item, fetched.manifest, record)
        before = _version(item.manifest.version if item.manifest else "", record.commit)
        change = f"{before} → {_version(fetched.manifest.version, fetched.commit)}"
        if wanted.dry_run:
            print_notice(f"{item.name} would be updated: {change}")
            for line in more:
                print_notice(f"  it needs an additional permission: {line}")
            return
        if more and not wanted.force:
            for line in more:
                print_notice(f"  {item.name} needs an additional permission: {line}")
            can_ask = sys.stdin.isatty() and sys.stderr.isatty()
            if not can_ask or read_answer(f"grant {item.name} these permissions? [y/N]") not in ("y", "Y"):
                raise ZotError("this version needs more permissions (listed above); accept with --force")
        manifest = install_in_place(place, source, fetched, print_notice)
    print_notice(f"updated {manifest.name}: {change}")
    if manifest.has_process and not os.access(_program(manifest), os.X_OK):
        report_exec(manifest)


def _newest(item: Installed, record: InstallRecord) -> ExtensionSource | None:
    """What to fetch; None if an index has nothing newer."""
    if record.source.kind != "index":
        return record.source
    from zot.features.extensions.install.index_source import newest_source  # most come from elsewhere

    return newest_source(record.source, item.manifest, print_notice)


def _program(manifest: Manifest) -> str:
    try:
        return manifest.argv(os.environ.get("PATH", ""))[0]
    except ZotError:
        return ""


def _added_permissions(item: Installed, new: Manifest) -> list[str]:
    """Permissions it would get that were not granted."""
    known = LockFile(zot_home()).of(item.directory.name)
    old = item.manifest
    if known is not None:
        granted, words = known.granted if known.confined else None, known.uses
    else:
        granted, words = (old.permissions, old.uses) if old else (None, None)
    moved = new.host and new.host != (old.host if old else "")
    remote = describe_uses((), new.host)[:1] if moved else []
    return [*remote, *added_permissions(granted, new.permissions), *added_uses(words, new.uses)]


def _refuse_losses(item: Installed, new: Manifest, record: InstallRecord) -> None:
    """Refuse an update that would discard local edits or a guard."""
    old = item.manifest
    edited = [
        name
        for name in modified_files(item.directory, record)
        if old is None or not looks_like_data(item.directory / name, old)
    ]
    if edited:
        shown = ", ".join(edited[:5]) + (" …" if len(edited) > 5 else "")
        raise ZotError(f"changed locally since installation: {shown}; replace them with --force")
    if old and old.guard and old.enabled and not new.guard:
        raise ZotError(f"version {new.version or '-'} is no longer a guard; accept with --force")


def _is_same(installed: Path, fetched: Path, record: InstallRecord) -> bool:
    """True if installed and fetched files have the same content; ignores ``enabled`` in the manifest."""
    new = {str(path.relative_to(fetched)) for path in files_below(fetched)}
    if new != set(record.files) - {RECORD} or modified_files(installed, record):
        return False
    return all(_equal(installed / name, fetched / name) for name in new)


def _equal(old: Path, new: Path) -> bool:
    if old.is_symlink() or new.is_symlink():
        return old.is_symlink() and new.is_symlink() and os.readlink(old) == os.readlink(new)
    if not old.is_file():
        return False
    if old.name == FILE and not filecmp.cmp(old, new, shallow=False):
        return _without_enabled(old) == _without_enabled(new)
    return filecmp.cmp(old, new, shallow=False)


def _without_enabled(path: Path) -> dict[str, object]:
    fields = msgspec.json.decode(read_whole(path).removeprefix(b"\xef\xbb\xbf"), type=dict[str, object])
    return {name: value for name, value in fields.items() if name != "enabled"}


def _version(version: str, commit: str) -> str:
    return " ".join(filter(None, (version, commit[:7]))) or "no version"
