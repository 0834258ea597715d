"""State of a path (missing, file, link, other), and the store of contents by digest.
``capture`` stores the content, ``look`` does not, ``restore`` writes it back atomically and never through a link.
Contents are not synced; each is verified against its digest before use."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from zot.system.digest import blake2b
from zot.system.files import make_private_dir, replace_file
from zot.system.safe_open import read_unlinked, read_whole
from zot.system.temp_files import PendingFile, temporary_name

LARGEST = 32 << 20  # per content; also the limit of the edit tool
_DIGEST_BYTES = 24
_DIGEST = re.compile(rf"[0-9a-f]{{{2 * _DIGEST_BYTES}}}")


def digest_of(data: bytes) -> str:
    return blake2b(data, _DIGEST_BYTES)


class Objects:
    """``added`` counts the bytes this process stored."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.added = 0

    def keep(self, data: bytes) -> str:
        """Store content and return its digest; existing content is only marked as used. Raises OSError."""
        digest = digest_of(data)
        path = self._path(digest)
        try:
            if os.stat(path).st_size == len(data):
                os.utime(path)
                return digest
            os.unlink(path)  # torn by a power failure
        except FileNotFoundError:
            pass
        try:
            new = PendingFile(path)
        except FileNotFoundError:
            make_private_dir(Path(os.path.dirname(path)))
            new = PendingFile(path)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(new.fd, rest) :]
            with suppress(FileExistsError):  # another process was faster
                new.commit(replace=False)
        finally:
            new.close()
        self.added += len(data)
        return digest

    def make_places(self) -> None:
        """Creates all directories of the store in advance. Raises OSError."""
        make_private_dir(self.root)
        for number in range(256):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(self.root, f"{number:02x}"), 0o700)

    def has(self, digest: str, size: int) -> bool:
        """True if it should exist; only reading is certain."""
        try:
            return os.stat(self._path(digest)).st_size == size
        except (OSError, ValueError):
            return False

    def read(self, digest: str) -> bytes | None:
        """The content; None if pruned or damaged."""
        try:
            data = read_whole(self._path(digest), LARGEST)
        except (OSError, ValueError):
            return None
        return data if digest_of(data) == digest else None

    def all(self) -> Iterator[os.DirEntry[str]]:
        for directory in _entries(self.root):
            if directory.is_dir(follow_symlinks=False):
                yield from _entries(directory.path)

    def _path(self, digest: str) -> str:
        """Validates a digest, which comes from a file; ValueError if invalid."""
        if not _DIGEST.fullmatch(digest):
            raise ValueError(f"not a digest: {digest!r}")
        return os.path.join(self.root, digest[:2], digest[2:])


