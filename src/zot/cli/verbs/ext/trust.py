"""``zot ext trust`` and ``untrust``: decide about a project's extensions or one directory; starts nothing.

For the user's own extension it accepts changed files and more permissions.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from zot.cli.arguments import parse
from zot.cli.output import print_notice
from zot.cli.verb_table import options
from zot.errors import ExtensionError, ZotError, describe_error
from zot.features.extensions.bytecode_cache import compile_ahead
from zot.features.extensions.install.installed import all_installed
from zot.features.extensions.loader.data_dir import is_data_dir
from zot.features.extensions.loader.declared_permissions import OF_PROJECTS, describe_permissions
from zot.features.extensions.loader.declared_uses import describe_uses
from zot.features.extensions.loader.discovery import candidates, project_dir
from zot.features.extensions.loader.extension_trust import ExtensionTrust, extension_key
from zot.features.extensions.loader.lock_file import LockFile, pins_of
from zot.features.extensions.loader.manifest import FILE, host_of_address, read_manifest
from zot.system.files import zot_home


def trust(argv: list[str]) -> int:
    typed = parse(argv, options("ext trust"), least=0, most=1)
    free = typed.has("--unconfined")
    if own := _own(typed.words[0]) if typed.words else None:
        if free:
            raise ZotError(f'{own.name} is your own extension: remove "permissions" from {own / FILE}, then trust it')
        manifest, lock = read_manifest(own), LockFile(zot_home())
        known = lock.of(own.name)
        pins = pins_of(own, known.pins[-1]) if known and known.pins else None
        lock.accept(own.name, manifest, pins)
        compile_ahead(manifest, zot_home())
        what = f"{len(pins)} file{'s' * (len(pins) != 1)} in {own}" if pins is not None else str(own)
        print_notice(f"accepted {manifest.name} in its current state ({what})")
        for line in (*describe_permissions(manifest.permissions), *describe_uses(manifest.uses, manifest.host)):
            print_notice(f"  {line}")
        return 0
    directory, store = _directory(typed.words), ExtensionTrust(zot_home())
    if os.path.lexists(directory / FILE):
        entries = [directory]
    else:  # a project; ``.zot/extensions`` itself means its project
        entries = candidates(directory if directory.parts[-2:] == (".zot", "extensions") else project_dir(directory))
    if not sum(_trust_one(entry, store, free) for entry in entries):
        raise ZotError(f"nothing to trust in {directory}")
    return 0


def _own(word: str) -> Path | None:
    """One of the user's own extensions, by name or directory."""
    if "/" not in word and not os.path.lexists(os.path.join(word, FILE)):
        own = [item for item in all_installed() if item.scope == "global" and word in (item.name, item.directory.name)]
        return own[0].directory if len(own) == 1 else None
    directory = Path(os.path.abspath(os.path.expanduser(word)))
    return directory if is_data_dir(directory, zot_home()) and os.path.lexists(directory / FILE) else None


def untrust(argv: list[str]) -> int:
    """Uses the records, so that a deleted directory can be untrusted also."""
    directory, store = _directory(parse(argv, {}, least=0, most=1).words), ExtensionTrust(zot_home())
    inside = directory.parts[-2:] == (".zot", "extensions")
    records = store.project_records(directory.parent.parent if inside else directory)
    for key in (extension_key(directory), str(directory)):  # the second form is used in messages
        if record := store.record_by_key(key):
            records = {key: record}
            break
    if not records:
        raise ZotError(f"no trusted extensions in {directory}")
    for key, record in records.items():
        store.untrust_key(key)
        print_notice(f"revoked trust in {record.name}: ran `{record.exec}` ({key})")
    return 0


def _directory(typed: Sequence[str]) -> Path:
    return Path(os.path.abspath(os.path.expanduser(typed[0] if typed else ".")))


def _trust_one(directory: Path, store: ExtensionTrust, free: bool) -> bool:
    try:
        manifest = read_manifest(directory)
    except ExtensionError as error:
        print_notice(f"skipped {directory}: {error}")
        return False
    if not manifest.has_process:
        print_notice(f"{manifest.name} has no process and needs no trust: {directory}")
        return False
    try:
        record = store.trust(directory, unconfined=free)
    except (ExtensionError, OSError) as error:
        print_notice(f"skipped {directory}: {describe_error(error)}")
        return False
    with suppress(ExtensionError, OSError):  # changed just now: it needs trust again
        compile_ahead(read_manifest(store.trusted_path(directory)), zot_home())
    command = shlex.join((record.exec, *record.args))
    print_notice(
        f"trusted {record.name}: runs `{command}` ({len(record.files)} file{'s' * (len(record.files) != 1)} "
        f"in {directory})"
    )
    granted = describe_permissions(None if free else record.permissions or OF_PROJECTS)
    for line in (*granted, *describe_uses(record.uses, host_of_address(record.exec))):
        print_notice(f"  {line}")
    return True
