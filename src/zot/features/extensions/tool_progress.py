"""Progress of one tool call of an extension, on its way to the user: at most 20 reports a second, the newest wins.
The newest partial result is kept for a call that is aborted or takes too long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from zot.core.events import ToolProgress
from zot.core.tool import ToolResult
from zot.provider.messages import ResultBlock, TextBlock
from zot.wire import extension_frames, limits

_PARTIAL = "[partial result, sent before the call ended]"


class ProgressReport:
    """``report`` shows progress, ``fault`` names a mistake of the extension."""

    def __init__(
        self, call_id: str, report: Callable[[ToolProgress], None] | None, fault: Callable[[str, str], None]
    ) -> None:
        self._call_id = call_id
        self._report = report
        self._fault = fault
        self._newest: extension_frames.Progress | None = None
        self._content: Sequence[extension_frames.Content] = ()
        self._second, self._in_second = 0, 0
        self._shown = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def received(self, progress: extension_frames.Progress) -> None:
        if not self._within_rate():
            return
        if progress.content:
            self._content = progress.content
        known = self._newest
        if known is not None:  # what a frame leaves out stays as it was
            progress = msgspec.structs.replace(
                progress,
                text=progress.text or known.text,
                fraction=known.fraction if progress.fraction is None else progress.fraction,
                view=known.view if progress.view is None else progress.view,
                content=progress.content or known.content,
            )
        self._newest = progress
        if self._timer is None:
            wait = self._shown + limits.PROGRESS_INTERVAL - time.monotonic()
            if wait <= 0:
                self._show()
            else:
                self._timer = asyncio.get_running_loop().call_later(wait, self._show)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def partial_content(self) -> tuple[ResultBlock, ...]:
        """The newest partial result with a heading, within its limit; empty if there was none."""
        text = "\n".join(content.text for content in self._content if content.type == "text" and content.text)
        if not text:
            return ()
        data = text.encode("utf-8", "replace")[: limits.DETAILS_BYTES]
        return (TextBlock(_PARTIAL), TextBlock(data.decode("utf-8", "ignore")))

    def added_to(self, result: ToolResult) -> ToolResult:
        """An error result with the partial content."""
        return msgspec.structs.replace(result, content=(*result.content, *self.partial_content()))

    def _show(self) -> None:
        self._timer = None
        progress = self._newest
        if progress is None or self._report is None:
            return
        self._shown = time.monotonic()
        fraction = progress.fraction
        if fraction is not None:
            fraction = min(1.0, max(0.0, float(fraction)))
        content = msgspec.to_builtins(progress.content) if progress.content else None
        self._report(ToolProgress(self._call_id, progress.text, True, fraction, progress.view, content, progress.data))

    def _within_rate(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._in_second = second, 0
        self._in_second += 1
        if self._in_second == limits.FRAMES_PER_SECOND + 1:
            self._fault("too much progress", f"sends more than {limits.FRAMES_PER_SECOND:,} progress frames a second")
        return self._in_second <= limits.FRAMES_PER_SECOND
