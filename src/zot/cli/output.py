"""Output and questions of verbs; control characters in outside names are escaped."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from zot.system.visible_text import escape_invisible


def print_notice(text: str) -> None:
    """Print one line on stderr; a closed stderr is not an error."""
    with suppress(OSError):
        sys.stderr.write(f"{_encodable(escape_invisible(text), sys.stderr)}\n")
        sys.stderr.flush()


def print_result(text: str = "") -> None:
    """Print one line of a result on stdout."""
    print_escaped(escape_invisible(text))


def print_escaped(line: str) -> None:
    """Print a line whose parts are already escaped and aligned."""
    sys.stdout.write(f"{_encodable(line, sys.stdout)}\n")


def show_path(path: object) -> None:
    """Print a path: escaped on a terminal, byte for byte otherwise."""
    if sys.stdout.isatty():
        print_result(str(path))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(str(path)) + b"\n")
    sys.stdout.buffer.flush()


def show_bytes(data: bytes) -> None:
    """Print file text: escaped line by line on a terminal, byte for byte otherwise."""
    if sys.stdout.isatty():
        for line in data.decode(errors="replace").splitlines():
            print_result(line)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def redraw_line(text: str, width: int) -> int:
    """Replace the previous stderr line, ``width`` cells wide; returns the new width. Empty text clears it."""
    text = escape_invisible(text)
    sys.stderr.write(f"\r{_encodable(text, sys.stderr).ljust(width)}" + ("" if text else "\r"))
    sys.stderr.flush()
    return len(text)


def read_answer(question: str) -> str:
    """Ask a question on stderr and read one line."""
    sys.stdout.flush()
    sys.stderr.write(f"{_encodable(escape_invisible(question), sys.stderr)} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _encodable(text: str, stream: object) -> str:
    """Replace marks by ASCII in a locale without Unicode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
