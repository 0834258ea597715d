"""Questions answered by functions of a program: approvals, access outside a jail, questions of models and of MCP
servers, plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import deepcopy
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.permission_gate import Answer
from zot.core.permission_modes import parse_mode
from zot.system.jail.policy import AccessRequest
from zot.wire.python_values import (
    Decision,
    OutsideDecision,
    OutsideWord,
    PlanDecision,
    QuestionAnswers,
    to_answer_lists,
    to_approval_answer,
    to_outside_answer,
    to_plan_decision,
)

if TYPE_CHECKING:
    from zot.features.ask_user.questions import QuestionAnswers as Given
    from zot.features.ask_user.questions import UserQuestions
    from zot.features.extensions.dialogs import DialogAnswer, ExtensionDialog
    from zot.features.jail.outside_access import OutsideRequest as OutsideQuestion
    from zot.features.mcp.elicitation import Elicitation
    from zot.features.plan.plan_question import PlanAnswer, PlanQuestion
    from zot.features.questions import Approval as ApprovalRequest
    from zot.wire.rpc_frames import ExtDialog, PlanRequest, QuestionRequest


class Approval(msgspec.Struct, frozen=True):
    """May this call run? ``args`` are final; ``preview`` is one line about them.
    ``prefix``, if any, is the beginning of commands that the answer ``prefix`` allows from now on; ``prefixes`` those
    of several joined commands. ``reason``, if any,
    is why a hook or a rule requires approval; every yes then applies to this call only."""

    name: str
    args: Any
    preview: str
    prefix: str = ""
    reason: str = ""
    prefixes: tuple[str, ...] = ()


class OutsideRequest(msgspec.Struct, frozen=True):
    """May this jailed call reach outside? It failed without that, and an approval runs it again.
    ``access`` is ``read`` or ``write`` for a ``path``, and exactly that is allowed; or ``network``: all hosts,
    whatever ``host`` is. ``missing``: the path is created."""

    name: str
    args: Any
    wanted: tuple[AccessRequest, ...]
    preview: str


ElicitationAnswer = dict[str, Any] | None
OnApproval = Callable[[Approval], Awaitable[Decision] | Decision]
OnOutside = Callable[[OutsideRequest], Awaitable[OutsideDecision] | OutsideDecision]
OnDialog = Callable[["ExtDialog"], Awaitable[Any] | Any]
OnAskUser = Callable[["QuestionRequest"], Awaitable[QuestionAnswers] | QuestionAnswers]
OnPlan = Callable[["PlanRequest"], Awaitable[PlanDecision | bool] | PlanDecision | bool]
OnElicitation = Callable[["Elicitation"], Awaitable[ElicitationAnswer] | ElicitationAnswer]


class ProgramPresenter:
    """Answers questions with functions of a program; ``kinds`` are those with a function."""

    def __init__(
        self,
        approve: OnApproval | None,
        outside: OnOutside | None,
        elicit: OnElicitation | None,
        dialog: OnDialog | None = None,
        ask_user: OnAskUser | None = None,
        plan: OnPlan | None = None,
    ) -> None:
        self._approve, self._outside, self._elicit, self._dialog = approve, outside, elicit, dialog
        self._ask_user, self._plan = ask_user, plan
        given = {"approval": approve, "outside": outside, "elicitation": elicit, "dialog": dialog}
        given |= {"questions": ask_user, "plan": plan}
        self.kinds = tuple(kind for kind, function in given.items() if function is not None)

    async def __call__(self, question: Any) -> Any:
        return await getattr(self, f"_answer_{question.kind}")(question)

    async def _answer_approval(self, question: ApprovalRequest) -> Answer:
        assert self._approve is not None
        request = question.request
        call, prefix = request.call, " ".join(request.prefix)
        prefixes = tuple(map(" ".join, request.prefixes))
        approval = Approval(call.name, deepcopy(call.args), request.preview, prefix, request.reason, prefixes)
        decision = self._approve(approval)
        return to_approval_answer(await decision if isinstance(decision, Awaitable) else decision)

    async def _answer_outside(self, question: OutsideQuestion) -> OutsideWord:
        assert self._outside is not None
        call, wishes = question.call, question.wishes
        decision = self._outside(OutsideRequest(call.name, deepcopy(call.args), wishes, " and ".join(map(str, wishes))))
        return to_outside_answer(await decision if isinstance(decision, Awaitable) else decision)

    async def _answer_elicitation(self, question: Elicitation) -> dict[str, Any]:
        """None declines."""
        assert self._elicit is not None
        answer = self._elicit(question)
        content = await answer if isawaitable(answer) else answer
        return {"action": "decline"} if content is None else {"action": "accept", "content": content}

    async def _answer_dialog(self, question: ExtensionDialog) -> DialogAnswer:
        """None cancels the dialog."""
        from zot.features.extensions.dialogs import DialogAnswer

        assert self._dialog is not None
        answer = self._dialog(question.as_frame(""))
        value = await answer if isawaitable(answer) else answer
        return DialogAnswer(cancelled=True) if value is None else DialogAnswer(value)

    async def _answer_questions(self, question: UserQuestions) -> Given:
        """None declines."""
        from zot.features.ask_user.questions import QuestionAnswers, check_answers

        assert self._ask_user is not None
        given = self._ask_user(question.as_frame(""))
        answers = await given if isawaitable(given) else given
        if answers is None:
            return QuestionAnswers(declined=True)
        return QuestionAnswers(check_answers(question.questions, to_answer_lists(answers)))

    async def _answer_plan(self, question: PlanQuestion) -> PlanAnswer:
        from zot.features.plan.plan_question import PlanAnswer

        assert self._plan is not None
        given = self._plan(question.as_frame(""))
        decision = to_plan_decision(await given if isawaitable(given) else given)
        if not decision.approved:
            return PlanAnswer("refuse", comment=decision.comment)
        mode = parse_mode(decision.mode) if decision.mode else question.mode
        if mode is None:
            raise ValueError(f'unknown permission mode "{decision.mode}"')
        return PlanAnswer("approve", mode, decision.fresh, decision.plan or None)
