"""Trusted copy of a project's extension, which runs instead of the original, and its fingerprint.
Later changes to the project never become trusted code. Links out of the project may lead to files only; each file is
hashed and copied in one pass."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from zot.errors import ExtensionError
from zot.features.extensions.loader.manifest import Manifest, read_manifest
from zot.system.files import make_private_dir
from zot.system.safe_open import create, open_buffered
from zot.system.temp_files import remove_tree

MAX_FILES = 50_000  # including directories
MAX_BYTES = 1 << 30
MAX_DEPTH = 100

_CHUNK = 1 << 20

Keep = Callable[["FileDigest", Iterator[bytes]], None]


class FileDigest(msgspec.Struct, frozen=True):
    """One file of the tree; ``leads_to`` is set for a link out of the project."""

    name: str
    path: Path
    leads_to: str = ""


def fingerprint(directory: Path, keep: Keep | None = None) -> dict[str, str]:
    """Hash of each file; ``keep`` gets the hashed bytes.
    ExtensionError if something cannot be trusted, OSError if unreadable."""
    budget = _Budget()
    return {found.name: _digest(found, budget, keep) for found in _walk(directory)}


def differences(present: dict[str, str], trusted: dict[str, str]) -> list[str]:
    """One line per changed file; empty if unchanged."""
    gone = [f"{name} is missing" for name in trusted if name not in present]
    new = [f"{name} is new" for name in present if name not in trusted]
    return sorted([*gone, *new, *(f"{n} changed" for n in present if n in trusted and present[n] != trusted[n])])


def project_of(directory: Path) -> Path:
    """The real path of the project that contains an extension."""
    place = Path(os.path.abspath(directory))
    inside = place.parts[-3:-1] == (".zot", "extensions")
    return Path(os.path.realpath(place.parents[2] if inside else place))


def _walk(directory: Path) -> Iterator[FileDigest]:
    project = project_of(directory)
    waiting: list[tuple[str, tuple[str, ...]]] = [("", (os.path.realpath(directory),))]
    count = 0
    while waiting:
        prefix, above = waiting.pop()
        for name in sorted(os.listdir(above[-1])):
            count += 1
            if count > MAX_FILES:
                raise ExtensionError(f"cannot be trusted: more than {MAX_FILES} files")
            found = _look(Path(above[-1]) / name, f"{prefix}{name}", project)
            if isinstance(found, FileDigest):
                yield found
            elif found is not None and found not in above:  # a link to a directory above would never end
                if len(above) > MAX_DEPTH:
                    raise ExtensionError(f"cannot be trusted: directories nested deeper than {MAX_DEPTH}")
                waiting.append((f"{prefix}{name}/", (*above, found)))


def _look(path: Path, name: str, project: Path) -> FileDigest | str | None:
    """A file, the real path of a directory to read, or None to skip."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ExtensionError(f"cannot be trusted: a file name is not UTF-8: {name!r}") from None
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
            raise ExtensionError(f"cannot be trusted: {name} is a link to {leads_to}, a directory outside the project")
        return None if path.name == ".git" else str(path)
    if not stat.S_ISREG(status.st_mode):
        if leads_to:
            raise ExtensionError(f"cannot be trusted: {name} is a link to {leads_to}, which is not a file")
        return None
    in_cache = path.parent.name == "__pycache__" and path.suffix == ".pyc"
    return None if in_cache else FileDigest(name, path, leads_to)


class _Budget:
    """Limits the bytes to read, since a tree may be endless."""

    def __init__(self) -> None:
        self.left = MAX_BYTES

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ExtensionError(f"cannot be trusted: more than {MAX_BYTES >> 20} MiB of files")


def _digest(found: FileDigest, budget: _Budget, keep: Keep | None = None) -> str:
    digest = hashlib.sha256()

    def content() -> Iterator[bytes]:
        with open_buffered(found.path) as file:
            while chunk := file.read(_CHUNK):
                budget.take(len(chunk))
                digest.update(chunk)
                yield chunk

    chunks = content()
    if keep is not None:
        keep(found, chunks)
    for _ in chunks:  # read to the end for the hash
        pass
    return f"link to {found.leads_to} {digest.hexdigest()}" if found.leads_to else digest.hexdigest()


PLACE = "trusted"

_UPWARDS = re.compile(r"(?:^|[\s/=:;,\"'(])\.\.(?:$|[\s/:;,\"')])")
# Variables that make interpreters and linkers load code: path lists, and single names.
_LISTS = (
    *("PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"),
)
_OTHERS = ("BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONHOME", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "VIRTUAL_ENV")


