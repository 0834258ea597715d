"""What the model thinks, on stderr while it thinks it: dim on a terminal, plain in a file.

It is never part of the answer, so it never reaches stdout.
"""

from __future__ import annotations

import os
import sys

from zot.tui.sanitize import Sanitizer
from zot.tui.width import visible

_DIM, _PLAIN = "\x1b[2m", "\x1b[22m"


class Thoughts:
    """One thought after another, each ended by a newline."""

    def __init__(self) -> None:
        dim = sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._marks = (_DIM, _PLAIN) if dim else ("", "")
        self._sanitizer = Sanitizer()
        self._open = False

    def add(self, text: str) -> None:
        shown = visible(self._sanitizer.feed(text))
        if not self._open:
            shown = shown.lstrip("\n")
        if shown:
            self._open = True
            self._write(shown)

    def end(self) -> None:
        if self._open:
            self._write(visible(self._sanitizer.close()) + "\n")
            self._open = False

    def _write(self, text: str) -> None:
        before, after = self._marks
        try:
            sys.stderr.write(f"{before}{text}{after}" if text.strip() else text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody reads stderr: there is nobody to tell
