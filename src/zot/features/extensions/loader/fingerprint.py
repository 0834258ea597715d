"""What trust is bound to: every file of an extension's directory, by its content.

Only ``.git`` and the bytecode in ``__pycache__`` are left out; they are not in the copy that runs either. Links inside
the project stand for what they lead to. A link out of it may lead to a file (an interpreter, say), which counts by
its place and content; what cannot be pinned down, a directory elsewhere or a device, cannot be trusted. Reading one
file is one pass, so that the bytes that were hashed are the bytes that are copied.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from zot.errors import ExtensionError
from zot.system.safe_open import reading

MAX_FILES = 50_000  # directories count too
MAX_BYTES = 1 << 30
MAX_DEPTH = 100

_CHUNK = 1 << 20

Keep = Callable[["FileDigest", Iterator[bytes]], None]


class FileDigest(msgspec.Struct, frozen=True):
    """One file of the tree; ``leads_to`` is set when it is a link out of the project."""

    name: str
    path: Path
    leads_to: str = ""


def fingerprint(directory: Path, keep: Keep | None = None) -> dict[str, str]:
    """Each file with the hash of its content; ``keep`` gets every file with the bytes that are hashed.

    ExtensionError when there is something that cannot be trusted, OSError when something cannot be read."""
    budget = _Budget()
    return {found.name: _digest(found, budget, keep) for found in _walk(directory)}


def differences(present: dict[str, str], trusted: dict[str, str]) -> list[str]:
    """One line per file that ends the trust; empty when the content is as it was."""
    gone = [f"{name} is gone" for name in trusted if name not in present]
    new = [f"{name} is new" for name in present if name not in trusted]
    return sorted([*gone, *new, *(f"{n} changed" for n in present if n in trusted and present[n] != trusted[n])])


def project_of(directory: Path) -> Path:
    """The real path of the project an extension lies in: what is in there came with it."""
    place = Path(os.path.abspath(directory))
    inside = place.parts[-3:-1] == (".zot", "extensions")
    return Path(os.path.realpath(place.parents[2] if inside else place))


def _walk(directory: Path) -> Iterator[FileDigest]:
    """The files of the tree."""
    project = project_of(directory)
    waiting: list[tuple[str, tuple[str, ...]]] = [("", (os.path.realpath(directory),))]
    count = 0
    while waiting:
        prefix, above = waiting.pop()
        for name in sorted(os.listdir(above[-1])):
            count += 1
            if count > MAX_FILES:
                raise ExtensionError(f"has more than {MAX_FILES} files: too many to be trusted one by one")
            found = _look(Path(above[-1]) / name, f"{prefix}{name}", project)
            if isinstance(found, FileDigest):
                yield found
            elif found is not None and found not in above:  # a link to a directory above would never end
                if len(above) > MAX_DEPTH:
                    raise ExtensionError(f"has directories nested deeper than {MAX_DEPTH}: too deep to be trusted")
                waiting.append((f"{prefix}{name}/", (*above, found)))


def _look(path: Path, name: str, project: Path) -> FileDigest | str | None:
    """A file, the real path of a directory to look into, or None for what does not count."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ExtensionError(f"has a file whose name is not UTF-8: {name!r}") from None
    status = path.lstat()
    leads_to = ""
    if stat.S_ISLNK(status.st_mode):
        real = os.path.realpath(path)
        if not os.path.lexists(real):
            return None
        leads_to = "" if Path(real).is_relative_to(project) else real
        path, status = Path(real), os.lstat(real)
    if stat.S_ISDIR(status.st_mode):
        if leads_to:
            raise ExtensionError(f"{name} leads to {leads_to}: a directory outside the project cannot be trusted")
        return None if path.name == ".git" else str(path)
    if not stat.S_ISREG(status.st_mode):
        if leads_to:
            raise ExtensionError(f"{name} leads to {leads_to}, which is not a file")
        return None
    in_cache = path.parent.name == "__pycache__" and path.suffix == ".pyc"
    return None if in_cache else FileDigest(name, path, leads_to)


class _Budget:
    """How much may still be read: a tree that never ends must not be read to the end."""

    def __init__(self) -> None:
        self.left = MAX_BYTES

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ExtensionError(f"has more than {MAX_BYTES >> 20} MiB of files: too much to be trusted")


def _digest(found: FileDigest, budget: _Budget, keep: Keep | None = None) -> str:
    digest = hashlib.sha256()

    def content() -> Iterator[bytes]:
        with reading(found.path) as file:
            while chunk := file.read(_CHUNK):
                budget.take(len(chunk))
                digest.update(chunk)
                yield chunk

    chunks = content()
    if keep is not None:
        keep(found, chunks)
    for _ in chunks:  # what nobody kept is read all the same
        pass
    return f"link to {found.leads_to} {digest.hexdigest()}" if found.leads_to else digest.hexdigest()
