"""Output and questions of verbs, with control characters in outside names spelled out."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from zot.system.visible_text import escape_invisible


def print_notice(text: str) -> None:
    """One line on stderr; a closed stderr is no error."""
    with suppress(OSError):
        sys.stderr.write(f"{_encodable(escape_invisible(text), sys.stderr)}\n")
        sys.stderr.flush()


def print_result(text: str = "") -> None:
    """One line of a result, on stdout."""
    print_escaped(escape_invisible(text))


def print_escaped(line: str) -> None:
    """A line whose parts were spelled out and aligned already, on stdout."""
    sys.stdout.write(f"{_encodable(line, sys.stdout)}\n")


def show_path(path: object) -> None:
    """A path on stdout: spelled out on a terminal, byte for byte where a program reads it."""
    if sys.stdout.isatty():
        print_result(str(path))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(str(path)) + b"\n")
    sys.stdout.buffer.flush()


def show_bytes(data: bytes) -> None:
    """Text of files on stdout: byte for byte where a program reads it, line by line and spelled out on a terminal."""
    if sys.stdout.isatty():
        for line in data.decode(errors="replace").splitlines():
            print_result(line)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def redraw_line(text: str, width: int) -> int:
    """A line on stderr in place of the one before it, which was so wide; its own width. Empty clears it."""
    text = escape_invisible(text)
    sys.stderr.write(f"\r{_encodable(text, sys.stderr).ljust(width)}" + ("" if text else "\r"))
    sys.stderr.flush()
    return len(text)


def read_answer(question: str) -> str:
    """The answer typed to a question."""
    sys.stdout.flush()
    sys.stderr.write(f"{_encodable(escape_invisible(question), sys.stderr)} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _encodable(text: str, stream: object) -> str:
    """In a locale without Unicode the marks are written in ASCII."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
