"""The copy that runs: what was trusted is kept in zot's home, and a project's extension is started from there.

So nothing that happens to the project's files, while they are hashed, while somebody is asked or while the program
loads its modules, becomes code that was never trusted. A copy is complete or not there. An extension may write beside
its program; only the trusted files themselves must be as they were.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from zot.errors import ExtensionError
from zot.features.extensions.loader.fingerprint import FileDigest, fingerprint, project_of
from zot.features.extensions.loader.manifest import Manifest, read_manifest
from zot.system.files import make_private_dir
from zot.system.safe_open import create, reading
from zot.system.temp_files import remove_tree

PLACE = "trusted"

_UPWARDS = re.compile(r"(?:^|[\s/=:;,\"'(])\.\.(?:$|[\s/:;,\"')])")
# Variables that make interpreters and linkers load code: lists of places, and those that name something themselves.
_LISTS = (
    *("PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"),
)
_OTHERS = ("BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONHOME", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "VIRTUAL_ENV")


def make_copy(directory: Path, into: Path, home: Path) -> tuple[Manifest, dict[str, str]]:
    """Copy the extension into the new directory ``into``; its manifest and fingerprint, both as they were copied.

    ExtensionError says why it cannot be trusted, OSError why it cannot be copied; the caller removes what is left."""
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
    """ExtensionError when the command leads into the project: what lies there is not what was trusted.

    ``files`` is where to look into them: in ``directory`` or in a copy of it."""
    places = {os.path.abspath(directory), os.path.realpath(directory)}
    if not _holds_home(project_of(directory), home):
        places.add(str(project_of(directory)))
    only = "only files in it can be trusted"
    for word in (manifest.exec, *manifest.args):
        if _UPWARDS.search(word) or any(place in word for place in places):
            raise ExtensionError(f"runs {word!r}, which leads out of its directory: {only}")
    program = files / manifest.exec
    if "/" in manifest.exec and program.is_file():
        with reading(program) as file:
            first = file.readline(4096)
        if first.startswith(b"#!") and any(os.fsencode(place) in first for place in places):
            raise ExtensionError(f"{manifest.exec} is run by a program that leads out of its directory: {only}")


def is_intact(copy: Path, files: Mapping[str, str]) -> bool:
    """Whether the copy still holds every trusted file as it was; what else lies there was written by the program."""
    try:
        return copy.is_dir() and all(_same(copy / name, expected) for name, expected in files.items())
    except OSError:
        return False


def remove_strangers(copy: Path, files: Mapping[str, str]) -> None:
    """What the program wrote beside itself stays if it is data; code that nobody trusted does not run the next time."""
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
    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == expected


def copy_path(home: Path, key: str, name: str, files: Mapping[str, str]) -> Path:
    """Where the copy of exactly these files of the extension ``key`` lies."""
    content = hashlib.sha256(msgspec.json.encode(dict(files), order="deterministic")).hexdigest()
    return copies_of(home, key) / content[:32] / name


def copies_of(home: Path, key: str) -> Path:
    return home / PLACE / hashlib.sha256(key.encode()).hexdigest()[:32]


def remove_copies(home: Path, key: str, but: Path | None = None) -> None:
    """Those that are trusted no longer."""
    for path in copies_of(home, key).glob("*"):
        if but is None or path != but.parent:
            remove_tree(path)
            remove_tree(f"{home}/pycache{os.path.abspath(path)}")
    if but is None:
        remove_tree(copies_of(home, key))


def without_project(environment: dict[str, str], project: Path, home: Path) -> list[str]:
    """Take out of the environment what would load code from the project; the names of what was changed."""
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
    """A directory that zot's own home lies in, such as the user's whole home, is no repository: all is in there."""
    return Path(os.path.realpath(home)).is_relative_to(os.path.realpath(project))


def _lies_in(entry: str, places: tuple[str, ...]) -> bool:
    real = os.path.realpath(entry)
    return os.path.isabs(entry) and any(Path(path).is_relative_to(p) for path in (entry, real) for p in places)
