"""What is written down about extensions: one log file each over all its lives, and its faults.

The log holds the child's stderr byte for byte, and the host's own lines behind ``[zot] ``. A fault goes into the log,
onto the list for ``doctor``, and once per kind before the user's eyes. A flood, of faults or on stderr, is counted.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from zot.errors import ExtensionError
from zot.features.extensions.loader.manifest import check_name
from zot.features.stderr_pipe import StderrPipe
from zot.system.files import make_private_dir
from zot.system.safe_open import create, open_to_append, open_to_change, reading

MAX_BYTES = 5 * 1000 * 1000  # of a log before it is rotated
_LISTED = 20  # faults of one kind in one life
_REMEMBERED = 100  # faults of all lives
_SAID = 200  # characters of its last line on stderr
_CHUNK = 1024 * 1024
_CRASH = re.compile(r"panic: |fatal error: |([A-Za-z_][\w.]*)?(Error|Exception)( \[\w+\])?: ")  # Go twice, Node
_BIRTH = re.compile(r"\[zot\] .* \d{4}-\d\d-\d\dT[\d:]{8}Z")  # the line a life begins with


class Diagnostics:
    """What the user sees of extensions' faults; ``show`` puts one line on the screen or on stderr."""

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


class ChildLog:
    """What one extension did wrong. ``path`` is known from the first start on; ``faults`` are those of all lives."""

    def __init__(self, name: str, diagnostics: Diagnostics) -> None:
        self.path: Path | None = None
        self.faults: deque[str] = deque(maxlen=_REMEMBERED)  # one that crashes every other minute does so for weeks
        self._name = name
        self._diagnostics = diagnostics
        self._file: LogFile | None = None
        self._stderr: StderrPipe | None = None
        self._counts: dict[str, int] = {}

    def open(self, home: Path, version: str) -> int:
        """A new life begins; returns the child's stderr, which the caller closes when the child has it.

        Without a log the child is not started.
        """
        self.close()
        self._counts.clear()
        self._file = LogFile(home, self._name, version)
        self.path = self._file.path
        self._stderr = StderrPipe(self._file.keep, self._left_out)
        return self._stderr.for_child

    def write(self, text: str) -> None:
        if self._stderr is not None:
            self._stderr.drain()
        if self._file is not None:
            self._file.write(text)

    def _left_out(self, count: int) -> None:
        text = f"floods its stderr: {count:,} bytes of it were not kept"
        if "stderr" in self._counts:
            self.write(text)
        else:
            self.fault("stderr", text)

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
        if self.path and (said := telling_line(last_words(self.path))):
            reason += f": {said[:_SAID]}"
        self._diagnostics.load_error(directory, f"{reason} ({', '.join(facts)})")

    def close(self) -> None:
        """Only when nothing more can be said: whoever waited for the child may write last."""
        if self._stderr is not None:
            self._stderr.drain()
            self._stderr.close()
            self._stderr = None
        if self._file is not None:
            self._file.close()
            self._file = None


def log_path(home: Path, name: str) -> Path:
    return home / "logs" / f"ext-{check_name(name)}.log"


def last_words(log: Path) -> list[str]:
    """The end of what the child wrote itself in its last life, which usually says why it is not running."""
    try:
        with reading(log) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            lines = file.read(4096).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    start = max((place for place, line in enumerate(lines) if _BIRTH.fullmatch(line)), default=0)
    return [line for line in lines[start:] if line.strip() and not line.startswith("[zot] ")]


def telling_line(said: list[str]) -> str:
    """The line that says why: where languages put it in what they print on their way out, else the last one."""
    if traces := [place for place, line in enumerate(said) if line.startswith("Traceback (most recent call last)")]:
        said = [line for line in said[traces[-1] + 1 :] if not line[0].isspace()] or said
        return said[0].strip()
    for line in said:
        if _CRASH.match(line):
            return line.strip()
    return said[-1].strip() if said else ""


class LogFile:
    """Open for appending while the extension lives. ``path`` is for others that keep such a log.

    Another run may append to the same file, so a full log is copied to ``.log.1`` and emptied in place; renaming it
    would leave the other run writing into the old file.
    """

    def __init__(self, home: Path, name: str, version: str, path: Path | None = None) -> None:
        self.path = path or log_path(home, name)
        self.fd = _open(self.path)
        self._trim()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.keep(b"\n")
        self.write(f"{name} {version or '-'} {stamp}")

    def write(self, text: str) -> None:
        """One or more host lines."""
        lines = "".join(f"[zot] {line}\n" for line in text.splitlines() or [""])
        self.keep(lines.encode("utf-8", "replace"))

    def keep(self, data: bytes) -> None:
        """Append, and rotate a log above its limit. A full disk loses the remark, never the extension."""
        try:
            os.write(self.fd, data)
            self._trim()
        except OSError:
            return

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _trim(self) -> None:
        try:
            if os.fstat(self.fd).st_size > MAX_BYTES:
                _rotate(self.path)
        except OSError:
            return  # the log keeps growing; nothing else suffers


def _open(path: Path) -> int:
    try:
        make_private_dir(path.parent)
        fd = open_to_append(path, os.O_RDWR)
        os.fchmod(fd, 0o600)
    except OSError as error:
        raise ExtensionError(f"the log {path} cannot be opened: {error.strerror or error}") from error
    return fd


def _rotate(path: Path) -> None:
    """Under a lock of its own: two runs share the log, and one rotation is enough."""
    source = open_to_change(path)
    try:
        fcntl.flock(source, fcntl.LOCK_EX)
        if os.fstat(source).st_size > MAX_BYTES:
            _move_content(source, path.with_name(f"{path.name}.1"))
    finally:
        os.close(source)


def _move_content(source: int, old: Path) -> None:
    """The end of it, should somebody have made it huge. The lock makes the temporary name ours: a leftover is dead."""
    temporary = old.with_name(f".{old.name}.tmp")
    temporary.unlink(missing_ok=True)
    target = create(temporary)
    try:
        os.lseek(source, max(0, os.fstat(source).st_size - 2 * MAX_BYTES), os.SEEK_SET)
        while chunk := os.read(source, _CHUNK):
            os.write(target, chunk)
        os.ftruncate(source, 0)
        os.replace(temporary, old)
    finally:
        os.close(target)
        temporary.unlink(missing_ok=True)
