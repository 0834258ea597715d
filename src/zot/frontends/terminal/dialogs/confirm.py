"""Asks whether a tool call may run or use an outside path; the whole call can be read first.
A confirmation is above every other dialog. It waits while the user types and ignores answers at first, so that typing
does not approve; closing it denies the call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.core.permission_modes import CYCLE, WORDS, Mode, Rule, is_wider, parse_mode
from zot.errors import ZotError, describe_error
from zot.features.questions import question_queue
from zot.frontends.terminal.dialogs.call_details import Existing, call_rows, has_invisible_text, nothing_there
from zot.frontends.terminal.dialogs.dialog import CONFIRM, READING, Dialog, Dialogs
from zot.frontends.terminal.dialogs.text_dialogs import DetailPane
from zot.frontends.terminal.screen.message_blocks import LEAVE_PLAN
from zot.system.visible_text import escape_invisible, has_invisible
from zot.tui.decision_text import decision_rows
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets import TextField
from zot.tui.width import cells, cut

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.jail.outside_access import OutsideRequest
    from zot.features.questions import Approval
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.tui.markdown import Painter

DEAF_S = 0.15
_TWICE_S = 1.0
_ROOMY = 8
_LONGEST_REASON = 300  # characters

T = TypeVar("T")


class DigitOption(NamedTuple):
    """An answer under its digit; ``kept`` ones also apply in this project in later sessions."""

    digit: str
    text: str
    short: str
    decision: Any
    kept: bool = False


class ApprovalChoice(NamedTuple):
    answer: Answer
    kept: bool = False


class DigitDialog(Dialog[T]):
    """A question about a call, with answers under digits; ``4`` is always no.
    ``who`` is the worker that asks, if any."""

    rank = CONFIRM
    unasked = True
    takes_text = False
    answers = frozenset("1234")

    def __init__(self, confirmations: ApprovalPrompts, who: str, evidence: DetailPane, selected: str) -> None:
        super().__init__()
        self._confirmations = confirmations
        self._who = escape_invisible(who)
        self._evidence = evidence
        self._selected = selected
        self._shown_at = 0.0

    @property
    def _choices(self) -> Sequence[DigitOption]:
        raise NotImplementedError

    @property
    def _is_deaf(self) -> bool:
        """True shortly after opening, so that typing does not approve."""
        return time.monotonic() - self._shown_at < DEAF_S or not self._shown_at

    @property
    def _existing(self) -> Existing:
        """The files a call would replace; a worker has its own."""
        return nothing_there if self._who else self._confirmations.existing

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        self._shown_at = self._shown_at or time.monotonic()
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        answers = self._answers(theme, width, height)
        return [*self._evidence.rows(theme, width, max(height - len(answers), 2)), *answers]

    def _answers(self, theme: Theme, width: int, height: int) -> list[str]:
        """One row each; all on one row if there is little room."""
        if height >= _ROOMY:
            return [self._row(theme, choice, width) for choice in self._choices]
        marks = [
            f"[{c.digit} {c.short}]" if c.digit == self._selected else f" {c.digit} {c.short} " for c in self._choices
        ]
        return [theme.paint("fg", cut(f"  {''.join(marks)}", width))]

    def _row(self, theme: Theme, choice: DigitOption, width: int) -> str:
        text = f"  {choice.digit}  {choice.text}"
        return theme.selected(text, width) if choice.digit == self._selected else theme.paint("fg", cut(text, width))

    def key(self, key: Key) -> bool:
        digits = [choice.digit for choice in self._choices]
        if self._is_deaf:
            pass
        elif key.name in ("esc", "ctrl+c"):
            if not self._who:
                self._confirmations.escaped()
            self._answer("4")
        elif key.name in ("up", "down"):
            place = digits.index(self._selected) + (1 if key.name == "down" else -1)
            self._selected = digits[min(max(place, 0), len(digits) - 1)]
        elif key.name in digits or key.name == "enter":
            self._answer(self._selected if key.name == "enter" else key.name)
        else:
            self._evidence.key(key)
        return True

    def _answer(self, digit: str) -> None:
        self._choose(next(choice for choice in self._choices if choice.digit == digit))

    def _choose(self, choice: DigitOption) -> None:
        raise NotImplementedError


class ConfirmDialog(DigitDialog[ApprovalChoice]):
    """Asks whether a call may run."""

    answers = frozenset("1234r")
    chosen_text = ""

    def __init__(
        self, question: ApprovalQuestion, painter: Painter, confirmations: ApprovalPrompts, *, who: str = ""
    ) -> None:
        tool, args = question.call.name, question.call.args
        hidden = has_invisible_text(tool, args)
        evidence = DetailPane(lambda theme, width: self._all_of_it(tool, args, theme, width), hidden=hidden)
        super().__init__(confirmations, who, evidence, "4" if hidden or is_dangerous(args) else "1")
        self._tool = escape_invisible(tool)
        self._origin = question.origin
        reason = question.reason
        self._required_by = reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"
        self._painter = painter
        self._reason: TextField | None = None
        prefixes = question.prefixes or tuple(filter(None, [question.prefix]))
        self._always = [] if question.reason else always_choices(self._tool, prefixes, of_worker=bool(who))
        everything = "yes, and everything this worker does" if who else "yes, and everything in this session"
        self._rest = [DigitOption("3", everything, "all", "all")] if question.or_all else []

    @property
    def _choices(self) -> list[DigitOption]:
        once = DigitOption("1", "yes, this once", "once", "once")
        return [once, *self._always[:1], *self._rest, DigitOption("4", "no", "no", "deny")]

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        more = self._confirmations.waiting
        self.title = (
            f"{self._who}: " * bool(self._who) + f"run {self._tool}?" + (f" ({more} more waiting)" if more else "")
        )
        self.hint = self._hint_text()
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = super().rows(theme, width, height)
        if self._reason is not None:
            self.cursor = (len(rows) - 1, self._column)
        self.hint = self._hint_text()
        return rows

    def _answers(self, theme: Theme, width: int, height: int) -> list[str]:
        if self._reason is None:
            return super()._answers(theme, width, height)
        line, column = self._reason.line(theme, max(width - 12, 1))
        self._column = column + 12
        return [f"  {theme.paint('prompt', 'because ›')} {line}"]

    def _all_of_it(self, tool: str, args: Any, theme: Theme, width: int) -> list[str]:
        rows: list[str] = []
        if cells(self._tool) > width - 20:  # no room in the title
            rows += decision_rows(f"tool: {tool}", "fg", theme, width)
        if self._origin:
            rows += decision_rows(_requested_by(self._origin), "muted", theme, width)
        if self._required_by:
            rows += decision_rows(f"reason: {self._required_by}", "warning", theme, width)
        if self._who:
            rows += decision_rows(f"requested by the worker {self._who}", "muted", theme, width)
        return rows + call_rows(tool, args, self._painter, width, self._existing)

    def _hint_text(self) -> str:
        if self._reason is not None:
            return "enter denies and sends the reason · esc goes back"
        turns = " · ←→ changes 2" if self._always else ""
        digits = "".join(choice.digit for choice in self._choices)
        keys = "1–4" if digits == "1234" else ", ".join(digits)
        return f"{keys} or enter answers{turns} · r denies with a reason · esc denies"

    # --- keys

    def key(self, key: Key) -> bool:
        if key.name in READING and self._reason is None:  # approves nothing, so it works from the start
            return self._evidence.key(key)
        if self._is_deaf:
            return True
        if self._reason is not None:
            assert self._reason is not None
            if key.name in ("esc", "ctrl+c"):
                self._reason, self.cursor = None, None
            elif key.name == "enter":
                text = self._reason.text.strip()
                self.finish(ApprovalChoice(Answer("deny", f"the user refused this tool call: {text}" if text else "")))
            else:
                self._reason.key(key)
            return True
        if key.name in ("left", "right") and self._always:
            turn = 1 if key.name == "right" else -1
            self._always = [*self._always[turn:], *self._always[:turn]]
            self._selected = "2"
        elif key.name in ("r", "tab"):
            self._reason = TextField()
            self.chosen = True
        elif key.name == "shift+tab" and not self._who:
            self._confirmations.switch_mode()
        else:
            return super().key(key)
        return True

    def _choose(self, choice: DigitOption) -> None:
        self.chosen_text = choice.text
        self.finish(ApprovalChoice(Answer(choice.decision), choice.kept))


def always_choices(tool: str, prefixes: Sequence[Sequence[str]], *, of_worker: bool = False) -> list[DigitOption]:
    """Meanings of the second answer, the narrowest first. A worker's grants end with it.
    All of bash is offered only behind a command prefix, never first."""
    whole = "every bash command" if tool == "bash" else tool
    covered: list[tuple[str, str, Literal["prefix", "tool"]]] = [(whole, "this tool", "tool")]
    if prefixes:
        more = " …" if tool == "bash" else ""  # a command may go on; a host may not
        covered.insert(0, (" and ".join(f"`{' '.join(prefix)}{more}`" for prefix in prefixes), "like it", "prefix"))
    elif tool == "bash":
        return []
    if of_worker:
        always = "yes, and always {} for this worker"
        return [DigitOption("2", always.format(what), short, decision) for what, short, decision in covered]
    return [
        DigitOption("2", f"yes, and always {what} in this {where}", short, decision, where == "project")
        for what, short, decision in covered
        for where in ("session", "project")
    ]


class ApprovalPrompts:
    """Shows approvals, and switches the permission mode for the user. ``cancel`` ends the turn."""

    def __init__(
        self, ui: ScreenServices, dialogs: Dialogs, conversation: Conversation, cancel: Callable[[], None]
    ) -> None:
        self._ui = ui
        self._dialogs = dialogs
        self._conversation = conversation
        self._gate = conversation.gate
        self._queue = question_queue(conversation.services)
        self._cancel = cancel
        self.existing: Existing = nothing_there  # contents of files a call would replace
        self._open: ConfirmDialog | None = None
        self._escaped_at = 0.0
        self._before_plan: Mode | None = self._default_mode() if self.mode == "plan" else None

    def _default_mode(self) -> Mode | None:
        """The mode that shift+tab goes to in a session resumed in plan mode; None without a setting."""
        values = self._conversation.settings.values
        mode = parse_mode(values.permission_mode or ("ask" if values.start_mode == "ask" else ""))
        allowed = mode is not None and self._gate is not None and not is_wider(mode, self._gate.limit)
        return mode if allowed and mode != "plan" else None

    @property
    def mode(self) -> Mode:
        return self._gate.mode if self._gate is not None else "everything"

    @property
    def waiting(self) -> int:
        """Waiting questions behind the shown one."""
        return self._queue.waiting

    async def show(self, question: Approval) -> Answer:
        """A worker's question has its name, and the answer applies only to it."""
        dialog = ConfirmDialog(question.request, self._ui.painter, self, who=question.worker)
        self._open = None if question.worker else dialog
        try:
            confirmed = await self._dialogs.ask(dialog) or ApprovalChoice(Answer("deny"))
        finally:
            self._open = None
        if confirmed.answer.decision in ("prefix", "tool"):
            self._ui.status.ok(f"{dialog.chosen_text.removeprefix('yes, and ')}; /permissions shows what runs unasked")
        if confirmed.kept:
            await self._save_rule(question.request, confirmed.answer)
        return confirmed.answer

    async def _save_rule(self, question: ApprovalQuestion, answer: Answer) -> None:
        """Save for later sessions in this project. If that fails, it applies to this session."""
        from zot.features.lookup import saved_rules  # already loaded: it asks

        kept, call = saved_rules(self._conversation), question.call
        prefixes = (question.prefixes or (question.prefix,)) if answer.decision == "prefix" else ((),)
        owner = self._conversation.extension_of(call.name)
        try:
            for prefix in prefixes:
                if kept is not None:
                    await asyncio.to_thread(kept.keep, Rule(call.name, owner, prefix))
        except (ZotError, OSError) as error:
            self._ui.status.error(f"the answer applies to this session only: {describe_error(error)}")

    def plan(self) -> None:
        """``/plan``: shift+tab then goes back to the present mode."""
        before = self.mode
        self.set_mode("plan")
        if before != "plan":
            self._before_plan = before

    def switch_mode(self) -> None:
        """shift+tab: the next allowed mode, or the one before ``/plan``. An open question stays open."""
        if self._gate is None:
            return
        before, self._before_plan = self._before_plan, None
        if self.mode == "plan" and before is not None:
            self.set_mode(before)
            return
        may = [mode for mode in CYCLE if not is_wider(mode, self._gate.limit)]
        place = may.index(self.mode) if self.mode in may else -1
        self.set_mode(may[(place + 1) % len(may)])

    def set_mode(self, mode: str) -> None:
        """Switch for the user's key or command. UsageError if this run does not allow it."""
        self._conversation.set_permission_mode(mode)
        hint = LEAVE_PLAN if self.mode == "plan" else "shift+tab switches"
        self._ui.status.ok(f"{WORDS[self.mode]} · {hint}")
        self._ui.redraw()

    def allow_all(self) -> bool:
        """``/yolo``: approve everything, including the pending question; False if nothing required approval."""
        if self.mode == "everything":
            return False
        self._conversation.set_permission_mode("everything")
        if self._open is not None:
            self._open.finish(ApprovalChoice(Answer("once")))
        return True

    def escaped(self) -> None:
        """esc denies one call; twice in a row it cancels the turn."""
        now = time.monotonic()
        if now - self._escaped_at < _TWICE_S:
            self._cancel()
        self._escaped_at = now


