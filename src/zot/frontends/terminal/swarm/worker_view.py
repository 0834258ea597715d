"""A worker's transcript on its own screen, updated as it grows; ``i`` opens a message editor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.core import events
from zot.errors import ZotError
from zot.frontends.terminal.dialogs.dialog import Dialog, titled_rule
from zot.frontends.terminal.dialogs.text_dialogs import Pager
from zot.frontends.terminal.editor.editor import Editor, Submitted
from zot.frontends.terminal.editor.editor_host import EditorHost
from zot.frontends.terminal.screen.activity import Activity
from zot.frontends.terminal.screen.notice_area import Notes
from zot.frontends.terminal.screen.transcript import Transcript
from zot.frontends.terminal.swarm import worker_summary
from zot.frontends.terminal.swarm.dashboard import Verb, WorkerAction
from zot.frontends.terminal.swarm.workers import AT_WORK
from zot.provider.messages import Block, Message, ResultBlock, TextBlock, ToolCallBlock
from zot.tui.keys import Key
from zot.tui.live_region import SettledBlocks
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import cells, cut

if TYPE_CHECKING:
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.frontends.terminal.swarm.workers import WorkerList
    from zot.system.jail.jailed_files import JailedFiles

_MOST = 12
HINT = "enter sends · alt+enter or \\ new line · @ picks a file · esc closes"


class DialogEditorHost(EditorHost):
    """Host of an editor other than the prompt's."""

    def __init__(self, around: EditorHost) -> None:
        self._around = around

    @property
    def vi_mode(self) -> bool:
        return self._around.vi_mode

    @property
    def cwd(self) -> Path:
        return self._around.cwd

    def environment(self) -> dict[str, str]:
        return self._around.environment()

    def jailed_files(self) -> JailedFiles | None:
        return self._around.jailed_files()

    def changed(self) -> None:
        self._around.changed()

    def error(self, text: str) -> None:
        self._around.error(text)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        return self._around.spawn(work)

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        return await self._around.lend_terminal(argv)


def editor_beside(around: EditorHost, on_submit: Callable[[Submitted], None]) -> Editor:
    editor = Editor(DialogEditorHost(around))
    editor.on_submit = on_submit
    return editor


