"""The content trust is bound to: which files an extension came with, and what changed since.

``__pycache__`` and ``.git`` are never looked at (children get a bytecode directory of their own). A file that came
later counts only if it could run; data an extension writes does not end its trust.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from zot.agent.extensions.manifest import read_manifest
from zot.errors import ExtensionError

SKIPPED_DIRS = frozenset({"__pycache__", ".git"})

# What some interpreter, linker or package loader would pick up by itself.
_SUFFIXES = (
    "py pyc pyo pyd pyw pth so dylib dll js mjs cjs ts mts cts jsx tsx node wasm sh bash zsh fish ksh pl pm rb lua "
    "php go rs c h cc cpp hpp java class jar ex exs erl beam tcl r jl awk sed jq scm el clj hs ml swift kt ps1 bat"
)
_NAMES = "package.json tsconfig.json jsconfig.json go.mod go.work pyvenv.cfg makefile .npmrc .env .babelrc"
RUNNABLE_SUFFIXES = frozenset(f".{suffix}" for suffix in _SUFFIXES.split())
RUNNABLE_NAMES = frozenset(_NAMES.split())


def fingerprint(directory: Path) -> dict[str, str]:
    """Each file with the hash of its content; files the manifest names outside the directory by absolute path."""
    return {name: _digest(path) for name, path in _files(directory)}


def differences(directory: Path, trusted: dict[str, str]) -> list[str]:
    """One line per file that ends the trust; empty when the content is as it was."""
    present = dict(_files(directory))
    found = [f"{name} is gone" for name in trusted if name not in present]
    for name, path in present.items():
        if name in trusted:
            if _digest(path) != trusted[name]:
                found.append(f"{name} changed")
        elif _could_run(name, path):
            found.append(f"{name} is new")
    return sorted(found)


def _files(directory: Path) -> Iterator[tuple[str, Path]]:
    root = Path(os.path.realpath(directory))
    yield from _walk(root, "", set())
    yield from ((str(path), path) for path in _named_outside(root))


def _walk(folder: Path, prefix: str, seen: set[tuple[int, int]]) -> Iterator[tuple[str, Path]]:
    """Regular files below ``folder``, through links too: code is code wherever it lies. Loops end."""
    status = os.stat(folder)
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        try:
            mode = entry.stat().st_mode
        except OSError:
            continue  # a dangling link: nothing there to run
        if stat.S_ISDIR(mode) and entry.name not in SKIPPED_DIRS:
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", seen)
        elif stat.S_ISREG(mode):
            yield f"{prefix}{entry.name}", Path(entry.path)


def _named_outside(root: Path) -> Iterator[Path]:
    """Files of the project that exec or args name outside the extension's own directory."""
    try:
        manifest = read_manifest(root)
    except ExtensionError:
        return
    project = root.parents[2] if root.parts[-3:-1] == (".zot", "extensions") else root
    for word in (manifest.exec, *manifest.args):
        path = Path(os.path.realpath(root / word))
        outside = not path.is_relative_to(root) and (not os.path.isabs(word) or path.is_relative_to(project))
        if "/" in word and outside and path.is_file():
            yield path


def _could_run(name: str, path: Path) -> bool:
    if os.path.isabs(name) or "node_modules" in name.split("/"):
        return True
    if path.suffix.lower() in RUNNABLE_SUFFIXES or path.name.lower() in RUNNABLE_NAMES:
        return True
    if path.stat().st_mode & 0o111:
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _digest(path: Path) -> str:
    """An unreadable file has a hash of its own, which no content has."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"
