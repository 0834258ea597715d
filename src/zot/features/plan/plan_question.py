"""The question about a plan, the user's answer, and what the model reads about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from zot.core.permission_modes import Mode
from zot.errors import ToolError
from zot.features.questions import Question

if TYPE_CHECKING:
    from zot.wire.rpc_frames import PlanRequest

LONGEST_PLAN = 100_000  # characters
_EMPTIED = "the user emptied the plan in the editor, which refuses it"


class PlanAnswer(msgspec.Struct, frozen=True):
    """``plan`` is the text as the user edited it, None if unchanged. ``fresh`` starts a session with the plan.
    ``unavailable``: why the user could not decide; nothing is approved then."""

    decision: Literal["approve", "refuse"]
    mode: Mode = "ask"
    fresh: bool = False
    plan: str | None = None
    comment: str = ""
    unavailable: str = ""


class PlanQuestion(Question[PlanAnswer], frozen=True, kw_only=True):
    """``modes`` are those that may follow, from narrowest to widest; ``mode`` is the default; ``path`` the saved file,
    empty if it could not be saved."""

    kind: ClassVar[str] = "plan"
    call_id: str
    plan: str
    modes: tuple[Mode, ...]
    mode: Mode
    path: str = ""

    def as_frame(self, request_id: str) -> PlanRequest:
        """For clients and programs."""
        from zot.wire.rpc_frames import PlanRequest  # not in the terminal

        texts = {"plan": self.plan, "mode": self.mode, "path": self.path}
        return PlanRequest(request_id=request_id, tool_id=self.call_id, modes=self.modes, **texts)

    def limited_to(self, modes: tuple[Mode, ...]) -> PlanQuestion:
        """The question with these modes only."""
        mode = self.mode if self.mode in modes or not modes else modes[-1]
        return msgspec.structs.replace(self, modes=modes, mode=mode)

    def denial(self, reason: str = "") -> PlanAnswer:
        return PlanAnswer("refuse", unavailable=reason or "the user cannot be asked")


def parse_plan(args: dict[str, Any]) -> str:
    """ToolError for a plan that cannot be presented."""
    plan = args.get("plan")
    if not isinstance(plan, str) or not plan.strip():
        raise ToolError('present_plan: expected "plan", the whole plan as Markdown')
    if len(plan) > LONGEST_PLAN:
        raise ToolError(
            f"present_plan: the plan has {len(plan):,} characters; at most {LONGEST_PLAN:,} are allowed: shorten it, "
            "and name files instead of quoting them"
        )
    return plan.strip()


def checked(answer: PlanAnswer, question: PlanQuestion) -> PlanAnswer:
    """The answer as it counts: an emptied plan and a mode that was not offered approve nothing."""
    if answer.decision == "refuse":
        return answer
    if answer.plan is not None and not answer.plan.strip():
        return PlanAnswer("refuse", comment=_EMPTIED)
    if answer.plan is not None and len(answer.plan) > LONGEST_PLAN:
        return PlanAnswer("refuse", unavailable=f"the edited plan has more than {LONGEST_PLAN:,} characters")
    if answer.mode not in question.modes:
        return PlanAnswer("refuse", unavailable=f'the mode "{answer.mode}" is not permitted in this run')
    return answer


def refusal_text(answer: PlanAnswer) -> str:
    if answer.unavailable:
        return f"the plan was not approved: {answer.unavailable}. Plan mode stays on"
    if answer.comment == _EMPTIED:
        return f"the plan was not approved: {_EMPTIED}. Plan mode stays on; ask the user what to change"
    why = f"The user says: {answer.comment.strip()}" if answer.comment.strip() else "The user gave no reason."
    return f"the user did not approve the plan. Plan mode stays on: revise it and present it again. {why}"


def approval_text(question: PlanQuestion, answer: PlanAnswer) -> str:
    place = f" It is saved in {question.path}." if question.path else ""
    done = f"the user approved the plan; the permission mode is now {answer.mode}.{place}"
    if answer.fresh:
        return f"{done} It is carried out in a new session"
    edited = f" The user changed it; this text applies:\n\n{answer.plan}" if answer.plan is not None else ""
    return f"{done} Carry it out now.{edited}"
