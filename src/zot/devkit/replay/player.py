"""Shows a recording as a transcript: with its pauses, step by step, or at once."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from zot.core import events
from zot.core.events import AgentEvent
from zot.features.recording.reader import RecordedLine, Recording
from zot.frontends.terminal.screen.activity import Activity
from zot.frontends.terminal.screen.call_summary import duration
from zot.frontends.terminal.screen.notice_area import Notes
from zot.frontends.terminal.screen.transcript import Transcript
from zot.frontends.terminal.screen.ui_services import ScreenServices
from zot.system.visible_text import pluralize
from zot.tui.colour import background_of, depth_of
from zot.tui.live_region import SettledBlocks
from zot.tui.markdown import Painter
from zot.tui.theme import built_in

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_ROWS = 24
_PLAIN_COLUMNS = 100
_LONGEST_S = 3600.0
_LONGEST_TOLD_S = 1e9
_LONGEST_IDLE_S = 2.0  # longest pause while idle: the user was typing
# Errors of an invalid line.
STRANGE = (msgspec.ValidationError, TypeError, ValueError, KeyError, AttributeError, OverflowError)
_Known = events.ShownEvent | events.RecordedEvent | events.LifecycleEvent
_DELTAS: dict[Any, Callable[[dict[str, Any]], AgentEvent]] = {
    "TextDelta": lambda value: events.TextDelta(str(value["text"])),
    "ThinkingDelta": lambda value: events.ThinkingDelta(str(value["text"])),
    "ToolStarted": lambda value: events.ToolUseStart(str(value["id"]), str(value["name"])),
    "ToolArgs": lambda value: events.ToolUseArgs(str(value["id"]), str(value["delta"])),
}


class RecordingRenderer:
    """Turns lines into rows; ``rows`` are finished and not yet printed."""

    def __init__(self, columns: int, *, colours: bool) -> None:
        self._desk = _PrintingDesk(columns, colours=colours)
        self._transcript = Transcript(cast("ScreenServices", self._desk), Notes(), Activity(), lambda: False)
        self._held = False  # an interceptor sees the text before it is shown
        self._others: set[int] = set()
        self._stopped = ""  # who stopped the run, until it has ended

    def rows(self) -> list[str]:
        self._transcript.advance(self._desk.columns)
        rows = self._desk.settled.take()
        return rows if self._desk.colours else [_COLOURS.sub("", row) for row in rows]

    def mark(self, text: str) -> None:
        self._transcript.add_marker("◇", text)

    def hear(self, line: RecordedLine) -> None:
        """Shows one line; invisible and invalid ones are skipped."""
        if line.agent > 1:
            self._show_other_agent(line)
            return
        match line.type:
            case "setup":
                self._held = any(cast("list[Any]", line.fields.get("interceptors") or []))
            case "about":
                changed = line.fields.get("settings")
                settings = msgspec.json.encode(changed).decode() if changed else "all as they come"
                rows = [f"platform     {line.fields.get('platform')}", f"settings     {settings}"]
                for name in ("doctor", "problems"):
                    rows += map(str, cast("list[Any]", line.fields.get(name) or []))
                self._transcript.add_note("\n".join(rows))
            case "frame":
                self._watch(line.fields.get("frame"))
            case "input":
                self._input(line)
            case "command":
                values = (str(v) for k, v in line.fields.items() if k not in ("type", "t", "sum", "text", "agent"))
                self.mark(" ".join((str(line.fields.get("text", "")), *values)))
            case "answer":
                answer = cast("dict[str, Any]", line.fields.get("answer") or {})
                self.mark(f"asked about {line.fields.get('id')}: {answer.get('decision')}")
            case _:
                for event in self._events(line):
                    self._transcript.on_event(event)

    def _events(self, line: RecordedLine) -> Iterator[AgentEvent]:
        fields = line.fields
        if line.type == "stream":
            make = _DELTAS.get(fields.get("kind"))
            if make is not None and not (self._held and fields.get("kind") in ("TextDelta", "ThinkingDelta")):
                yield make(fields["value"])
        elif line.type == "progress":
            yield events.ToolProgress(str(fields.get("id")), str(fields.get("text")))
        elif line.type in ("event", "told"):
            event = msgspec.convert(fields.get("event"), _Known)
            if self._held and isinstance(event, events.AssistantMessage):
                yield events.TextDelta(event.message.text())
            if isinstance(event, events.Done) and self._stopped:
                yield event
                self.mark(self._stopped)
                self._stopped = ""
            elif isinstance(event, events.Notice):
                self._transcript.add_note(event.text)
            else:
                yield event

    def _input(self, line: RecordedLine) -> None:
        match line.fields.get("what"):
            case "abort":
                self._stopped = "stopped from outside" if line.fields.get("outside") else "stopped by the user"
            case "messages":
                self._transcript.clear()
            case "reload":
                self.mark("extensions reloaded")
            case _:
                pass

    def _watch(self, frame: Any) -> None:
        if isinstance(frame, dict):
            fields = cast("dict[str, Any]", frame)
            intercepts = fields.get("intercept")
            self._held |= fields.get("type") == "subscribe" and "assistant_message" in (intercepts or ())

    def _show_other_agent(self, line: RecordedLine) -> None:
        """Another agent: only its answers."""
        if line.agent not in self._others:
            self._others.add(line.agent)
            self.mark(f"agent {line.agent} starts")
        inner = line.fields.get("event")
        if line.type == "event" and isinstance(inner, dict):
            event = msgspec.convert(inner, _Known)
            if isinstance(event, events.AssistantMessage) and (text := event.message.text()):
                self._transcript.add_note(f"agent {line.agent}: {text}")


class _PrintingDesk:
    """Screen services for a transcript that is only printed."""

    def __init__(self, columns: int, *, colours: bool) -> None:
        self.settled = SettledBlocks()
        self.columns = columns
        self.height = _ROWS
        self.colours = colours
        self.theme = built_in(background_of(), depth_of())
        self.painter = Painter.of(self.theme)

    def redraw(self) -> None: ...


class PlaybackSpeed:
    """The wait before a line: recorded, scaled, or none."""

    def __init__(self, speed: float) -> None:
        self._speed = speed  # 0: no waiting
        self._before: float | None = None
        self._idle = True

    def wait(self, line: RecordedLine) -> None:
        before, self._before = self._before, line.t
        begins = line.type == "input" and line.fields.get("what") in ("prompt", "proceed", "go_on", "compact")
        if self._speed and before is not None:
            seconds = max(line.t - before, 0.0)
            longest = _LONGEST_IDLE_S if begins and self._idle else _LONGEST_S
            time.sleep(min(seconds, longest) / self._speed)
        inner = cast("dict[str, Any]", line.fields.get("event") or {}) if line.type == "event" else {}
        self._idle = inner.get("type") == "done" or (self._idle and not begins)


def show(recording: Recording, speed: float, step: Callable[[], bool] | None) -> int:
    """Prints it; ``step`` waits after each block and returns whether to continue. The number of invalid lines."""
    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if terminal else _PLAIN_COLUMNS
    shown, pace, unknown = RecordingRenderer(columns, colours=terminal), PlaybackSpeed(speed), 0
    header = recording.header
    clock = header.get("clock")
    wall = cast("dict[str, Any]", clock).get("wall") if isinstance(clock, dict) else None
    sane = isinstance(wall, int | float) and 0 <= wall < 1 << 33
    when = time.strftime(" of %Y-%m-%d %H:%M", time.localtime(wall)) if sane else ""
    kind = "report" if header.get("report") else "recording"
    shown.mark(f"a {kind}{when}, zot {header.get('zot', '?')}, in {header.get('cwd', '?')}")
    if step is not None and terminal:
        shown.mark("enter: next step; q and enter: quit")
    for line in recording.lines:
        pace.wait(line)
        try:
            shown.hear(line)
        except STRANGE:
            unknown += 1
        rows = shown.rows()
        if rows:
            _print(rows)
            if step is not None and not step():
                return unknown
    lines = recording.lines
    requests = pluralize(sum(line.type == "request" for line in lines), "model call")
    calls = pluralize(sum(line.type == "tool" for line in lines), "tool call")
    what = ", ".join(filter(None, (duration(min(lines[-1].t, _LONGEST_TOLD_S)), requests, calls)))
    shown.mark(f"the end: {what}" if recording.ended else f"the recording ends here (incomplete): {what}")
    _print(shown.rows())
    return unknown


def _print(rows: list[str]) -> None:
    text = "".join(f"{row}\n" for row in rows)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()