class MessageEditor(Dialog[Submitted]):
    """Ends with the typed text."""

    hint = HINT

    def __init__(self, title: str, around: EditorHost, placeholder: str, text: str = "") -> None:
        super().__init__()
        self.title = title
        self._placeholder = placeholder
        self._editor = editor_beside(around, self.finish)
        if text:
            self._editor.insert(text)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        popup = self._editor.popup(theme, width, max(height // 2, 1))
        room = max(min(height - len(popup), _MOST), 1)
        view = self._editor.view(theme, width, room, placeholder=self._placeholder)
        self.cursor = (len(popup) + view.row, min(view.column, width - 1))
        return [*popup, *view.lines]

    def key(self, key: Key) -> bool:
        if self._editor.popup_key(key):
            return True
        if key.name == "esc":
            return self._editor.escape()
        return key.name != "ctrl+c" and (self._editor.key(key) or True)


PIECES = frozenset({"text_delta", "thinking_delta", "tool_use_args", "tool_progress"})
_STRANGE = (msgspec.ValidationError, TypeError, ValueError, KeyError, AttributeError)
_Same = (
    events.TextDelta
    | events.ThinkingDelta
    | events.ThinkingEnd
    | events.RetryWait
    | events.ToolUseArgs
    | events.ToolProgress
    | events.TurnStart
    | events.AssistantStart
    | events.ToolUseStart
    | events.ToolUseEnd
    | events.SessionFault
    | events.Error
    | events.Done
)
_SAME = frozenset(str(kind.__struct_config__.tag) for kind in _Same.__args__)


class WorkerEventReader:
    """Passes a worker's events to a transcript, in order."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._streamed = False  # parts of the answer were received

    def feed(self, raw: dict[str, Any]) -> None:
        try:
            for event in self._events(str(raw.get("type")), raw):
                self._transcript.on_event(event)
            match raw.get("type"):
                case "agent_ready" if int(raw.get("attempt") or 1) > 1:
                    self._transcript.add_marker("◇", "restarted")
                case "agent_note":
                    self._transcript.add_marker("◇", str(raw.get("text", "")))
                case "agent_stopped":
                    reason = f": {raw['reason']}" if raw.get("reason") else ""
                    self._transcript.on_event(events.Done())
                    self._transcript.add_marker("◇", f"{raw.get('status')}{reason}")
                case "approval_request":
                    self._transcript.add_marker("?", f"asks: {raw.get('preview')}")
                case "elicitation_request":
                    self._transcript.add_marker("?", f"asks: {raw.get('message')}")
                case _:
                    pass
        except _STRANGE:
            return

    def _events(self, kind: str, raw: dict[str, Any]) -> Iterator[events.AgentEvent]:
        if kind in ("text_delta", "assistant_start"):
            self._streamed = kind == "text_delta"
        if kind in _SAME:
            yield msgspec.convert(raw, _Same)
        match kind:
            case "user_message":
                yield events.UserMessage(Message("user", _blocks(raw), str(raw.get("time", ""))))
            case "assistant_message":
                message = Message("assistant", _blocks(raw), str(raw.get("time", "")))
                if not self._streamed and message.text():
                    yield events.TextDelta(message.text())
                self._streamed = False
                yield events.AssistantMessage(message)
            case "tool_call":
                arguments = json.dumps(raw["args"]) if raw.get("args") is not None else ""
                yield events.ToolCall(ToolCallBlock(str(raw["id"]), str(raw["name"]), arguments))
            case "tool_result":
                yield events.ToolResultEvent(str(raw["id"]), bool(raw["is_error"]), _results(raw))
            case "turn_end":
                stop = "end" if raw["stop"] == "end_turn" else raw["stop"]
                yield events.TurnEnd(stop, str(raw.get("error", "")))
            case "compact_done":
                yield events.CompactDone(str(raw["summary"]))
            case _:
                pass


def _blocks(raw: dict[str, Any]) -> tuple[Block, ...]:
    return _results(raw)


def _results(raw: dict[str, Any]) -> tuple[ResultBlock, ...]:
    """The text; an image is named."""
    blocks: list[ResultBlock] = []
    for block in raw.get("content", ()):
        if block.get("type") == "text":
            blocks.append(TextBlock(str(block["text"])))
        elif block.get("type") == "image":
            blocks.append(TextBlock(f"[image: {block.get('mime_type')}, {block.get('bytes')} bytes]"))
    return tuple(blocks)


_AT_ONCE = 600  # maximum events of a long log
_MOST_ROWS = 2000
_KEYS = "i types · ↑↓ scroll · end follows · ctrl+o unfolds · d diff · m merge · k kill · R resume · esc closes"
_SHORT = "i types · ↑↓ end scroll · ctrl+o unfolds · d diff · m merge · k kill · esc"
_TYPING = "enter sends · alt+enter new line · page up/down · esc reads"
_VERBS: dict[str, Verb] = {"d": "diff", "m": "merge"}


class _Paper:
    """A transcript for one width and theme: settled rows above, live rows below."""

    def __init__(self, ui: ScreenServices, width: int, *, expanded: bool) -> None:
        self.painter, self.theme = ui.painter, ui.theme
        self.columns, self.height = width, ui.height
        self.settled = SettledBlocks()
        self.rows: list[str] = []
        self.transcript = Transcript(cast("ScreenServices", self), Notes(), Activity(), lambda: False)
        self.transcript.expanded = expanded
        self.hearing = WorkerEventReader(self.transcript)

    def redraw(self) -> None: ...

    def shown(self) -> list[str]:
        self.transcript.advance(self.columns)
        self.rows += self.settled.take()
        del self.rows[:-_MOST_ROWS]
        return [*self.rows, *self.transcript.live_rows(self.columns)]


class WorkerView(Dialog[WorkerAction]):
    """Ends with the action for the worker, or None. ``hear`` receives its events from the beginning."""

    fullscreen = True

    def __init__(
        self, workers: WorkerList, id: str, ui: ScreenServices, around: EditorHost, *, typing: bool = False
    ) -> None:
        super().__init__()
        self._workers = workers
        self._id = id
        self._ui = ui
        self._received: list[dict[str, Any]] = []
        self._fed = 0
        self._dropped = False
        self._paper: _Paper | None = None
        self._pages = Pager()
        self._follows = True
        self._expanded = False
        self._typing = typing
        self._note = ""
        self._editor = editor_beside(around, self._send)

    def hear(self, event: dict[str, Any]) -> None:
        """Whole answers replace their parts, so that the list stays short."""
        self._received.append(event)
        if event.get("type") == "turn_end" and self._fed == len(self._received) - 1:
            self._feed()
            self._received = [event_fields for event_fields in self._received if event_fields.get("type") not in PIECES]
            self._fed = len(self._received)

    @property
    def animated(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # time passes while it runs
        return self._info is not None and self._info.status in AT_WORK

    @property
    def _info(self) -> Any:
        return self._workers.known.get(self._id)

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        foot = self._foot(theme, width, height)
        room = max(height - 1 - len(foot), 1)
        rows = self._body(theme, width)
        if self._follows:
            self._pages.top = len(rows)
        body = [cut(row, width) for row in self._pages.show(rows, room)]
        body += [""] * (room - len(body))
        if self.cursor is not None:
            self.cursor = (1 + room + self.cursor[0], self.cursor[1])
        return [titled_rule(theme, self._heading(), width), *body, *foot]

    def _heading(self) -> str:
        info = self._info
        if info is None:
            return self._id
        rested = self._workers.rested.get(self._id, 0.0)
        figures = (
            worker_summary.elapsed(info, rested),
            worker_summary.cost(info),
            worker_summary.changed(self._workers.stats.get(self._id)),
        )
        glyph = worker_summary.GLYPHS[info.status][0]
        state = one_line(info.activity) if info.status in AT_WORK else info.status
        return " · ".join(filter(None, (f"{glyph} {one_line(info.name)}", state[:80], *figures)))

    def _body(self, theme: Theme, width: int) -> list[str]:
        paper = self._paper
        if (
            paper is None
            or paper.columns != width
            or paper.theme is not theme
            or len(self._received) - self._fed > _AT_ONCE
        ):
            self._dropped = len(self._received) > _AT_ONCE
            self._received = self._received[-_AT_ONCE:]
            self._paper = paper = _Paper(self._ui, width, expanded=self._expanded)
            self._fed = 0
        self._feed()
        rows = paper.shown()
        if self._dropped or len(paper.rows) >= _MOST_ROWS:
            rows[:0] = [theme.paint("muted", f"  … earlier events: `zot swarm logs {self._id}`"), ""]
        return rows or [theme.paint("muted", "  no events yet")]

    def _feed(self) -> None:
        if self._paper is not None:
            for event in self._received[self._fed :]:
                self._paper.hearing.feed(event)
            self._fed = len(self._received)

    def _foot(self, theme: Theme, width: int, height: int) -> list[str]:
        self.cursor = None
        rule = theme.paint("border", "─" * width)
        note = self._note or self._ui.status.text
        keys = _KEYS if cells(_KEYS) <= width - 3 else _SHORT
        text = note or (_TYPING if self._typing else keys)
        hint = theme.paint("warning" if note else "muted", cut(f"  {text}", width))
        if not self._typing:
            return [rule, hint]
        popup = self._editor.popup(theme, width, max(height // 3, 1))
        view = self._editor.view(theme, width, max(height // 4, 1), placeholder="what the worker should do next")
        self.cursor = (1 + len(popup) + view.row, min(view.column, width - 1))
        return [rule, *popup, *view.lines, hint]

    # --- keys

    def key(self, key: Key) -> bool:
        self._note = ""
        self._ui.status.clear()
        if self._typing and key.name not in ("pageup", "pagedown"):
            if self._editor.popup_key(key):
                return True
            if key.name in ("esc", "ctrl+c"):
                if key.name == "ctrl+c" or not self._editor.escape():
                    self._typing = False
                return True
            return self._editor.key(key) or True
        if key.name == "i":
            self._typing = True
        elif key.name == "q":
            self.finish(None)
        elif key.name == "ctrl+o":
            self._expanded, self._paper = not self._expanded, None
        elif key.name == "k":
            self._ui.spawn(self._do(self._stop()))
        elif key.name == "R":
            self._ui.spawn(self._do(self._resume()))
        elif (verb := _VERBS.get(key.name)) is not None:
            self.finish(WorkerAction(verb, self._id))
        elif self._pages.key(key):
            self._follows = self._pages.top >= self._pages.count - self._pages.height
        else:
            return False
        return True

    # --- actions

    def _send(self, submitted: Submitted) -> None:
        self._follows = True
        self._ui.spawn(self._do(self._sent(submitted)))

    async def _sent(self, submitted: Submitted) -> None:
        from zot.wire.rpc_frames import Image

        images = tuple(Image(mime_type=image.mime_type, data=image.data) for image in submitted.images)
        try:
            await self._workers.service.send(self._id, submitted.text, images)
        except ZotError:
            self._editor.set_text(submitted.text)
            raise

    async def _stop(self) -> None:
        self._note = "stopping it …"
        await self._workers.service.stop(self._id)
        self._note = "stopped; resume it with R"

    async def _resume(self) -> None:
        await self._workers.resume(self._id)
        self._note = "continued"

    async def _do(self, work: Any) -> None:
        try:
            await work
        except ZotError as error:
            self._note = one_line(str(error))
        self._ui.redraw()
