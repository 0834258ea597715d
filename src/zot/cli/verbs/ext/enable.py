"""``zot ext enable`` and ``disable``: change one key of the manifest, nothing else."""

from __future__ import annotations

from zot.cli.arguments import parse
from zot.cli.output import print_notice
from zot.errors import ZotError
from zot.features.extensions.install.installed import find
from zot.features.extensions.install.place import set_enabled
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.extensions.loader.guard_registry import forget
from zot.features.extensions.loader.lock_file import LockFile
from zot.features.extensions.loader.manifest import FILE, read_manifest
from zot.system.digest import sha256
from zot.system.files import zot_home


def enable(argv: list[str]) -> int:
    return _switch(argv, True)


def disable(argv: list[str]) -> int:
    return _switch(argv, False)


def _switch(argv: list[str], enabled: bool) -> int:
    item = find(parse(argv, {}, least=1, most=1, what="the name").words[0], print_notice)
    read_manifest(item.directory)  # raises for a broken one
    trust = ExtensionTrust(zot_home())
    record = trust.record(item.directory) if trust.is_trusted(item.directory) else None
    if record is not None and (item.directory / FILE).is_symlink():
        raise ZotError(f"{item.directory / FILE} is a link; edit its target, then run `zot ext trust`")
    lock = LockFile(zot_home()) if item.scope == "global" else None
    intact = lock is not None and lock.is_intact(item.directory)
    written = set_enabled((item.directory / FILE).resolve(), enabled)
    if item.scope == "global" and not enabled:
        forget(zot_home(), item.directory.name)
    if lock is not None and intact:  # so was this one
        lock.repin(item.directory, FILE)
    if record is not None:  # zot made this edit: trust stays valid
        trust.trust(item.directory, record.files | {FILE: sha256(written)}, unconfined=None)
    print_notice(f"{'enabled' if enabled else 'disabled'} {item.name} ({item.directory})")
    return 0
