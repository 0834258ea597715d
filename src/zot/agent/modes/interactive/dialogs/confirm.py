"""May this tool run? (``--no-yolo``) Everything that would run can be read before answering.

One question at a time, in the order they came; a confirmation stands above every other dialog. It waits while somebody
types, and keys of its first moments are ignored, so that typing does not approve; closing it refuses the call.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from zot.agent.modes.interactive.dialogs.call_text import Existing, call_hides, call_rows, nothing_there
from zot.agent.modes.interactive.dialogs.dialog import CONFIRM, Dialog, Dialogs
from zot.agent.modes.interactive.dialogs.evidence import Evidence
from zot.core.confirm import Answer, ConfirmGate, Question
from zot.system.spelled import spelled
from zot.tui.decide import decision_rows
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets.text_field import TextField
from zot.tui.width import cells, cut

if TYPE_CHECKING:
    from zot.agent.modes.interactive.screen.desk import Desk
    from zot.tui.markdown import Painter

DEAF_S = 0.15
_TWICE_S = 1.0
_ROOMY = 8
_LONG = 4000  # characters; a command nobody reads in passing is not searched
_DECISIONS: tuple[Literal["once", "tool", "all", "deny"], ...] = ("once", "tool", "all", "deny")

_DANGER = re.compile(
    r"\brm\s+(-\S*\s+)*-\S*[rf]|\bsudo\b|\bdd\s|\bmkfs|\bgit\s+(push\s.*(-f\b|--force)|reset\s+--hard|clean\s+-\S*f)"
    r"|\b(curl|wget)\b.*\|\s*(ba|z|da)?sh\b|\bch(mod|own)\s+-R|>\s*/dev/(sd|nvme)|\b(shutdown|reboot|killall|pkill)\b"
    r"|\b(DROP|TRUNCATE)\s+(TABLE|DATABASE)\b|:\(\)\s*\{",
    re.IGNORECASE,
)


class ConfirmDialog(Dialog[Answer]):
    """``waiting`` is how many more questions there are behind this one."""

    rank = CONFIRM
    unasked = True
    takes_text = False
    answers = frozenset("1234r")

    def __init__(
        self, tool: str, args: Any, painter: Painter, confirmations: Confirmations, *, origin: str = ""
    ) -> None:
        super().__init__()
        self._tool = spelled(tool)
        self._origin = origin
        self._painter = painter
        self._confirmations = confirmations
        hidden = call_hides(tool, args)
        self._evidence = Evidence(lambda theme, width: self._all_of_it(tool, args, theme, width), hidden=hidden)
        self._shown_at = 0.0
        self._reason: TextField | None = None
        self._choices = (
            "yes, this once",
            f"yes, and always {self._tool} in this session",
            "yes, and everything in this session",
            "no",
        )
        self._selected = 3 if hidden or is_dangerous(args) else 0

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        self._shown_at = self._shown_at or time.monotonic()
        more = self._confirmations.waiting
        self.title = f"run {self._tool}?" + (f" ({more} more waiting)" if more else "")
        self.hint = self._hint_text()
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        answers = self._answers(theme, width, height)
        if self._reason is not None:
            line, column = self._reason.line(theme, max(width - 12, 1))
            answers = [f"  {theme.paint('prompt', 'because ›')} {line}"]
            self.cursor = (0, column + 12)
        body = self._evidence.rows(theme, width, max(height - len(answers), 2))
        if self._reason is not None:
            self.cursor = (len(body), (self.cursor or (0, 0))[1])
        self.hint = self._hint_text()
        return [*body, *answers]

    def _all_of_it(self, tool: str, args: Any, theme: Theme, width: int) -> list[str]:
        rows: list[str] = []
        if cells(self._tool) > width - 20:  # the title has no room for it
            rows += decision_rows(f"tool: {tool}", "fg", theme, width)
        if self._origin:
            rows += decision_rows(f"the extension {self._origin} asks for it", "muted", theme, width)
        return rows + call_rows(tool, args, self._painter, width, self._confirmations.existing)

    def _answers(self, theme: Theme, width: int, height: int) -> list[str]:
        """One row each; all on one row where there is hardly any room."""
        if height >= _ROOMY:
            return [self._row(theme, number, width) for number in range(4)]
        words = ("once", "this tool", "all", "no")
        marks = [f"[{i + 1} {word}]" if i == self._selected else f" {i + 1} {word} " for i, word in enumerate(words)]
        return [theme.paint("fg", cut(f"  {''.join(marks)}", width))]

    def _row(self, theme: Theme, number: int, width: int) -> str:
        text = f"  {number + 1}  {self._choices[number]}"
        return theme.selected(text, width) if number == self._selected else theme.paint("fg", cut(text, width))

    def _hint_text(self) -> str:
        if self._reason is not None:
            return "enter refuses and tells the model why · esc goes back"
        return "1–4 or enter answers · r refuses with a reason · esc refuses"

    # --- keys

    def key(self, key: Key) -> bool:
        if time.monotonic() - self._shown_at < DEAF_S or not self._shown_at:
            return True
        if self._reason is not None:
            return self._reason_key(key)
        if key.name in ("esc", "ctrl+c"):
            self._confirmations.escaped()
            self.finish(Answer("deny"))
        elif key.name in ("up", "down"):
            self._selected = min(max(self._selected + (1 if key.name == "down" else -1), 0), 3)
        elif key.name in ("1", "2", "3", "4"):
            self._answer(int(key.name) - 1)
        elif key.name == "enter":
            self._answer(self._selected)
        elif key.name in ("r", "tab"):
            self._reason = TextField()
            self.chosen = True
        else:
            self._evidence.key(key)
        return True

    def _answer(self, number: int) -> None:
        self.finish(Answer(_DECISIONS[number]))

    def _reason_key(self, key: Key) -> bool:
        assert self._reason is not None
        if key.name in ("esc", "ctrl+c"):
            self._reason, self.cursor = None, None
        elif key.name == "enter":
            text = self._reason.text.strip()
            self.finish(Answer("deny", f"the user refused this tool call: {text}" if text else ""))
        else:
            self._reason.key(key)
        return True


class Confirmations:
    """Implements ``core.confirm.Confirmer``: ask, one after the other.

    ``gate`` is the gate of ``--no-yolo``, None when nothing is asked; ``cancel`` ends the turn."""

    def __init__(self, desk: Desk, dialogs: Dialogs, gate: ConfirmGate | None, cancel: Callable[[], None]) -> None:
        self._desk = desk
        self._dialogs = dialogs
        self._gate = gate
        self._cancel = cancel
        if self._gate is not None:
            self._gate.confirmer = self
        self.existing: Existing = nothing_there  # what a file holds that a call would replace
        self._turn = asyncio.Lock()
        self._asked = 0
        self._open: ConfirmDialog | None = None
        self._escaped_at = 0.0

    @property
    def active(self) -> bool:
        """Whether tool calls are asked about (``--no-yolo``, until ``/yolo``)."""
        return self._gate is not None and not self._gate.open

    @property
    def waiting(self) -> int:
        """Questions behind the one that is shown."""
        return max(self._asked - 1, 0)

    async def __call__(self, question: Question) -> Answer:
        self._asked += 1
        try:
            async with self._turn:
                return await self._ask(question)
        finally:
            self._asked -= 1

    async def _ask(self, question: Question) -> Answer:
        call = question.call
        if self._gate is not None and not self._gate.asks(call):  # answered for all while this one waited
            return Answer("once")
        self._open = ConfirmDialog(call.name, call.args, self._desk.painter, self, origin=question.origin)
        try:
            return await self._dialogs.ask(self._open) or Answer("deny")
        finally:
            self._open = None

    def allow_all(self) -> bool:
        """``/yolo``: ask no more, and let run what is being asked about; False when nothing was asked anyway."""
        if self._gate is None:
            return False
        self._gate.allow_all()
        if self._open is not None:
            self._open.finish(Answer("all"))
        return True

    def escaped(self) -> None:
        """esc refuses one call; twice in a row it ends the turn."""
        now = time.monotonic()
        if now - self._escaped_at < _TWICE_S:
            self._cancel()
        self._escaped_at = now


def is_dangerous(args: Any) -> bool:
    """Whether a call looks like one that is hard to undo; it only decides which answer is selected."""
    command = args.get("command") if isinstance(args, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # anybody's JSON
    if not isinstance(command, str):
        return False
    return len(command) > _LONG or _DANGER.search(command) is not None
