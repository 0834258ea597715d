"""Output of background jobs: the latest part in memory, what was read of it, and patterns that are looked for."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable

from zot.agent.tools.bash_output import CarriageReturnFilter
from zot.errors import ToolError
from zot.system.cpu_limit import CpuLimitExceeded, cpu_limit

KEPT_BYTES = 1024 * 1024
_LONGEST_LINE = 4_000
_LONGEST_PATTERN = 1_000
_SEARCH_S = 0.25  # CPU time of one search


class JobOutput:
    """Keeps the last ``KEPT_BYTES`` of everything; ``read`` is the position up to which the model has seen it.
    ``on_data`` are called with each new piece."""

    def __init__(self, begun: bytes = b"") -> None:
        self.total = 0
        self.read = 0
        self.on_data: list[Callable[[bytes], None]] = []
        self._kept = bytearray()
        self.feed(begun)

    def feed(self, data: bytes) -> None:
        self._kept += data
        self.total += len(data)
        if len(self._kept) > 2 * KEPT_BYTES:
            del self._kept[:-KEPT_BYTES]
        for listener in list(self.on_data):
            listener(data)

    def since(self, position: int) -> tuple[str, int]:
        """The text after a position, and how many bytes of it are no longer kept."""
        first = self.total - len(self._kept)
        return as_text(bytes(self._kept[max(position - first, 0) :])), max(first - position, 0)

    def tail(self, size: int) -> str:
        return self.since(max(self.total - size, 0))[0]


def as_text(data: bytes) -> str:
    """Without the parts of lines that a progress bar has redrawn."""
    filter_ = CarriageReturnFilter()
    return (filter_.feed(data) + filter_.rest()).decode("utf-8", "replace").replace("\0", "")


class LinePattern:
    """A regular expression that is looked for in lines, within a limit of CPU time; ToolError for an unusable one."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST_PATTERN:
            raise ToolError(f"the pattern has {len(text):,} characters; at most {_LONGEST_PATTERN:,} are searched for")
        try:
            self._compiled = re.compile(text, re.MULTILINE)
        except (re.error, RecursionError, OverflowError) as error:
            raise ToolError(f"the pattern {text[:80]!r} is not a regular expression: {error}") from error
        self.text = text
        self._is_plain = re.escape(text) == text or text.isalnum()

    def find_line(self, text: str) -> str | None:
        """The first line that matches; ToolError if the search takes too long."""
        at = text.find(self.text) if self._is_plain else self._search(text)
        if at < 0:
            return None
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        return text[start : end if end >= 0 else len(text)].strip()[:_LONGEST_LINE]

    def lines(self, text: str) -> list[str]:
        """The lines that match."""
        lines = text.split("\n")
        if self._is_plain:
            return [line for line in lines if self.text in line]
        try:
            with cpu_limit(4 * _SEARCH_S):
                return [line for line in lines if self._compiled.search(line[:_LONGEST_LINE])]
        except CpuLimitExceeded:
            raise self._slow() from None

    def _search(self, text: str) -> int:
        try:
            with cpu_limit(_SEARCH_S):
                found = self._compiled.search(text)
        except CpuLimitExceeded:
            raise self._slow() from None
        return found.start() if found is not None else -1

    def _slow(self) -> ToolError:
        if threading.current_thread() is not threading.main_thread():  # it cannot be interrupted there
            return ToolError("regular expressions are only searched for in a program's main thread; use plain text")
        return ToolError(
            f"the pattern {self.text[:80]!r} takes too long to search for; use a simpler one, or plain text"
        )


class Watch:
    """Looks for a pattern in the output from a position on; ``found`` gets the line, or the error of the pattern."""

    def __init__(self, output: JobOutput, pattern: LinePattern, position: int) -> None:
        self.found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.pattern = pattern
        self._output = output
        self._line = ""
        text, _ = output.since(position)
        output.on_data.append(self._feed)
        self._look(text)

    def close(self) -> None:
        if self._feed in self._output.on_data:
            self._output.on_data.remove(self._feed)
        if not self.found.done():
            self.found.cancel()

    def _feed(self, data: bytes) -> None:
        self._look(self._line + data.decode("utf-8", "replace"))

    def _look(self, text: str) -> None:
        if self.found.done():
            return
        try:
            line = self.pattern.find_line(text)
        except ToolError as error:
            self.found.set_exception(error)
            self.close()
            return
        if line is None:
            self._line = text.rpartition("\n")[2][-_LONGEST_LINE:]
            return
        self.found.set_result(line)
        self.close()
