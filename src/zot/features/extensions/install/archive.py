"""Unpacks the archive of an extension (tar, also compressed, or zip): only files and directories below the target,
within 64 MiB and 10,000 files. Whatever else is in it ends the installation."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

from zot.errors import ZotError
from zot.features.extensions.install.tree_hash import LARGEST, MOST_FILES
from zot.system.safe_open import create

_OVERHEAD = 2048  # bytes of an archive per file, besides its content
_LONGEST_NAME = 1024
_CHUNK = 1 << 20
_DRIVE = re.compile(r"[A-Za-z]:")


class _Entry(NamedTuple):
    name: str
    executable: bool
    content: IO[bytes] | None  # None for a directory


def unpack(data: bytes, target: Path) -> None:
    """``target`` must not exist. ZotError names what the archive may not have; the caller removes the remains."""
    target.mkdir(mode=0o700)
    written, seen = 0, set[str]()
    entries = _zip_entries(data) if data[:2] == b"PK" else _tar_entries(data)
    for number, entry in enumerate(entries):
        if number >= MOST_FILES:
            raise ZotError(f"the archive has more than {MOST_FILES:,} files")
        name = _checked(entry.name)
        if not name:
            continue
        place = target / name
        if entry.content is None:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            continue
        if name.casefold() in seen:
            raise ZotError(f"the archive has {name[:200]!r} twice")
        seen.add(name.casefold())
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written += _write(place, entry, LARGEST - written)


def _write(place: Path, entry: _Entry, room: int) -> int:
    """Only new files: a link that an earlier entry made is not followed."""
    assert entry.content is not None
    written = 0
    handle = create(place, 0o700 if entry.executable else 0o600)
    with os.fdopen(handle, "wb") as file:
        while chunk := entry.content.read(_CHUNK):
            written += len(chunk)
            if written > room:
                raise ZotError(f"the archive has more than {LARGEST >> 20} MiB")
            file.write(chunk)
    return written


def _checked(name: str) -> str:
    """The path of an entry; empty for the archive's own directory."""
    if not name.isprintable() or len(name) > _LONGEST_NAME or "\\" in name:
        raise ZotError(f"the archive has an unusable path {name[:200]!r}")
    if name.startswith("/") or _DRIVE.match(name):
        raise ZotError(f"the archive has the absolute path {name[:200]!r}")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ZotError(f"the archive has the climbing path {name[:200]!r}")
    if any(part.casefold() == ".git" for part in parts):
        raise ZotError("the archive has a .git directory")
    return "/".join(parts)


def _tar_entries(data: bytes) -> Iterator[_Entry]:
    import tarfile

    try:
        with tarfile.open(fileobj=_Limited(_decompressed(data)), mode="r|") as archive:
            for member in archive:
                if member.isdir():
                    yield _Entry(member.name, False, None)
                elif member.isreg() and not member.issparse():
                    yield _Entry(member.name, bool(member.mode & 0o100), archive.extractfile(member))
                else:
                    raise ZotError(f"the archive has {member.name[:200]!r}, which is a link or no file")
    except (tarfile.TarError, EOFError, OSError, ValueError, LookupError) as error:
        raise ZotError(f"not a usable tar archive: {error or type(error).__name__}") from error


def _decompressed(data: bytes) -> IO[bytes]:
    if data[:2] == b"\x1f\x8b":
        import gzip

        return cast("IO[bytes]", gzip.GzipFile(fileobj=io.BytesIO(data)))
    if data[:6] == b"\xfd7zXZ\x00":
        import lzma

        return lzma.LZMAFile(io.BytesIO(data))
    return io.BytesIO(data)


class _Limited(io.RawIOBase):
    """Ends the reading of an archive that unpacks to more than any extension has."""

    def __init__(self, inner: IO[bytes]) -> None:
        super().__init__()
        self._inner = inner
        self._left = LARGEST + MOST_FILES * _OVERHEAD

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        import lzma
        import zlib

        try:
            data = self._inner.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        except (zlib.error, lzma.LZMAError) as error:
            raise OSError(f"damaged: {error}") from error
        self._left -= len(data)
        if self._left < 0:
            raise ZotError(f"the archive has more than {LARGEST >> 20} MiB")
        return data


def _zip_entries(data: bytes) -> Iterator[_Entry]:
    import stat
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                mode = info.external_attr >> 16
                if info.flag_bits & 0x1:
                    raise ZotError(f"the archive has the encrypted file {info.filename[:200]!r}")
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise ZotError(f"the archive has {info.filename[:200]!r}, which is a link or no file")
                if info.is_dir():
                    yield _Entry(info.filename, False, None)
                    continue
                with archive.open(info) as content:
                    yield _Entry(info.filename, bool(mode & 0o100), content)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ZotError(f"not a usable zip archive: {error or type(error).__name__}") from error
