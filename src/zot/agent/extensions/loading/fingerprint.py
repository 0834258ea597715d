"""What trust is bound to: the files an extension came with, by their content, and what has changed since.

``__pycache__`` and ``.git`` are never looked at (children get a bytecode directory of their own). A file that appeared
later counts only if it could run; data that an extension writes does not end its trust.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from zot.agent.extensions.loading.manifest import read_manifest
from zot.errors import ExtensionError
from zot.system.opening import reading

MAX_FILES = 50_000
SKIPPED_DIRS = frozenset({"__pycache__", ".git"})

# What some interpreter, linker or package loader would pick up by itself.
_SUFFIXES = (
    "py pyc pyo pyd pyw pth so dylib dll js mjs cjs ts mts cts jsx tsx node wasm sh bash zsh fish ksh pl pm rb lua "
    "php go rs c h cc cpp hpp java class jar ex exs erl beam tcl r jl awk sed jq scm el clj hs ml swift kt ps1 bat"
)
_NAMES = "package.json tsconfig.json jsconfig.json go.mod go.work pyvenv.cfg makefile .npmrc .env .babelrc"
RUNNABLE_SUFFIXES = frozenset(f".{suffix}" for suffix in _SUFFIXES.split())
RUNNABLE_NAMES = frozenset(_NAMES.split())
_CODE_DIRS = SKIPPED_DIRS | {"node_modules"}  # of the skipped only what the manifest names gets this far

Found = Path | str
"""A file, or where a link out of the project leads."""


def fingerprint(directory: Path) -> dict[str, str]:
    """Each file with the hash of its content; files the manifest names outside the directory by absolute path."""
    return {name: _digest(path) for name, path in _files(directory).items()}


def file_names(directory: Path) -> list[str]:
    """The files a fingerprint would cover, without reading them."""
    return sorted(_files(directory))


def differences(directory: Path, trusted: dict[str, str]) -> list[str]:
    """One line per file that ends the trust; empty when the content is as it was."""
    present = _files(directory)
    found = [f"{name} is gone" for name in trusted if name not in present]
    for name, path in present.items():
        if name in trusted:
            if _digest(path) != trusted[name]:
                found.append(f"{name} changed")
        elif _could_run(name, path):
            found.append(f"{name} is new")
    return sorted(found)


def _files(directory: Path) -> dict[str, Found]:
    root = Path(os.path.realpath(directory))
    project = root.parents[2] if root.parts[-3:-1] == (".zot", "extensions") else root
    found = dict(islice(_walk(root, "", project, set()), MAX_FILES + 1))
    if len(found) > MAX_FILES:
        raise ExtensionError(f"has more than {MAX_FILES} files: too many to be trusted one by one")
    known = {os.path.realpath(path) for path in found.values() if isinstance(path, Path)}
    return found | {_label(path, root): path for path in _named(root, project) if os.path.realpath(path) not in known}


def _walk(folder: Path, prefix: str, project: Path, seen: set[tuple[int, int]]) -> Iterator[tuple[str, Found]]:
    """Files below ``folder``, through links inside the project too: code is code wherever it lies. Loops are cut.

    A link out of the project counts by where it leads; what lies there did not come with the repository.
    """
    status = os.stat(folder)
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(project):
            yield f"{prefix}{name}", os.readlink(path)
        elif path.is_dir() and name not in SKIPPED_DIRS:
            yield from _walk(path, f"{prefix}{name}/", project, seen)
        elif path.is_file():
            yield f"{prefix}{name}", path


def _named(root: Path, project: Path) -> Iterator[Path]:
    """Files of the project that exec or args name, wherever they lie."""
    try:
        manifest = read_manifest(root)
    except ExtensionError:
        return
    for word in (manifest.exec, *manifest.args):
        path = Path(os.path.normpath(root / word))
        if word and Path(os.path.realpath(path)).is_relative_to(project) and path.is_file():
            yield path


def _label(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _could_run(name: str, found: Found) -> bool:
    if isinstance(found, str) or os.path.isabs(name) or not _CODE_DIRS.isdisjoint(name.split("/")):
        return True
    if found.suffix.lower() in RUNNABLE_SUFFIXES or found.name.lower() in RUNNABLE_NAMES:
        return True
    if found.stat().st_mode & 0o111:
        return True
    with reading(found) as file:
        return file.read(2) == b"#!"


def _digest(found: Found) -> str:
    """The hash of the content; an unreadable file gets a mark that no content has."""
    if isinstance(found, str):
        return f"link to {found}"
    try:
        with reading(found) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"