def is_dangerous(args: Any) -> bool:
    """True if a call looks hard to undo; it decides only which answer is selected."""
    from zot.features.permissions import command_prefix  # only for a question

    command = args.get("command") if isinstance(args, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # anybody's JSON
    return isinstance(command, str) and command_prefix.is_dangerous(command)


_CHOICES = (
    DigitOption("1", "yes, once: run it again with this access", "once", "once"),
    DigitOption("2", "yes, for this session", "session", "session"),
    DigitOption("3", "never: deny it, and do not ask again in this session", "never", "never"),
    DigitOption("4", "no", "no", "deny"),
)


class OutsideDialog(DigitDialog[str]):
    """The jail denied a call: asks about the outside path or host. *No* is selected; closing denies."""

    title = "allow access outside the jail?"
    hint = "1–4 or enter answers · esc denies"

    def __init__(self, offer: OutsideRequest, painter: Painter, confirmations: ApprovalPrompts) -> None:
        hidden = has_invisible_text(offer.call.name, offer.call.args) or any(
            has_invisible(str(wish)) for wish in offer.wishes
        )
        super().__init__(confirmations, offer.worker, DetailPane(self._all_of_it, hidden=hidden), "4")
        if self._who:
            self.title = f"{self._who}: {self.title}"
        self._offer = offer
        self._painter = painter

    @property
    def _choices(self) -> Sequence[DigitOption]:
        return _CHOICES

    def _all_of_it(self, theme: Theme, width: int) -> list[str]:
        """The first missing access, which is decided."""
        offer = self._offer
        rows = decision_rows(f"{offer.call.name} failed: it needs access outside the jail:", "fg", theme, width)
        for wish in offer.wishes:
            rows += decision_rows(str(wish), "warning", theme, width, "    ")
            if wish.access == "network":
                rows += decision_rows("all or nothing: yes allows the whole network", "muted", theme, width, "    ")
        if offer.origin:
            rows += decision_rows(_requested_by(offer.origin), "muted", theme, width)
        call = call_rows(offer.call.name, offer.call.args, self._painter, width, self._existing)
        return [*rows, *decision_rows("yes runs it again from the beginning:", "muted", theme, width), *call]

    def _choose(self, choice: DigitOption) -> None:
        self.finish(choice.decision)


def _requested_by(origin: str) -> str:
    return f"requested by the {'' if origin.startswith('template /') else 'extension '}{origin}"
