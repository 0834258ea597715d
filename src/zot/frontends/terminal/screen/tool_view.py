"""One tool call on the screen: streaming arguments, last rows of output, then its summary."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.core.tool import ATTACHED, STOPPED
from zot.frontends.terminal.screen import call_summary, tool_output
from zot.tui.diff import counted
from zot.tui.markdown import Painter
from zot.tui.sanitize import beginning, one_line
from zot.tui.tool_call_rows import CallHead, body_width, call_rows, head_row, string_fields
from zot.tui.widgets import duration
from zot.tui.width import cells

if TYPE_CHECKING:
    from zot.core.events import ToolProgress, ToolResultEvent
    from zot.wire.lines import View

BY_HAND = "shell-"  # id prefix of the user's calls
LIVE_OUTPUT_ROWS = 5
LIVE_VIEW_ROWS, VIEW_ROWS = 12, 40  # rows of an extension's view that are not folded
_LONGEST_PROGRESS = 300
_BAR_CELLS = 10
_ENDLESS = 1 << 20  # columns, however long it is
_LONGEST_NAME = 200
_TAIL = 16_384  # characters of live output that are stored


class ToolView:
    """``extension`` is the tool's extension, if any.
    ``asked``: the user runs it (``!command``) and sees its output."""

    def __init__(
        self, call_id: str, name: str, arguments: str = "", extension: str = "", *, asked: bool = False
    ) -> None:
        self.id = call_id
        self.name = one_line(beginning(name, _LONGEST_NAME))  # a model may use any name
        self.extension = extension
        self.asked_for = asked
        self._pieces = [arguments] if arguments else []
        self._running_since = 0.0
        self._asked = False
        self._output = ""
        self._reported: ToolProgress | None = None  # of an extension's tool
        self.drawn: View | None = None  # in place of zot's rows below the call
        self.result: ToolResultEvent | None = None
        self._seconds = 0.0
        self.running = False

    # --- events

    def more_arguments(self, delta: str) -> None:
        self._pieces.append(delta)

    def called(self, arguments: str) -> None:
        """The arguments are complete; the tool runs after earlier calls."""
        self._pieces = [arguments]
        self.running = True

    def started(self) -> None:
        """No earlier call runs: its time begins."""
        if self.running and not self._running_since:
            self._running_since = time.monotonic()

    def awaiting_approval(self, waiting: bool) -> None:
        """True while the user is asked about it, which does not count as its time."""
        self._asked = waiting and bool(self._running_since)
        if self._asked:
            self._running_since = time.monotonic()

    def progress(self, text: str) -> None:
        """Live output; only its end is stored."""
        self._output = text[-_TAIL:] if len(text) >= _TAIL else (self._output + text)[-_TAIL:]

    def reports(self, progress: ToolProgress) -> None:
        """Progress of any tool; that of an extension replaces what came before. It runs, perhaps beside others."""
        if not self._asked:
            self.started()
        if not progress.replace:
            self.progress(progress.text)
            return
        self._reported = progress
        if progress.view is not None:
            from zot.wire.lines import to_view  # few tools draw

            self.drawn = to_view(progress.view)

    def ends(self, result: ToolResultEvent) -> None:
        self.result, self.running = result, False
        self._reported, self.drawn = None, _view_of(result)
        self._seconds = time.monotonic() - self._running_since if self._running_since else 0.0
        # A cancelled call has no output in its result: keep the shown output.
        if not (result.is_error and result.content == STOPPED.content):
            self._output = ""  # the result contains everything

    # --- rows

    @property
    def _text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def arguments(self) -> dict[str, Any]:
        """Parsed; while streaming, the string fields so far."""
        try:
            parsed: Any = msgspec.json.decode(self._text.encode("utf-8", "surrogatepass"))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            parsed = {field.key: field.value for field in string_fields(self._text) if field.depth == 1}
        return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}

    def lines(
        self, painter: Painter, width: int, *, expanded: bool = False, output: int = LIVE_OUTPUT_ROWS
    ) -> list[str]:
        """``output``: rows of live output."""
        arguments = self.arguments()
        if self.result is not None:
            return self._settled(self.result, arguments, painter, width, expanded=expanded)
        inner = body_width(width)
        body = (
            self._running_rows(arguments, painter, inner, output, expanded=expanded)
            if self.running
            else self._composing(arguments, painter, inner)
        )
        return call_rows(painter.theme, self._live_head(arguments, painter), body, width)

    def _live_head(self, arguments: dict[str, Any], painter: Painter) -> CallHead:
        frames = painter.theme.spinner.frames
        frame = frames[int(time.monotonic() * 1000 / painter.theme.spinner.interval_ms) % len(frames)]
        if self.running and (self._asked or not self._running_since):
            state = "asking" if self._asked else "waiting"
            return self._head("waiting", call_summary.verb(self.name, "waiting"), arguments, ((state, "muted"),))
        took = call_summary.duration(time.monotonic() - self._running_since) if self._running_since else ""
        outcome = (*self._reported_words(painter), *([(took, "muted")] if took else []))
        return self._head(frame, call_summary.verb(self.name, "running"), arguments, outcome)

    def _reported_words(self, painter: Painter) -> list[tuple[str, str]]:
        """The newest progress: a bar and a text."""
        reported = self._reported
        if reported is None:
            return []
        bar = [] if reported.fraction is None else [(fraction_bar(reported.fraction), "accent")]
        text = one_line(beginning(reported.text, _LONGEST_PROGRESS))
        return [*bar, *([(text, "fg")] if text else [])]

    def _head(self, state: str, verb: str, arguments: dict[str, Any], outcome: tuple[tuple[str, str], ...]) -> CallHead:
        subject = call_summary.subject(self.name, arguments, self._text)
        return CallHead(
            *(state, verb, subject, outcome, one_line(self.extension)),
            range=call_summary.line_range(self.name, arguments),
            is_path=call_summary.is_path(self.name, arguments),
        )

    def _composing(self, arguments: dict[str, Any], painter: Painter, inner: int) -> list[str]:
        return tool_output.composing_rows(self.name, self._text, arguments, painter, inner)

    def _running_rows(
        self, arguments: dict[str, Any], painter: Painter, inner: int, most: int, *, expanded: bool = False
    ) -> list[str]:
        if self._asked:
            return []  # the question shows everything
        if self.drawn is not None:
            rows = _drawn(self.drawn, painter, inner, expanded=expanded)
            return rows if expanded else tool_output.folded(painter.theme, rows, LIVE_VIEW_ROWS)
        if self._reported is not None and self._reported.content:
            text = "\n".join(str(block.get("text") or "") for block in self._reported.content)
            return tool_output.output_rows(text[-_TAIL:], painter.theme, inner)[-most:]
        if self._output:
            tail = self._output[-LIVE_OUTPUT_ROWS * inner * 2 :].rstrip("\n").split("\n")[-most:]
            return tool_output.output_rows("\n".join(tail), painter.theme, inner)[-most:]
        return self._composing(arguments, painter, inner)[-most:]

    # --- rows, once it is over

    @property
    def state(self) -> str:
        return "running" if self.result is None else call_summary.state_of(self.result)

    def _settled(
        self, result: ToolResultEvent, arguments: dict[str, Any], painter: Painter, width: int, *, expanded: bool
    ) -> list[str]:
        theme, inner = painter.theme, body_width(width)
        outcome = call_summary.outcome(self.name, arguments, result, self._seconds, asked=self.asked_for)
        head = self._head(
            self.state,
            "Created"
            if self.name == "write" and call_summary.text_of(result).startswith("created ")
            else call_summary.verb(self.name, self.state),
            arguments,
            outcome,
        )
        changes = tool_output.change_of(self.name, arguments, result)
        head = msgspec.structs.replace(head, changed=counted(changes)) if changes else head
        if not self._output:
            body = []
        else:
            rows = tool_output.output_rows(self._output, painter.theme, inner)
            body = tool_output.folded(painter.theme, rows, tool_output.FAILED_ROWS, tail=True)
        if self.state not in ("failed", "refused") or (self.name == "bash" and self.state == "failed"):
            line = ""
        else:
            line = call_summary.failure_line(self.name, arguments, call_summary.text_of(result))
        if self.drawn is not None and self.state != "refused":
            head = self._with_failure(head, line) if line else head
            body += self._drawn_rows(self.drawn, painter, inner, expanded=expanded)
        elif line and _fits(line_with_failure := self._with_failure(head, line), painter, width):
            head = line_with_failure
        elif expanded:
            body += tool_output.full_rows(self.name, arguments, result, painter, inner)
        elif self.state != "interrupted":
            body += tool_output.short_rows(self.name, arguments, result, painter, inner, asked=self.asked_for)
        body = [*tool_output.rewritten_rows(self.name, result, painter, inner), *body]
        if expanded and self.name != "bash" and not _fits(head, painter, width):
            body = [*tool_output.argument_rows(self._text, theme, inner), *body]
        return call_rows(theme, head, body, width)

    def _drawn_rows(self, view: View, painter: Painter, inner: int, *, expanded: bool) -> list[str]:
        rows = _drawn(view, painter, inner, expanded=expanded)
        shown = rows if expanded else tool_output.folded(painter.theme, rows, VIEW_ROWS)
        hint = view.expanded and not expanded and len(shown) == len(rows) and view.expanded != view.lines
        return [*shown, painter.theme.paint("muted", "ctrl+o shows all")] if hint and view.lines else shown

    def _with_failure(self, head: CallHead, line: str) -> CallHead:
        role = "error" if self.state == "failed" else "warning"
        return msgspec.structs.replace(head, outcome=((line, role), *head.outcome))


def fraction_bar(fraction: float) -> str:
    """``▰▰▰▱▱▱▱▱▱▱ 30%``."""
    full = int(fraction * _BAR_CELLS + 0.5)
    return f"{'▰' * full}{'▱' * (_BAR_CELLS - full)} {int(fraction * 100)}%"


def _view_of(result: ToolResultEvent) -> View | None:
    """What the extension wants shown below its call."""
    attached = (result.details or {}).get(ATTACHED)
    if not isinstance(attached, dict) or "view" not in attached:
        return None
    from zot.wire.lines import to_view  # few tools draw

    return to_view(cast("dict[str, Any]", attached)["view"])


def _drawn(view: View, painter: Painter, inner: int, *, expanded: bool) -> list[str]:
    from zot.frontends.terminal.screen.line_art import LineArt

    return LineArt(painter).view(view, inner, expanded=expanded)


def _fits(head: CallHead, painter: Painter, width: int) -> bool:
    """True if a head is shown in full."""
    return cells(head_row(painter.theme, head, _ENDLESS)) <= width - 2


# Neighbouring reads and searches are one line: `● Read a.py, b.py · searched "total"`. A group is settled at its end,
# because settled rows are never rewritten. A folded thought does not split it.

_NOUNS = {"read": ("file", "files"), "grep": ("pattern", "patterns"), "glob": ("pattern", "patterns")}


def joins_group(view: ToolView) -> bool:
    """True if a finished call may join a group: failures and images may not."""
    result = view.result
    if result is None or view.name not in _NOUNS or view.extension or view.asked_for or view.drawn is not None:
        return False
    return view.state == "done" and not tool_output.has_image(result)


class CallGroup:
    """Finished, unsettled calls in order."""

    def __init__(self) -> None:
        self._views: list[ToolView] = []
        self._thought_s = 0.0  # between them
        self._last: tuple[list[str], float] | None = None  # a thought that nothing followed yet

    def __bool__(self) -> bool:
        return bool(self._views)

    def add(self, view: ToolView) -> None:
        if self._last is not None:
            self._thought_s += self._last[1]
            self._last = None
        self._views.append(view)

    def think(self, row: list[str], seconds: float) -> None:
        """A thought after them, with its row if no other call joins."""
        self._last = (row, seconds + (self._last[1] if self._last is not None else 0.0))

    def clear(self) -> None:
        self._views, self._thought_s, self._last = [], 0.0, None

    def blocks(self, painter: Painter, width: int) -> list[list[str]]:
        """The row of the calls, and that of a thought after them."""
        calls = group_rows(self._views, painter, width, self._thought_s)
        return [calls, self._last[0]] if self._last is not None else [calls]


def group_rows(views: list[ToolView], painter: Painter, width: int, thought_s: float = 0.0) -> list[str]:
    """One row: a single call as usual, several by name, or by number if the names are too long."""
    if len(views) <= 1:
        return [row for view in views for row in view.lines(painter, width)]
    kinds: dict[str, list[dict[str, Any]]] = {}
    for view in views:
        kinds.setdefault(view.name, []).append(view.arguments())
    named = _head([(name, _named(name, calls)) for name, calls in kinds.items()], " · ", thought_s)
    if cells(head_row(painter.theme, named, _ENDLESS)) <= width - 2:
        return [head_row(painter.theme, named, width)]
    counted = _head([(name, _counted(name, calls)) for name, calls in kinds.items()], ", ", thought_s)
    return [head_row(painter.theme, counted, width)]


def _head(parts: list[tuple[str, str]], joint: str, thought_s: float) -> CallHead:
    (first, label), *rest = parts
    more = [f"{call_summary.verb(name, 'done').lower()} {text}" for name, text in rest]
    outcome = ((f"thought for {duration(thought_s)}", "muted"),) if thought_s else ()
    return CallHead("done", call_summary.verb(first, "done"), joint.join([label, *more]), outcome)


def _named(name: str, calls: list[dict[str, Any]]) -> str:
    labels = (call_summary.subject(name, each, "") + call_summary.line_range(name, each) for each in calls)
    return ", ".join(dict.fromkeys(labels))


def _counted(name: str, calls: list[dict[str, Any]]) -> str:
    """A file read in two pieces counts once."""
    key = "path" if name == "read" else "pattern"
    number = len({str(arguments.get(key)) for arguments in calls})
    one, many = _NOUNS[name]
    return f"{number} {one if number == 1 else many}"
