"""``zot ext logs``: prints an extension's log; ``-f`` follows it across rotation to ``.log.1``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from zot.cli.arguments import parse
from zot.cli.verb_table import options
from zot.errors import ZotError
from zot.features.extensions.child_log import log_path
from zot.features.extensions.install.installed import typed_name
from zot.system.files import zot_home
from zot.system.safe_open import open_buffered
from zot.tui.sanitize import RESET, Sanitizer

POLL_S = 0.1


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("ext logs"), least=1, most=1, what="the name")
    path = log_path(zot_home(), typed_name(arguments.words[0]))
    tail = Tail(path)
    try:
        tail.print_new()
        while arguments.has("-f", "--follow"):
            time.sleep(POLL_S)
            tail.print_new()
    except FileNotFoundError as error:
        raise ZotError(f"no log yet: {path}") from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise ZotError(f"cannot read {path}: {error.strerror or error}") from error
    return 0


class Tail:
    """Tracks how far a log was printed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._old = path.with_name(f"{path.name}.1")
        self._position = 0
        self._rotation = _identity(self._old)
        self._sanitizer = Sanitizer() if sys.stdout.isatty() else None

    def print_new(self) -> None:
        rotation = _identity(self._old)
        if rotation != self._rotation:
            self._rotation = rotation
            self._print_from(self._old)
            self._position = 0
        self._print_from(self._path)

    def _print_from(self, path: Path) -> None:
        with open_buffered(path) as file:
            if os.fstat(file.fileno()).st_size < self._position:
                self._position = 0  # truncated by the user
            file.seek(self._position)
            while chunk := file.read(1 << 20):
                self._write(chunk)
            self._position = file.tell()

    def _write(self, chunk: bytes) -> None:
        """Print byte for byte into a pipe, with control characters escaped on a terminal."""
        if self._sanitizer:
            text = self._sanitizer.feed(chunk.decode("utf-8", "replace"))
            chunk = (text + RESET * self._sanitizer.styled).encode()
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def _identity(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
