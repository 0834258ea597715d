"""``zot -p`` with the extension its author works on, run again at every change; the frames of the run are shown."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from zot.devkit.trace_reader import read_frames, summary_of
from zot.devkit.watch import Watch

LOOK_S = 0.2


class PromptLoop:
    """``words`` is what ``zot`` is called with, beside the extension and the trace."""

    def __init__(
        self, directory: Path, scratch: Path, words: list[str], tell: Callable[[str], None], *, once: bool = False
    ) -> None:
        self._directory = directory
        self._scratch = scratch
        self._words = words
        self._tell = tell
        self._once = once
        self._watch = Watch(directory)
        self._runs = 0

    async def run(self) -> int:
        """Until interrupted; with ``once`` the exit status of one run."""
        while True:
            status, changed = await self._one_run()
            if self._once:
                return status
            if not changed:
                self._tell("waiting for a change …")
            while not changed:
                await asyncio.sleep(LOOK_S)
                changed = self._watch.changed()
            self._tell(f"↻ {', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}: running again")

    async def _one_run(self) -> tuple[int, list[str]]:
        self._runs += 1
        trace = self._scratch / f"trace-{self._runs}.jsonl"
        words = ("-m", "zot", "--ext", str(self._directory), "--ext-trace", str(trace), *self._words)
        child = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=asyncio.subprocess.DEVNULL)
        changed: list[str] = []
        try:
            while child.returncode is None and not changed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await child.wait()
                changed = self._watch.changed()
        finally:
            if child.returncode is None:
                child.terminate()
                await child.wait()
        if trace.exists():
            for _, traced in read_frames(trace):
                self._tell(summary_of(traced))
        return child.returncode or 0, changed