def make_copy(directory: Path, into: Path, home: Path) -> tuple[Manifest, dict[str, str]]:
    """Copy the extension into ``into``; returns manifest and fingerprint of the copy.
    ExtensionError if it cannot be trusted; the caller cleans up."""
    make_private_dir(into)

    def keep(found: FileDigest, content: Iterator[bytes]) -> None:
        target = into / found.name
        make_private_dir(target.parent)
        if found.leads_to:
            target.symlink_to(found.leads_to)
            return
        runs = found.path.stat().st_mode & 0o111
        with os.fdopen(create(target, 0o700 if runs else 0o600), "wb") as file:
            for chunk in content:
                file.write(chunk)

    files = fingerprint(directory, keep)
    manifest = read_manifest(into)
    check_command(manifest, into, directory, home)
    return manifest, files


def check_command(manifest: Manifest, files: Path, directory: Path, home: Path) -> None:
    """ExtensionError if the command leads into the project. ``files`` is where to look: ``directory`` or its copy."""
    places = {os.path.abspath(directory), os.path.realpath(directory)}
    if not _holds_home(project_of(directory), home):
        places.add(str(project_of(directory)))
    only = "only files in it can be trusted"
    for word in (manifest.exec, *manifest.args):
        if _UPWARDS.search(word) or any(place in word for place in places):
            raise ExtensionError(f"runs {word!r}, which is outside its directory: {only}")
    program = files / manifest.exec
    if "/" in manifest.exec and program.is_file():
        with open_buffered(program) as file:
            first = file.readline(4096)
        if first.startswith(b"#!") and any(os.fsencode(place) in first for place in places):
            raise ExtensionError(f"the interpreter of {manifest.exec} is outside its directory: {only}")


def is_intact(copy: Path, files: Mapping[str, str]) -> bool:
    """True if the copy still has every trusted file; other files were written by the program."""
    try:
        return copy.is_dir() and all(_same(copy / name, expected) for name, expected in files.items())
    except OSError:
        return False


def remove_untrusted_code(copy: Path, files: Mapping[str, str]) -> None:
    """Keeps data that the program wrote beside itself; removes untrusted code."""
    from zot.features.extensions.loader.data_dir import looks_like_data

    manifest = read_manifest(copy)
    for folder, folders, names in os.walk(copy):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for path in (Path(folder, name) for name in (*names, *linked)):
            if str(path.relative_to(copy)) not in files and not looks_like_data(path, manifest):
                path.unlink(missing_ok=True)


def _same(path: Path, expected: str) -> bool:
    if expected.startswith("link to "):
        return path.is_symlink() and expected.startswith(f"link to {os.readlink(path)} ")
    if path.is_symlink():
        return False
    with open_buffered(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == expected


def copy_path(home: Path, key: str, name: str, files: Mapping[str, str]) -> Path:
    """The directory of the copy of these files of the extension ``key``."""
    content = hashlib.sha256(msgspec.json.encode(dict(files), order="deterministic")).hexdigest()
    return copies_of(home, key) / content[:32] / name


def copies_of(home: Path, key: str) -> Path:
    return home / PLACE / hashlib.sha256(key.encode()).hexdigest()[:32]


def remove_copies(home: Path, key: str, but: Path | None = None) -> None:
    for path in copies_of(home, key).glob("*"):
        if but is None or path != but.parent:
            remove_tree(path)
            remove_tree(f"{home}/pycache{os.path.abspath(path)}")
    if but is None:
        remove_tree(copies_of(home, key))


def strip_project_env(environment: dict[str, str], project: Path, home: Path) -> list[str]:
    """Remove variables that load code from the project; returns their names."""
    changed: list[str] = []
    places = (str(project), os.path.realpath(project))
    if _holds_home(project, home):
        return changed
    for name in (*_LISTS, *_OTHERS):
        value = environment.get(name, "")
        if name in _LISTS:
            entries = value.split(os.pathsep)
            kept = os.pathsep.join(entry for entry in entries if not _lies_in(entry, places))
        else:
            kept = "" if any(place in value for place in places) else value
        if kept != value:
            changed.append(name)
            environment[name] = kept
        if not kept:
            environment.pop(name, None)
    return changed


def _holds_home(project: Path, home: Path) -> bool:
    """A directory that contains zot's home, such as the user's home, is not a repository."""
    return Path(os.path.realpath(home)).is_relative_to(os.path.realpath(project))


def _lies_in(entry: str, places: tuple[str, ...]) -> bool:
    real = os.path.realpath(entry)
    return os.path.isabs(entry) and any(Path(path).is_relative_to(p) for path in (entry, real) for p in places)