def _entries(path: str | Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(path) as entries:
        yield from entries


Kind = Literal["missing", "file", "link", "other"]


class FileState(msgspec.Struct, frozen=True, omit_defaults=True):
    """``why`` is the reason why a file has no ``digest``."""

    kind: Kind = "missing"
    digest: str = ""
    size: int = 0
    mode: int = 0
    target: str = ""
    why: str = ""

    def holds(self, other: FileState) -> bool:
        """True for equal content; unknown content is never equal."""
        if self.kind != other.kind or self.kind == "other":
            return False
        if self.kind == "file":
            return bool(self.digest) and self.digest == other.digest
        return self.target == other.target

    def same(self, other: FileState) -> bool:
        """Equal content and permission bits."""
        return self.holds(other) and self.mode == other.mode


MISSING = FileState()
PARENT_IS_LINK = "a parent directory is now a link"


def encode_path(path: str) -> str:
    """A path for JSON; one that is not UTF-8 in hexadecimal after a character no path has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return f"\0{os.fsencode(path).hex()}"
    return path


def unpacked(text: str) -> str:
    """ValueError for text that ``packed`` did not create."""
    return os.fsdecode(bytes.fromhex(text[1:])) if text.startswith("\0") else text


def capture(path: str, objects: Objects, *, largest: int = LARGEST) -> FileState:
    """The current state of a path without links, with its content stored if possible; OSError only if the store fails.
    The content is that of this path: a directory that is swapped for a link meanwhile stores nothing."""
    return _state(path, objects, largest, read_unlinked)


def capture_linkless(path: str, objects: Objects) -> FileState:
    """As ``capture``, but ``other`` if a parent directory is a link."""
    from zot.system.jail.jailed_files import linkless_path

    try:
        with linkless_path(path) as place:
            return _state(place, objects, LARGEST, _read_held)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return FileState("other", why=PARENT_IS_LINK)


def read_state(path: str) -> FileState:
    return _state(path, None, LARGEST, _read_held)


def of_content(data: bytes, mode: int, objects: Objects) -> FileState:
    """A file with these bytes, stored."""
    if len(data) > LARGEST:
        return FileState("file", "", len(data), mode, why=_too_large(LARGEST))
    return FileState("file", objects.keep(data), len(data), mode)


def _read_held(path: str, largest: int) -> bytes:
    return read_whole(path, largest, follow=False)


def _state(path: str, objects: Objects | None, largest: int, read: Callable[[str, int], bytes]) -> FileState:
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return FileState("other", why=error.strerror or str(error))
    if stat.S_ISLNK(info.st_mode):
        return FileState("link", target=encode_path(os.readlink(path)))
    if not stat.S_ISREG(info.st_mode):
        return FileState("other", why="a directory" if stat.S_ISDIR(info.st_mode) else "not a regular file")
    mode = stat.S_IMODE(info.st_mode)
    if info.st_size > largest:
        return FileState("file", "", info.st_size, mode, why=_too_large(largest))
    try:
        data = read(path, largest)
    except OSError as error:
        return FileState("file", "", info.st_size, mode, why=f"cannot read it: {error.strerror or error}")
    return FileState("file", digest_of(data) if objects is None else objects.keep(data), len(data), mode)


def _too_large(limit: int) -> str:
    return f"it is larger than {limit >> 20} MiB" if limit >= 1 << 20 else f"it is larger than {limit >> 10} KiB"


# --- restoring


def restore(path: str, wanted: FileState, objects: Objects) -> None:
    """Raises OSError with a displayable text; the path is then unchanged."""
    from zot.system.jail.jailed_files import linkless_path  # only to restore: it loads ctypes

    if wanted.kind == "missing":
        with suppress(FileNotFoundError), linkless_path(path) as place:
            os.unlink(place)
        return
    if wanted.kind == "other" or (wanted.kind == "file" and not wanted.digest):
        raise OSError(errno.ENODATA, wanted.why or "it was not saved", path)
    data = objects.read(wanted.digest) if wanted.kind == "file" else b""
    if data is None:
        raise OSError(errno.ENODATA, "its saved content is missing", path)
    with linkless_path(path, make=True) as place:
        if wanted.kind == "link":
            _link(place, unpacked(wanted.target))
        else:
            _write(place, data, wanted.mode)


def remove_directory(path: str) -> None:
    """Removes an empty directory; OSError if it is not one, or a parent directory is a link."""
    from zot.system.jail.jailed_files import linkless_path

    with linkless_path(path) as place:
        os.rmdir(place)


def _link(path: str, target: str) -> None:
    name = temporary_name(path)
    os.symlink(target, name)
    try:
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


def _write(path: str, data: bytes, mode: int) -> None:
    try:
        ours = stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        ours = False
    if ours:
        from zot.system.jail.jailed_files import set_mode

        replace_file(Path(path), data, follow=False)  # preserves owner, attributes and hard links
        if stat.S_IMODE(os.lstat(path).st_mode) != mode:
            set_mode(path, mode)
        return
    new = PendingFile(path, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(new.fd, rest) :]
        os.fchmod(new.fd, mode)
        os.fsync(new.fd)
        new.commit(replace=True)
    finally:
        new.close()
