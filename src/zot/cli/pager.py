"""Shows a long page in the user's pager; imported only if stdout is a terminal."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from typing import TextIO

from zot.system.files import find_program
from zot.tui.width import cells

_LESS = "FRX"  # leave if the text fits, show colours, keep the screen


def show(text: str, stream: TextIO) -> None:
    """Page the text, or print it if it fits on the screen, if there is no pager, or if the pager fails."""
    stream.flush()
    command = _command() if sys.stdin.isatty() and not _fits(text, stream) else []
    if not command or not _paged(command, text, stream):
        stream.write(text)


def _fits(text: str, stream: TextIO) -> bool:
    """True if all rows and the shell's prompt have room; unknown sizes count as room."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return True
    needed = sum(max(1, -(-cells(line) // columns)) for line in text.splitlines()) if columns else 0
    return needed < rows or not rows


def _command() -> list[str]:
    """``$PAGER`` (empty: no pager), else ``less``; the first word is an absolute path. Empty if not installed."""
    try:
        words = shlex.split(os.environ.get("PAGER", f"less -{_LESS}"))
    except ValueError:
        return []
    if not words:
        return []
    program = words[0] if os.path.isabs(words[0]) else find_program(words[0])
    return [program, *words[1:]] if program else []


def _paged(command: list[str], text: str, stream: TextIO) -> bool:
    """False if the pager failed; ctrl+c belongs to the pager."""
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stream.fileno(), env=_environment())
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        pager.communicate(text.encode(stream.encoding or "utf-8", "backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode in (0, -signal.SIGINT, 128 + signal.SIGINT)


def _environment() -> dict[str, str]:
    """zot's environment without credentials and other secrets."""
    from zot.provider.providers import credential_variables
    from zot.system.secret_variables import looks_like_secret

    hidden = credential_variables()
    given = {name: value for name, value in os.environ.items() if name not in hidden and not looks_like_secret(name)}
    return {"LESS": _LESS, **given}
