"""What extensions can show where there is no screen: notes as lines on stderr, faults too, nothing else."""

from __future__ import annotations

import sys

from zot.agent.extensions.surface import SilentSurface
from zot.tui.sanitize import one_line

_LEVELS = ("info", "success", "warn", "error")


class HeadlessSurface(SilentSurface):
    def notify(self, extension: str, level: str, message: str) -> None:
        _write(f"[{extension}] {level if level in _LEVELS else 'info'}: {message}")

    def diagnose(self, text: str) -> None:
        _write(text)


def _write(text: str) -> None:
    try:
        sys.stderr.write(one_line(text) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody reads stderr: there is nobody to tell
