"""One tool call on the screen, from its first argument byte to its settled box.

While arguments stream the box shows them; while the tool runs, the time and the last rows of its output; then the
result, in the way that suits the tool. What a box says comes from outside and is made safe before it is measured.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.agent.modes.interactive.screen import tool_bodies
from zot.core.tool_calls import STOPPED
from zot.tui.excerpt import beginning
from zot.tui.markdown import Painter
from zot.tui.partial_json import string_fields
from zot.tui.sanitize import one_line
from zot.tui.tool_box import collapsed, inner_width, tool_box
from zot.tui.width import cells, cut

if TYPE_CHECKING:
    from zot.core.events import ToolResultEvent

LIVE_ROWS = 5
_LABEL = 60
_GIST = 1_000  # characters of the arguments among which a label is looked for
_LONGEST_NAME = 200
_TAIL = 16_384  # characters of live output kept


class ToolView:
    """``extension`` is the name of the extension whose tool it is, if any."""

    def __init__(self, call_id: str, name: str, arguments: str = "", extension: str = "") -> None:
        self.id = call_id
        self.name = one_line(beginning(name, _LONGEST_NAME))  # a model may call a tool by any name
        self.extension = extension
        self._pieces = [arguments] if arguments else []
        self._running_since = 0.0
        self._asked = False
        self._output = ""
        self.result: ToolResultEvent | None = None
        self._seconds = 0.0
        self.running = False

    # --- what happens to it

    def more_arguments(self, delta: str) -> None:
        self._pieces.append(delta)

    def called(self, arguments: str) -> None:
        """The arguments are whole; the tool runs when those before it are done."""
        self._pieces = [arguments]
        self.running = True

    def its_turn(self) -> None:
        """Nothing stands before it any more: its time begins."""
        if self.running and not self._running_since:
            self._running_since = time.monotonic()

    def asked(self, waiting: bool) -> None:
        """Whether the user is being asked about it: that is not its time."""
        self._asked = waiting and bool(self._running_since)
        if self._asked:
            self._running_since = time.monotonic()

    def progress(self, text: str) -> None:
        """Live output; only its end is kept, so that a flood costs nothing."""
        self._output = text[-_TAIL:] if len(text) >= _TAIL else (self._output + text)[-_TAIL:]

    def ends(self, result: ToolResultEvent) -> None:
        self.result, self.running = result, False
        self._seconds = time.monotonic() - self._running_since if self._running_since else 0.0
        if not _stopped(result):
            self._output = ""  # the result has it all

    # --- rows

    @property
    def _text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def arguments(self) -> dict[str, Any]:
        """Parsed; while they stream, the string fields there are."""
        try:
            parsed: Any = msgspec.json.decode(self._text.encode("utf-8", "surrogatepass"))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            parsed = {field.key: field.value for field in string_fields(self._text) if field.depth == 1}
        return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}

    def lines(self, painter: Painter, width: int, *, expanded: bool = False) -> list[str]:
        arguments = self.arguments()
        inner = inner_width(width)
        if self.result is not None:
            head = tool_bodies.command_row(arguments, painter.theme, inner) if self.name == "bash" else ""
            body = self._kept_rows(head, painter, inner)
            body += tool_bodies.result_rows(self.name, arguments, self.result, painter, inner)
            if not expanded and not tool_bodies.has_image(self.result):
                body = collapsed(painter.theme, body, tail=self.name == "bash" or self.result.is_error, head=head)
            mark = f" · {seconds(self._seconds)}" if self._seconds >= 0.1 and self.name != "bash" else ""
        elif self.running:
            body = self._running_rows(arguments, painter, inner)
            mark = f" · {self._doing()}"
        else:
            body = tool_bodies.composing_rows(self.name, self._text, arguments, painter, inner)
            mark = ""
        return tool_box(painter.theme, self.name, self._rest(arguments, mark, inner), body, width)

    def _doing(self) -> str:
        if self._asked:
            return "asking"
        since = self._running_since
        return f"running {seconds(time.monotonic() - since)}" if since else "waiting"

    def _kept_rows(self, head: str, painter: Painter, inner: int) -> list[str]:
        """What a call that was cancelled had shown; its result does not say what ran."""
        if not self._output:
            return []
        return [*([head] if head else []), *tool_bodies.output_rows(self._output, painter.theme, inner)]

    def _running_rows(self, arguments: dict[str, Any], painter: Painter, inner: int) -> list[str]:
        if self._output:
            tail = self._output[-LIVE_ROWS * inner * 2 :].rstrip("\n").split("\n")[-LIVE_ROWS:]
            return tool_bodies.output_rows("\n".join(tail), painter.theme, inner)[-LIVE_ROWS:]
        return tool_bodies.composing_rows(self.name, self._text, arguments, painter, inner)[-LIVE_ROWS:]

    def _rest(self, arguments: dict[str, Any], mark: str, inner: int) -> str:
        owner = f" [{one_line(self.extension)}]" if self.extension else ""
        label = short_arguments(self.name, arguments, self._text)
        room = inner - 3 - cells(self.name) - cells(owner) - cells(mark) - 1
        return f"{owner} {cut(label, max(room, 0))}".rstrip() + mark


def _stopped(result: ToolResultEvent) -> bool:
    """A call that was cancelled has no output in its result: what was on the screen stays there."""
    return result.is_error and result.content == STOPPED.content


def short_arguments(name: str, arguments: dict[str, Any], text: str) -> str:
    """What a call is about, at most 60 characters; the range of a read survives the cut."""
    told = next((v for k in ("path", "file_path", "command") if isinstance(v := arguments.get(k), str) and v), None)
    gist = one_line((told if told is not None else "" if text == "{}" else text)[:_GIST])
    suffix = _range(arguments) if name == "read" else ""
    room = _LABEL - len(suffix)
    return (gist if len(gist) <= room else gist[: room - 3] + "...") + suffix


def _range(arguments: dict[str, Any]) -> str:
    offset, limit = arguments.get("offset"), arguments.get("limit")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    if isinstance(limit, int) and limit > 0:
        return f":{first}-{first + limit - 1}"
    return f":{first}-" if first > 1 else ""


def seconds(value: float) -> str:
    return f"{value:.1f}s" if value < 60 else f"{int(value) // 60}m{int(value) % 60}s"
