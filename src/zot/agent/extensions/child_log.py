"""What is written down about one extension: its log file over all its lives, and its faults.

A fault goes into the log, onto the list for ``doctor``, and once per kind before the user's eyes. A flood of them is
counted, not listed.
"""

from __future__ import annotations

from pathlib import Path

from zot.agent.extensions.diagnostics import Diagnostics
from zot.agent.extensions.log_file import LogFile, last_words

_LISTED = 20  # of one kind in one life
_SAID = 200  # characters of its last line on stderr


class ChildLog:
    """``path`` is known from the first start on; ``faults`` are those of all lives."""

    def __init__(self, name: str, diagnostics: Diagnostics) -> None:
        self.path: Path | None = None
        self.faults: list[str] = []
        self._name = name
        self._diagnostics = diagnostics
        self._file: LogFile | None = None
        self._counts: dict[str, int] = {}

    def open(self, home: Path, version: str) -> int:
        """A new life begins: the descriptor for the child's stderr. Without a log it is not started."""
        self.close()
        self._counts.clear()
        self._file = LogFile(home, self._name, version)
        self.path = self._file.path
        return self._file.fd

    def write(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text)

    def fault(self, kind: str, text: str) -> None:
        """Something the child did wrong."""
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count > _LISTED:
            return
        self.write(text if count < _LISTED else f"{text}; more of this kind are not listed")
        self.faults.append(text)
        self._diagnostics.fault(self._name, kind, text, self.path)

    def ended(self, text: str) -> None:
        """How a life ended; shown every time."""
        self.faults.append(text)
        self.write(text)
        self._diagnostics.event(self._name, text, self.path)

    def load_error(self, directory: Path, reason: str, facts: list[str]) -> None:
        self.faults.append(reason)
        self.write(f"not loaded: {reason}")
        facts = [f"extension {self._name}", *facts, *([f"log {self.path}"] if self.path else [])]
        if self.path and (said := last_words(self.path)):
            reason += f": {said[-1].strip()[:_SAID]}"
        self._diagnostics.load_error(directory, f"{reason} ({', '.join(facts)})")

    def trim(self) -> None:
        if self._file is not None:
            self._file.trim()

    def close(self) -> None:
        """Only when nothing more can be said: whoever waited for the child may write last."""
        if self._file is not None:
            self._file.close()
            self._file = None
