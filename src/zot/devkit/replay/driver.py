"""Drives a recorded run again: gives each recorded input at its place and compares everything else.

One cursor orders everything, without a clock. State changes apply at once; prompts, aborts and frames begin in their
own turn of the event loop, as in the recording.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

import msgspec

from zot.devkit.replay.comparison import Comparison, Difference, name_of, preview
from zot.features.recording.journal_file import encoded
from zot.features.recording.reader import RecordedLine
from zot.wire import limits

# Handles the line at the cursor; True if done, with the cursor advanced.
Trigger = Callable[[RecordedLine], bool]

_LOOK_S = 0.05
_IDLE_S = 2.0
_RESTART_S = max(limits.RESTART_DELAYS) + 4.0


class ReplayDriver:
    """A ``Sink`` of the second run. ``triggers`` are by line type; ``passed_over`` types are not compared."""

    def __init__(
        self, lines: Sequence[RecordedLine], comparison: Comparison, passed_over: Callable[[str], bool]
    ) -> None:
        self._lines = [line for line in lines if not passed_over(line.type)]
        self._passed_over = passed_over
        self._comparison = comparison
        self._at = 0
        self._advancing = False
        self._scheduled = self._held = -1
        self._waiting: dict[Hashable, asyncio.Future[RecordedLine]] = {}
        self.triggers: dict[str, Trigger] = {}
        self.patience = _IDLE_S
        self.last_request = 0
        self.over: asyncio.Future[Difference | None] = asyncio.get_running_loop().create_future()

    # --- position

    @property
    def line(self) -> RecordedLine | None:
        """The line at the cursor."""
        return self._lines[self._at] if self._at < len(self._lines) and not self.over.done() else None

    @property
    def compared(self) -> int:
        return self._at

    def at(self, type: str, **fields: Any) -> RecordedLine | None:
        """The line at the cursor if it is of this kind."""
        line = self.line
        fits = line is not None and line.type == type and all(line.fields.get(k) == v for k, v in fields.items())
        return line if fits else None

    def follows_event(self, tag: str) -> bool:
        """True if the line before the cursor is this event."""
        before = self._lines[self._at - 1] if self._at else None
        event = before.fields.get("event") if before is not None and before.type == "event" else None
        return isinstance(event, dict) and cast("dict[str, Any]", event).get("type") == tag

    # --- output of the run

    def now(self) -> float:
        return 0.0

    def flush_soon(self) -> None: ...

    def close(self) -> None: ...

    def put(self, type: str, fields: dict[str, Any]) -> None:
        """A line of the second run."""
        if self.over.done() or self._passed_over(type):
            return
        got: dict[str, Any] = msgspec.json.decode(encoded(type, 0, fields))
        line = self.line
        if line is None:
            return
        difference = self._comparison.difference(line, got)
        if difference is not None:
            self.fail(difference)
            return
        if type == "request":
            self.last_request = got["n"]
        self._at += 1
        self.advance()

    def fail(self, difference: Difference) -> None:
        if not self.over.done():
            self.over.set_result(difference)

    # --- input of the run

    def advance(self) -> None:
        """Handles the line at the cursor, and following ones that need no waiting."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while (line := self.line) is not None:
                before = self._at
                trigger = self.triggers.get(line.type)
                if trigger is None or not trigger(line) or self._at == before:
                    break
        except Exception as error:  # reported here, not to the emitter of an event
            number, name = (line.number, name_of(line.fields)) if (line := self.line) is not None else (0, "")
            self.fail(Difference(number, name, "", "" if line is None else preview(line.fields), f"{error}"))
        finally:
            self._advancing = False
        if self._at >= len(self._lines) and not self.over.done():
            self.over.set_result(None)

    def advance_soon(self) -> None:
        """Registers a waiter; the line at the cursor may be for it."""
        asyncio.get_running_loop().call_soon(self.advance)

    def skip_line(self) -> bool:
        """Skips a line that is neither run nor compared."""
        self._at += 1
        return True

    def soon(self, action: Callable[[], None]) -> bool:
        """Runs it in its own turn of the loop, once per line; ``caught_up`` waits for it."""
        return self.once(lambda: _next_turn(action))

    def once(self, action: Callable[[], object], *, holds: bool = True) -> bool:
        """The same for a task, which then gets its first turn; ``holds``: others wait for it."""
        if self._scheduled != self._at:
            self._scheduled = self._at
            self._held = self._at if holds else -1
            action()
        return False

    def wake(self, *key: Hashable) -> bool:
        """Gives this line to its waiter, now or when it comes."""
        waiter, line = self._waiting.get(key), self.line
        if waiter is not None and not waiter.done() and line is not None:
            waiter.set_result(line)
        return False

    async def next_for(self, *key: Hashable) -> RecordedLine:
        """The next line that wakes this key."""
        waiter: asyncio.Future[RecordedLine] = asyncio.get_running_loop().create_future()
        self._waiting[key] = waiter
        try:
            self.advance()
            return await waiter
        except asyncio.CancelledError:
            await self.caught_up()  # done by others before the cancellation took effect
            raise
        finally:
            if self._waiting.get(key) is waiter:
                del self._waiting[key]

    def waits(self, *key: Hashable) -> bool:
        return key in self._waiting

    async def caught_up(self) -> None:
        """Waits until the cursor has passed inputs from outside, which came first."""
        looks = 0
        while self._held == self._at and self.line is not None:
            looks += 1
            await asyncio.sleep(0 if looks < 1000 else 0.001)

    # --- the end

    async def watch(self, idle: Callable[[], bool]) -> None:
        """No progress counts as a difference; measured in polls, since the machine may be busy."""
        still, before = 0, -1
        while not self.over.done():
            await asyncio.sleep(_LOOK_S)
            still, before = (still + 1 if self._at == before else 0), self._at
            line, nothing_runs = self.line, idle()
            if line is not None and still * _LOOK_S >= self._patience_with(line, nothing_runs):
                got = "nothing: the agent is idle" if nothing_runs else "nothing"
                self.fail(Difference(line.number, name_of(line.fields), "", preview(line.fields), got))

    def _patience_with(self, line: RecordedLine, idle: bool) -> float:
        if line.type in ("frame", "gone", "exit"):  # a crashed one is restarted after a delay
            return max(self.patience, _RESTART_S)
        return _IDLE_S if idle else self.patience


def _next_turn(action: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(action)
