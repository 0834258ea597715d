"""Log and faults of one extension.
A fault goes to the log, to ``zot doctor`` and once per kind to the user; repeated ones are counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

from zot.features.extensions.loader.manifest import check_name
from zot.features.process_log import ProcessLog, error_line, flood_text, last_output

_LISTED = 20  # faults of one kind per process
_REMEMBERED = 100  # faults in total
_SAID = 200  # characters of its last line on stderr


class Diagnostics:
    """Reports faults of extensions to the user; ``show`` prints one line."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._shown: set[tuple[str, str]] = set()
        self.load_errors: list[str] = []

    def load_error(self, directory: Path, reason: str) -> None:
        text = f"extension load: {directory}: {reason}"
        self.load_errors.append(text)
        self._show(text)

    def fault(self, extension: str, kind: str, text: str, log: Path | None) -> None:
        """Report the first fault of this kind of an extension."""
        if (extension, kind) not in self._shown:
            self._shown.add((extension, kind))
            self.event(extension, text, log)

    def event(self, extension: str, text: str, log: Path | None = None) -> None:
        """Report every time, for example an exit."""
        self._show(f"extension {extension}: {text}" + (f" (log: {log})" if log else ""))

    def note(self, text: str) -> None:
        self._show(text)

    def forget(self) -> None:
        """Forget reported faults after a reload."""
        self._shown.clear()
        self.load_errors.clear()


class ChildLog:
    """Faults of one extension. ``path`` is set at the first start; ``faults`` covers all starts."""

    def __init__(self, name: str, diagnostics: Diagnostics) -> None:
        self.path: Path | None = None
        self.faults: deque[str] = deque(
            maxlen=_REMEMBERED
        )  # an extension that crashes every other minute may do so for weeks
        self._name = name
        self._diagnostics = diagnostics
        self._log: ProcessLog | None = None
        self._counts: dict[str, int] = {}

    def open(self, home: Path, version: str) -> int:
        """Begin a new process's log and return the child's stderr, which the caller closes.
        Without a log the child is not started."""
        self.close()
        self._counts.clear()
        path = log_path(home, self._name)
        self._log = ProcessLog(path, f"{self._name} {version or '-'}", self._on_dropped)
        self.path = path
        return self._log.for_child

    def write(self, text: str) -> None:
        if self._log is not None:
            self._log.write(text)

    def _on_dropped(self, count: int) -> None:
        text = flood_text(count)
        if "stderr" in self._counts:
            self.write(text)
        else:
            self.fault("stderr", text)

    def fault(self, kind: str, text: str) -> None:
        """Something the child did wrong."""
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count > _LISTED:
            return
        self.write(text if count < _LISTED else f"{text}; further ones of this kind are not listed")
        self.faults.append(text)
        self._diagnostics.fault(self._name, kind, text, self.path)

    def ended(self, text: str) -> None:
        """Report how the process ended, every time."""
        self.faults.append(text)
        self.write(text)
        self._diagnostics.event(self._name, text, self.path)

    def load_error(self, directory: Path, reason: str, facts: list[str]) -> None:
        self.faults.append(reason)
        self.write(f"not loaded: {reason}")
        facts = [f"extension {self._name}", *facts, *([f"log {self.path}"] if self.path else [])]
        if self.path and (line := error_line(last_output(self.path))):
            reason += f": {line[:_SAID]}"
        self._diagnostics.load_error(directory, f"{reason} ({', '.join(facts)})")

    def close(self) -> None:
        """Close after all callers that waited for the child have written."""
        if self._log is not None:
            self._log.close()
            self._log = None


def log_path(home: Path, name: str) -> Path:
    return home / "logs" / f"ext-{check_name(name)}.log"
