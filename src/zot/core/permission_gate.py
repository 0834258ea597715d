"""The confirm gate: calls the mode does not allow need approval; without a user they are denied.
Only an approval adds a rule, and a failing confirmer denies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, cast

import msgspec

from zot.core.permission_modes import (
    IN_SESSION,
    MODES,
    PLANNING,
    SAVED_ANSWER,
    CallClass,
    Mode,
    Rule,
    Source,
    Step,
    decide,
    is_covered,
    is_wider,
    named_answers,
    parse_mode,
)
from zot.errors import UsageError
from zot.provider.messages import ToolCallBlock

PREVIEW_LIMIT = 120
NO_USER_TO_ASK = "denied: this tool call requires approval (--permission-mode), and no user is present"
SAID_NO = "the user refused this tool call"
YOU = "you"

_MOST_DECIDERS = 256  # calls
_PREVIEW_KEYS = ("command", "path", "file_path", "url", "query", "name")


class ApprovalAnswer(msgspec.Struct, frozen=True):
    """Allow ``once``, the command ``prefix``, the ``tool`` or ``all`` from now on, or ``deny``.
    ``args`` replace the call's; the new call needs approval again. ``by`` names who answered; empty for the user."""

    decision: Literal["once", "prefix", "tool", "all", "deny"]
    reason: str = ""
    args: dict[str, Any] | None = None
    by: str = ""


Answer = ApprovalAnswer


class ApprovalQuestion(msgspec.Struct, frozen=True):
    """Asks whether a call may run. ``origin`` is the requesting extension; ``prefix`` the commands that answer would
    allow, ``prefixes`` those of several joined ones. Without ``or_all`` the answer ``all`` means ``tool``. With
    ``reason`` a hook or a rule requires the question, and every yes applies to this call only."""

    call: ToolCallBlock
    preview: str
    origin: str = ""
    prefix: tuple[str, ...] = ()
    or_all: bool = True
    reason: str = ""
    prefixes: tuple[tuple[str, ...], ...] = ()


class GateVerdict(msgspec.Struct, frozen=True):
    """The decision about a call, and its source; ``by`` names the mode or the saved answer that decided."""

    step: Step
    source: Source
    reason: str = ""
    by: str = ""


Confirmer = Callable[[ApprovalQuestion], Awaitable[Answer]]
StandIn = Callable[[ApprovalQuestion], Awaitable[Answer | None]]


def _unknown(call: ToolCallBlock) -> CallClass:
    return CallClass()


