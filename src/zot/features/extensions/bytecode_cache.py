"""Compiles Python extensions to ``$ZOT_HOME/pycache`` when they are installed or trusted.
``zot.ext`` loads the result. The extension's own interpreter compiles without running anything; failures only go to the
extension's log."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from zot.errors import ExtensionError
from zot.features.extensions.child_log import log_path
from zot.features.extensions.loader.manifest import Manifest
from zot.system.files import find_program, make_private_dir
from zot.system.safe_open import open_buffered, open_to_append
from zot.system.temp_files import remove_tree

VARIABLE = "ZOT_BYTECODE"
_TIMEOUT_S = 60
_PYTHON = re.compile(r"python[\d.]*t?")
_NOT_ITS_OWN = r"[\\/](?:\.git|\.venv|venv|node_modules)[\\/]"


def bytecode_dir(home: Path) -> Path:
    return home / "pycache"


def compile_ahead(manifest: Manifest, home: Path) -> None:
    """Compile the manifest's directory at the path it will run from."""
    forget_bytecode(manifest.directory, home)
    python = interpreter(manifest)
    if not python:
        return
    with suppress(OSError, subprocess.SubprocessError):
        make_private_dir(bytecode_dir(home))
        # -I and -S: ignore the user's variables and site-packages; -B: only the extension is cached
        prefix = f"pycache_prefix={bytecode_dir(home)}"
        words = (python, "-ISB", "-X", prefix, "-m", "compileall", "-q", "-x", _NOT_ITS_OWN, str(manifest.directory))
        done = subprocess.run(
            words,
            cwd=manifest.directory,  # version managers choose by it, as at the start
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            umask=0o077,
        )
        if done.returncode:
            with suppress(OSError):
                make_private_dir(log_path(home, manifest.name).parent)
                fd = open_to_append(log_path(home, manifest.name))
                try:
                    os.write(fd, b"[zot] not everything could be compiled ahead of the start:\n" + done.stdout[:20_000])
                finally:
                    os.close(fd)


def forget_bytecode(directory: Path, home: Path) -> None:
    remove_tree(f"{bytecode_dir(home)}{os.path.abspath(directory)}")


def interpreter(manifest: Manifest) -> str:
    """The Python that runs it; empty for other programs and for an interpreter shipped with it."""
    try:
        program = Path(manifest.argv(os.environ.get("PATH", ""))[0]) if manifest.exec else Path()
    except ExtensionError:
        return ""
    if _lies_in(program, manifest.directory):
        program = Path(_of_first_line(program))
    is_python = _PYTHON.fullmatch(program.name) and os.access(program, os.X_OK)
    return str(program) if is_python and not _lies_in(program, manifest.directory) else ""


def _of_first_line(script: Path) -> str:
    """Interpreter of ``#!/usr/bin/env python3`` or ``#!/usr/bin/python3``."""
    try:
        with open_buffered(script) as file:
            line = file.readline(4096).decode("utf-8", "replace")
    except OSError:
        return ""
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    if len(words) == 2 and os.path.basename(words[0]) == "env":
        return find_program(words[1]) or ""
    return words[0] if words and os.path.isabs(words[0]) else ""


def _lies_in(program: Path, directory: Path) -> bool:
    """True if it came with the extension or its project."""
    place = directory.parents[2] if directory.parts[-3:-1] == (".zot", "extensions") else directory
    return any(Path(path).is_relative_to(place) for path in (os.path.abspath(program), os.path.realpath(program)))
