"""Loud, not silent: every fault of an extension is shown once per extension and kind, and kept for ``zot doctor``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class Diagnostics:
    """``show`` puts one line where the user sees it."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._shown: set[tuple[str, str]] = set()
        self.load_errors: list[str] = []

    def load_error(self, directory: Path, reason: str) -> None:
        text = f"extension load: {directory}: {reason}"
        self.load_errors.append(text)
        self._show(text)

    def fault(self, extension: str, kind: str, text: str, log: Path | None) -> None:
        """Shown the first time this extension has this kind of fault."""
        if (extension, kind) not in self._shown:
            self._shown.add((extension, kind))
            self.event(extension, text, log)

    def event(self, extension: str, text: str, log: Path | None = None) -> None:
        """Shown each time: an extension's end, say."""
        self._show(f"extension {extension}: {text}" + (f" (log: {log})" if log else ""))

    def note(self, text: str) -> None:
        self._show(text)

    def forget(self) -> None:
        """A reload gives everybody a clean sheet."""
        self._shown.clear()
        self.load_errors.clear()
