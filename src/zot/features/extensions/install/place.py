"""Installs a fetched extension in one step and pins its files. Data of the replaced version, files beside its program
and its disabled state are preserved."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from zot.errors import ExtensionError, ZotError
from zot.features.extensions.bytecode_cache import compile_ahead
from zot.features.extensions.install.copy_tree import Notify
from zot.features.extensions.install.source import (
    ExtensionSource,
    Fetched,
    files_added_since,
    modified_files,
    read_record,
    write_record,
)
from zot.features.extensions.loader.data_dir import copy_file, data_dir, legacy_files, looks_like_data, make_data_dir
from zot.features.extensions.loader.discovery import STAGING, global_dir
from zot.features.extensions.loader.lock_file import LockFile, pins_of
from zot.features.extensions.loader.manifest import FILE, Manifest, read_manifest
from zot.system.files import exchange_dirs, make_private_dir, sync_dir, write_atomic, zot_home
from zot.system.safe_open import read_whole
from zot.system.temp_files import locked_temp_dir, remove_if_dead


@contextmanager
def staging(name: str) -> Generator[Path]:
    """A staging directory for ``name``, removed at the end with its remains."""
    parent = global_dir(zot_home())
    make_private_dir(parent)
    for stale in parent.glob(f"{STAGING}*"):
        remove_if_dead(os.fspath(stale))
    place = parent / f"{STAGING}{os.urandom(4).hex()}"
    signal.signal(signal.SIGTERM, _stop)
    with locked_temp_dir(place):
        yield place / name


def install_in_place(built: Path, source: ExtensionSource, fetched: Fetched, notify: Notify) -> Manifest:
    """Move the staged directory into place, replacing an installed one."""
    destination = global_dir(zot_home()) / built.name
    names = write_record(built, source, fetched.commit)
    old, lock = _manifest(destination), LockFile(zot_home())
    if not os.path.lexists(destination):
        pins = pins_of(built, names)
        lock.accept(built.name, fetched.manifest, pins)
        built.rename(destination)
    elif destination.is_symlink():  # remove the link, not its target
        destination.unlink()
        pins = pins_of(built, names)
        built.rename(destination)
    else:
        if old:
            _carry_over(old, built, notify)
        pins = pins_of(built, names)
        lock.stage_update(built.name, pins)
        exchange_dirs(built, destination)
    sync_dir(destination.parent)
    manifest = read_manifest(destination)
    lock.accept(destination.name, manifest, pins)
    if old and old.name != manifest.name:
        before, after = (data_dir(each, "global", Path.cwd(), zot_home()) for each in (old, manifest))
        if before.is_dir() and not after.exists():
            before.rename(after)
            notify(f"{old.name} is now called {manifest.name}; its data is in {after}")
    compile_ahead(manifest, zot_home())
    return manifest


def _carry_over(old: Manifest, built: Path, notify: Notify) -> None:
    """Preserve files written beside the old program, and the disabled state."""
    notice = old.has_process and make_data_dir(old, "global", data_dir(old, "global", Path.cwd(), zot_home()))
    if notice:
        notify(notice)
    for name in _kept(old, built):
        target = built / name
        make_private_dir(target.parent)
        with suppress(FileNotFoundError):
            target.unlink()
        if (old.directory / name).is_symlink():
            target.symlink_to(os.readlink(old.directory / name))
        else:
            # hard link until the old one is removed
            path = old.directory / name
            try:
                os.link(path, target)
            except OSError:
                copy_file(path, target)
    if not old.enabled:
        set_enabled(built / FILE, False)


def set_enabled(path: Path, enabled: bool) -> bytes:
    """Change one key of a manifest; returns the bytes written. ``json`` keeps numbers of any size unchanged."""
    fields = json.loads(read_whole(path).decode("utf-8-sig"))
    data = json.dumps({**fields, "enabled": enabled}, indent=2, ensure_ascii=False).encode() + b"\n"
    try:
        write_atomic(path, data, mode=path.stat().st_mode & 0o777)
    except OSError as error:
        raise ZotError(f"cannot write {path}: {error.strerror or error}") from error
    return data


def _kept(old: Manifest, built: Path) -> list[str]:
    """Unknown files that may be data. Built files are rebuilt, so programs are not preserved."""
    record = read_record(old.directory)
    if record is None:
        return [name for name in legacy_files(old) if not os.path.lexists(built / name)]
    program = os.path.normpath(old.exec)
    later = [name for name in files_added_since(old.directory, record) if not os.path.lexists(built / name)]
    data = [name for name in modified_files(old.directory, record) if looks_like_data(old.directory / name, old)]
    return [name for name in (*later, *data) if name != program]


def _manifest(directory: Path) -> Manifest | None:
    try:
        return read_manifest(directory)
    except ExtensionError:
        return None


def _stop(_number: int, _frame: object) -> NoReturn:
    """SIGTERM also runs the clean-up."""
    raise SystemExit(143)


def refuse_existing(name: str) -> None:
    destination = global_dir(zot_home()) / name
    if os.path.lexists(destination):
        raise ZotError(
            f"{destination} already exists; update it: `zot ext update {name}`, replace it: `zot ext install --force`"
        )
