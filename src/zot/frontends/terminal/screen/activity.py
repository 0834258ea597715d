"""The status row: what zot waits for (first token, thinking, a tool, a retry), with seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

from zot.core import events
from zot.provider.messages import Usage
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import duration, spinner_glyph, tokens
from zot.tui.width import cells, cut

if TYPE_CHECKING:
    from zot.frontends.terminal.screen.surfaces import Surfaces

WAITING = "waiting for the model"
THINKING = "thinking"
WRITING = "writing"
COMPACTING = "compacting"
ASKING = "waiting for your answer"

_LONGEST_CALL = 200  # characters of a call's arguments; the row is cut anyway
_STEERS = ("esc stops", "ctrl+s steers")
_STOPS = ("esc stops",)
_GIVES_UP = ("esc cancels",)


class Activity:
    """``compacting``: the transcript is being compacted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._since = clock()
        self._what = WAITING
        self._hints = _STEERS
        self._turns = 0
        self._used = Usage()  # tokens of the turn
        self._calls: dict[str, str] = {}  # running calls by id
        self._attempt = ""
        self._again_at = 0.0  # time of the next attempt
        self.surfaces: Callable[[], Surfaces | None] = lambda: None  # words of extensions
        self.compacting = False

    @property
    def retrying(self) -> bool:
        """True from a failed model call until the next one answers."""
        return bool(self._attempt)

    # --- events

    def begin(self, what: str = "") -> None:
        """A turn or a named operation starts."""
        self._began = self._clock()
        self._used = Usage()
        self._turns += 1
        self._calls.clear()
        self._be(what or WAITING, _STOPS if what else _STEERS)

    def end(self) -> None:
        self._calls.clear()
        self.compacting = False

    def on_event(self, event: events.AgentEvent) -> None:
        match event:
            case events.TextDelta():
                if self._what is not WRITING:
                    self._be(WRITING)
            case events.ThinkingDelta():
                if self._what is not THINKING:
                    self._be(THINKING)
            case events.ToolProgress() | events.ToolUseArgs():
                pass
            case _:
                self._milestone(event)

    def _milestone(self, event: events.AgentEvent) -> None:
        match event:
            case events.TurnStart() | events.ThinkingEnd():
                self._be(WAITING)
            case events.ToolUseStart(_, name):
                self._be(f"preparing {one_line(name)}")
            case events.ToolCall(call):
                from zot.core.permission_gate import preview  # not before the first frame
                from zot.frontends.terminal.screen.call_summary import subject

                text = subject(call.name, call.args or {}, preview(call.value, _LONGEST_CALL))
                self._calls[call.id] = f"{one_line(call.name)} {text[:_LONGEST_CALL]}".strip()
                if len(self._calls) == 1:
                    self._run_next()
            case events.ToolResultEvent(id):
                self._calls.pop(id, None)
                self._run_next()
            case events.UsageEvent(usage):
                self._used += usage
            case events.RetryWait(attempt, attempts, wait_s, reason):
                self._be(one_line(reason), _GIVES_UP)
                self._attempt, self._again_at = f"try {attempt} of {attempts}", self._clock() + wait_s
            case events.CompactStart(automatic):
                self.compacting = automatic
                self._be("compacting" if automatic else COMPACTING, _STOPS)
            case events.CompactDone():
                self.compacting = False
                self._be(WAITING)
            case events.Done():
                self.end()
            case _:
                pass

    def _run_next(self) -> None:
        """Names the running call; without one the model continues."""
        self._be(next(iter(self._calls.values()), WAITING), self._hints)

    def _be(self, what: str, hints: tuple[str, ...] = _STEERS) -> None:
        self._what, self._hints, self._since = what, hints, self._clock()
        self._attempt = ""

    # --- the row

    def row(self, theme: Theme, width: int, *, asking: bool = False) -> str:
        """Glyph, activity, seconds and keys; the keys are dropped first if it is narrow."""
        extra = self.surfaces()
        glyph = (extra.work_glyph() if extra is not None else "") or spinner_glyph(theme, self._clock() - self._began)
        what, tail, hints = (ASKING, "", ()) if asking else self._words(theme)
        if extra is not None and extra.hides_work and not asking:
            return theme.paint("muted", cut(f"  {' · '.join(hints)}", width))
        room = width - cells(glyph) - 1
        while hints and cells(what + tail + _spelled(hints)) > room:
            hints = hints[:-1]
        what = cut(what, max(room - cells(tail), 1))
        text = f"{theme.paint('spinner', glyph)} {theme.paint('assistant', what)}"
        return cut(text + theme.paint("muted", tail + _spelled(hints)), width)

    def _words(self, theme: Theme) -> tuple[str, str, tuple[str, ...]]:
        """Activity, its suffix, and the keys."""
        now = self._clock()
        if self._attempt and (left := self._again_at - now) > 0:
            return self._what, f", {self._attempt} in {ceil(left)} s", self._hints
        if self._attempt:
            return f"{WAITING}, {self._attempt}", f" {duration(now - self._again_at)}", _STOPS
        what = self._what
        extra = self.surfaces()
        if extra is not None and what in (WAITING, THINKING, WRITING):
            what = (extra.thinking if what is THINKING else "") or extra.working or what
        if what is THINKING and (messages := theme.spinner.messages):
            what = messages[self._turns % len(messages)]
        turn = self._whole_turn(now)
        seconds = "" if self._calls and turn else f" {duration(now - self._since)}"  # a tool's own row has its seconds
        return what, seconds + turn, self._hints

    def _whole_turn(self, now: float) -> str:
        """`` · turn 1m12s ↑12k ↓1.2k`` after the first model call of a turn; else empty."""
        used = self._used
        if not used.output_tokens:
            return ""
        read = used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
        return f" · turn {duration(now - self._began)} ↑{tokens(read)} ↓{tokens(used.output_tokens)}"


def _spelled(hints: tuple[str, ...]) -> str:
    return "".join(f" · {hint}" for hint in hints)
