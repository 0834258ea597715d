"""Piped input: read whole, before anything else, when stdin is not a terminal or a device."""

from __future__ import annotations

import os
import stat

from zot.agent.console import say

_PATIENCE_S = 3.0


def is_piped() -> bool:
    """Whether stdin is something other than a character device (a closed stdin is not)."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:
        return False


def read_piped() -> str:
    """All of stdin, trimmed; says so when it waits, because a pipe left open looks like a hang."""
    chunks: list[bytes] = []
    _mention_waiting()
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
    data = b"".join(chunks)
    text = data.decode("utf-8", "replace")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        say("stdin is not UTF-8; bytes that could not be read were replaced")
    return text.strip()


def _mention_waiting() -> None:
    import select  # only piped runs need it

    if not select.select([0], [], [], _PATIENCE_S)[0]:
        say("waiting for stdin to close (use </dev/null if nothing is piped in)")


def join_prompt(piped: str, argument: str) -> str:
    """The piped text, a newline, then the argument; either may be empty."""
    return "\n".join(part for part in (piped.strip(), argument.strip()) if part)
