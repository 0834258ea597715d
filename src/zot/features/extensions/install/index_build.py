"""Writes an index of a directory of extensions: an archive per version beside ``index.json``, older versions kept."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tempfile
import time
from pathlib import Path

import msgspec

from zot.errors import ExtensionError, ZotError
from zot.features.extensions.contributions import imitates_zot
from zot.features.extensions.install.copy_tree import Notify, copy_extension
from zot.features.extensions.install.index import (
    FORMAT,
    ExtensionFields,
    Index,
    SourceFields,
    VersionFields,
    decode_index,
    problems_of,
    version_key,
)
from zot.features.extensions.install.tree_hash import LARGEST, tree_files, tree_hash, tree_size
from zot.features.extensions.loader.discovery import candidates
from zot.features.extensions.loader.manifest import FILE, Manifest, read_manifest
from zot.system.files import write_atomic
from zot.system.safe_open import open_buffered, read_whole

INDEX = "index.json"
_KEPT_MODE = 0o644


def build_index(directory: Path, name: str, key: str, zot: str, notify: Notify) -> Path:
    """The path of the index. Each directory below ``directory`` with a manifest is an extension."""
    before = _before(directory / INDEX)
    found = candidates(directory)
    if not found:
        raise ZotError(f"{directory}: no directory in it has an {FILE}")
    entries = {entry.name: entry for entry in before.extensions} if before is not None else {}
    for place in found:
        manifest = _manifest(place)
        entries[manifest.name] = _with_version(entries.get(manifest.name), manifest, directory, zot, notify)
    index = Index(
        format=FORMAT,
        name=name or (before.name if before is not None else directory.name),
        updated=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        key=key or (before.key if before is not None else ""),
        extensions=tuple(entries[each] for each in sorted(entries)),
    )
    if problems := problems_of(index):
        raise ZotError(f"{directory}: {'; '.join(problems[:3])}")
    write_atomic(directory / INDEX, msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n", _KEPT_MODE)
    return directory / INDEX


def _before(path: Path) -> Index | None:
    return decode_index(read_whole(path), str(path)) if path.exists() else None


def _manifest(place: Path) -> Manifest:
    try:
        manifest = read_manifest(place)
    except ExtensionError as error:
        raise ZotError(f"{place}: {error}") from error
    if imitates_zot(manifest.name):
        raise ZotError(f"{place}: the name {manifest.name!r} could be taken for zot's; choose another")
    if not manifest.version:
        raise ZotError(f'{place}: "version" is missing in {FILE}; an index needs one')
    return manifest


def _with_version(
    entry: ExtensionFields | None, manifest: Manifest, directory: Path, zot: str, notify: Notify
) -> ExtensionFields:
    entry = entry or ExtensionFields(name=manifest.name)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        copy_extension(manifest, copy, notify)
        tree, size = tree_hash(copy), tree_size(copy)
        if size > LARGEST:
            raise ZotError(f"{manifest.directory}: more than {LARGEST >> 20} MiB")
        known = next((each for each in entry.versions if each.version == manifest.version), None)
        if known is not None and known.tree != tree:
            raise ZotError(
                f"{manifest.name} {manifest.version} is published with other files; raise its version in {FILE}"
            )
        if known is None:
            archive = f"{_plain(manifest.name)}-{_plain(manifest.version)}.tar.gz"
            write_atomic(directory / archive, _archive(copy), _KEPT_MODE)
            known = _version(manifest, archive, tree, size, zot)
            notify(f"{manifest.name} {manifest.version}: {archive}, {size:,} bytes")
    others = [each for each in entry.versions if each.version != manifest.version]
    versions = sorted((*others, known), key=lambda each: version_key(each.version), reverse=True)
    return msgspec.structs.replace(
        entry, description=manifest.description or entry.description, versions=tuple(versions)
    )


def _version(manifest: Manifest, archive: str, tree: str, size: int, zot: str) -> VersionFields:
    raw = msgspec.json.decode(
        read_whole(manifest.directory / FILE).removeprefix(b"\xef\xbb\xbf"), type=dict[str, object]
    )
    return VersionFields(
        version=manifest.version,
        source=SourceFields(archive=archive),
        tree=tree,
        size=size,
        zot=zot,
        permissions=raw.get("permissions"),
        uses=manifest.uses,
        guard=manifest.guard,
    )


def _archive(directory: Path) -> bytes:
    """The same bytes for the same files."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(tree_files(directory)):
            info = tarfile.TarInfo(path.relative_to(directory).as_posix())
            info.size = path.stat().st_size
            info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            with open_buffered(path) as file:
                archive.addfile(info, file)
    return gzip.compress(plain.getvalue(), mtime=0)


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in text) or "_"


def signing_advice(path: Path) -> str:
    """How to sign it with OpenSSL: zot itself never has a private key."""
    name = os.fspath(path)
    return f"sign it: openssl pkeyutl -sign -rawin -inkey KEY.pem -in {name} | base64 -w0 > {name}.sig"