class PermissionGate:
    """Without ``confirmer`` questions are denied. ``nature`` classifies calls and ``kept`` returns saved rules.
    Failures of both are strict. ``asks_each`` also asks about reading and ignores saved rules. No answer exceeds
    ``limit``. ``stand_in`` may answer before the user."""

    def __init__(
        self,
        confirmer: Confirmer | None = None,
        *,
        mode: Mode = "ask",
        limit: Mode = "everything",
        nature: Callable[[ToolCallBlock], CallClass] = _unknown,
        kept: Callable[[], Sequence[Rule]] = tuple,
        asks_each: bool = False,
        mode_chosen: bool = True,
    ) -> None:
        self.confirmer = confirmer
        self.limit: Mode = limit
        self.mode_chosen = mode_chosen  # False: the mode is a default of the settings
        self.on_mode: Callable[[], None] | None = None  # the mode changed
        self._mode: Mode = limit if is_wider(mode, limit) else mode
        self.nature = nature
        self.kept = kept
        self.asks_each = asks_each
        self.on_answer: Callable[[ApprovalQuestion, Answer], None] | None = None  # set by a recorder
        self.stand_in: StandIn | None = None
        self._rules: set[Rule] = set()
        self._deciders: dict[str, str] = {}

    @property
    def mode(self) -> Mode:
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        changed, self._mode = mode != self._mode, mode
        if changed and self.on_mode is not None:
            self.on_mode()

    def choose_mode(self, mode: Mode) -> None:
        """The user switches to a mode."""
        changed, self.mode_chosen = not self.mode_chosen, True
        if mode != self._mode:
            self.mode = mode
        elif changed and self.on_mode is not None:
            self.on_mode()

    @property
    def allows_everything(self) -> bool:
        """True if every tool runs without a question."""
        return self._mode == "everything"

    def evaluate(self, call: ToolCallBlock) -> GateVerdict:
        if self.allows_everything:
            return GateVerdict("run", "yolo", by="mode everything")
        nature = self._nature_of(call)
        wanted = decide(self.mode, nature.kind)
        if wanted == "refuse":
            return GateVerdict("refuse", "policy", PLANNING, "mode plan")
        if wanted == "run" and not self.asks_each:
            return GateVerdict("run", "policy", by=f"mode {self.mode}")
        if (remembered := self._remembered(call.name, nature)) is not None:
            return GateVerdict("run", "remembered", by=remembered)
        may_ask = self.confirmer is not None or self.stand_in is not None
        by = f"mode {self.mode}"
        return GateVerdict("ask", "user", by=by) if may_ask else GateVerdict("refuse", "policy", NO_USER_TO_ASK, by)

    def _nature_of(self, call: ToolCallBlock) -> CallClass:
        try:
            return self.nature(call)
        except Exception:  # unclassified
            return CallClass()

    def _remembered(self, tool: str, nature: CallClass) -> str | None:
        """How to name the answers that cover the call; None if it is not covered."""
        if is_covered(self._rules, tool, nature):
            return named_answers(self._rules, tool, nature, IN_SESSION)
        if self.asks_each:
            return None
        try:
            known = (*self._rules, *self.kept())
            return named_answers(known, tool, nature, SAVED_ANSWER) if is_covered(known, tool, nature) else None
        except Exception:  # unreadable rules allow nothing
            return None

    async def authorize(self, call: ToolCallBlock, origin: str = "") -> ToolCallBlock | str | None:
        judged = self.evaluate(call)
        self._deciders.pop(call.id, None)
        if judged.step != "ask":
            self._decide(call, judged.by)
            return None if judged.step == "run" else judged.reason
        nature = self._nature_of(call)
        try:
            question = ApprovalQuestion(
                call, preview(call.value), origin, nature.prefix, self._may_open, prefixes=nature.prefixes
            )
            answer = await self.stand_in(question) if self.stand_in is not None else None
            if answer is None:
                answer = (
                    await self.confirmer(question) if self.confirmer is not None else Answer("deny", NO_USER_TO_ASK)
                )
            self._decide(call, answer.by or (judged.by if answer.reason == NO_USER_TO_ASK else YOU))
            if self.on_answer is not None:
                self.on_answer(question, answer)
        except Exception as error:
            self._decide(call, judged.by)
            return f"denied: asking for confirmation failed: {error or type(error).__name__}"
        if decide(self.mode, nature.kind) == "refuse":  # the mode changed while the user was asked
            self._decide(call, "mode plan")
            return PLANNING
        refusal = self._heed(call.name, nature, answer)
        return refusal if refusal is not None or answer.args is None else call.with_args(answer.args)

    def _decide(self, call: ToolCallBlock, by: str) -> None:
        while len(self._deciders) >= _MOST_DECIDERS:
            self._deciders.pop(next(iter(self._deciders)))
        self._deciders[call.id] = by

    def decided_by(self, call: ToolCallBlock) -> str:
        """Who decided about this call in ``authorize``; each decision can be read once."""
        return self._deciders.pop(call.id, "")

    def _heed(self, tool: str, nature: CallClass, answer: Answer) -> str | None:
        match answer.decision:
            case "deny":
                return answer.reason.strip() or SAID_NO
            case "prefix":
                for prefix in nature.prefixes or filter(None, [nature.prefix]):
                    self._rules.add(Rule(tool, nature.extension, prefix))
            case "tool":
                self._rules.add(Rule(tool, nature.extension))
            case "all" if self._may_open:
                self.mode = "everything"
            case "all":
                self._rules.add(Rule(tool, nature.extension))
            case "once":
                pass
        return None

    @property
    def _may_open(self) -> bool:
        """True if the answer ``all`` is possible: not if other calls are denied without a question."""
        return self.limit == "everything" and self.mode != "plan"

    def reset(self) -> None:
        self.mode = "ask" if self.allows_everything else self.mode
        self._rules.clear()


def preview(args: Any, limit: int = PREVIEW_LIMIT) -> str:
    """One line about a call; control characters are escaped, omitted characters counted."""
    from zot.system.visible_text import spelled_start  # only needed for questions

    return spelled_start(_summary(_parsed(args)).strip(" \n").replace("\r\n", "\n"), limit)


def _parsed(args: Any) -> Any:
    if not isinstance(args, str):
        return args
    try:
        return msgspec.json.decode(args)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return args


def _summary(args: Any) -> str:
    if isinstance(args, str):
        return args
    if isinstance(args, dict):
        fields = cast("dict[str, Any]", args)
        for key in _PREVIEW_KEYS:
            value = fields.get(key)
            if isinstance(value, str) and value.strip():
                return value
    try:
        return msgspec.json.encode(args).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(cast("object", args))


def switch_mode(gate: PermissionGate | None, mode: str) -> None:
    """UsageError for an unknown mode, or one wider than the limit of this run."""
    wanted = parse_mode(mode)
    if wanted is None:
        raise UsageError(f'unknown permission mode "{mode}": expected one of {", ".join(MODES)}')
    if gate is None or is_wider(wanted, gate.limit):
        limit = "everything" if gate is None else gate.limit
        raise UsageError(f"cannot switch to mode {wanted}: this run allows at most {limit} (--permission-limit)")
    gate.choose_mode(wanted)
