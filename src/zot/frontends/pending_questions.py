"""Questions that a client answers later, by request id: approvals, outside access, questions of models, plans, MCP.
A client is asked only what it announced; when it disconnects, every open question is denied, unless the conversation
has other front ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.core.permission_gate import Answer, PermissionGate, preview
from zot.core.permission_modes import Mode, is_wider, parse_mode
from zot.errors import UsageError
from zot.features.questions import Question, QuestionQueue
from zot.frontends.console import print_notice
from zot.system.visible_text import escape_invisible
from zot.wire import rpc_frames as wire

if TYPE_CHECKING:
    from zot.features.ask_user.questions import UserQuestions
    from zot.features.extensions.dialogs import ExtensionDialog
    from zot.features.jail.outside_access import OutsideRequest
    from zot.features.mcp.elicitation import Elicitation
    from zot.features.plan.plan_question import PlanQuestion
    from zot.features.questions import Approval

GONE = "denied: the client disconnected before answering"

# Kinds of questions per capability of ``hello``.
_CAPABILITIES = {
    "approvals": ("approval", "outside"),
    "dialogs": ("dialog",),
    "elicitation": ("elicitation",),
    "questions": ("questions",),
    "plans": ("plan",),
}


class PendingQuestions:
    """The presenter of a front end that sends questions to a client. ``outside``: also outside access. ``widest``:
    the permission mode that the client may choose at most. ``is_guest``: another front end built the conversation, and
    shows the questions too."""

    def __init__(
        self,
        queue: QuestionQueue,
        send: Callable[[wire.Asked], None],
        *,
        outside: bool,
        widest: Mode = "everything",
        is_guest: bool = False,
    ) -> None:
        self._queue = queue
        self._send = send
        self._outside = outside
        self._widest: Mode = widest
        self._pending: dict[str, tuple[Question[Any], asyncio.Future[Any]]] = {}
        self._counts: Counter[str] = Counter()
        self._closed = False
        self._is_guest = is_guest
        self._leave: Callable[[], None] = lambda: None
        self._sends_hash = False
        self.on_close: list[Callable[[], None]] = []  # other requests to the client

    def announce(self, capabilities: Collection[str]) -> None:
        """The capabilities of the client."""
        self._sends_hash = "call_hash" in capabilities
        kinds = {kind for name in capabilities for kind in _CAPABILITIES.get(name, ())}
        kinds -= set() if self._outside else {"outside"}
        kinds -= {"plan"} if self._widest == "plan" else set()
        if self._is_guest:
            self._leave()
            self._leave = self._queue.add_presenter(self._present, kinds, one_at_a_time=False)
        else:
            self._queue.present(self._present, kinds, one_at_a_time=False)

    def approve(self, command: wire.Approve) -> None:
        """UsageError if that question is not open, or the decision is invalid."""
        question, future = self._find(command.request_id, "approval")
        if command.call_hash and command.call_hash != with_call_hash(_FRAMES[question.kind][1]("", question)).call_hash:
            raise UsageError("call_hash is of another call; this request stays open")
        if question.kind == "outside":
            if command.decision in ("prefix", "tool", "all"):
                future.set_result("deny")  # a client without this capability cannot answer it
                raise UsageError(
                    f'invalid decision "{command.decision}" about outside access: expected once, session, never or deny'
                )
            future.set_result(command.decision)
        elif command.decision in ("session", "never"):
            raise UsageError(f'invalid decision "{command.decision}": only for requests with "outside"')
        else:
            future.set_result(Answer(command.decision, command.reason))

    def answer_elicitation(self, command: wire.AnswerElicitation) -> None:
        """UsageError if that question is not open, or the answer does not fit it."""
        question, future = self._find(command.request_id, "elicitation")
        answer: dict[str, Any] = {"action": command.action}
        if command.action == "accept" and not question.url:
            from zot.features.mcp.elicitation import validate_answer

            try:
                answer["content"] = validate_answer(question, command.content)
            except ValueError as error:
                raise UsageError(str(error)) from error
        future.set_result(answer)

    def answer_questions(self, command: wire.AnswerQuestions) -> None:
        """UsageError if they are not open, or the answers do not fit; they then stay open."""
        from zot.features.ask_user.questions import QuestionAnswers, check_answers

        asked, future = self._find(command.request_id, "question")
        if command.declined:
            future.set_result(QuestionAnswers(declined=True, comment=command.comment))
            return
        try:
            future.set_result(QuestionAnswers(check_answers(asked.questions, command.answers)))
        except ValueError as error:
            raise UsageError(str(error)) from error

    def answer_plan(self, command: wire.AnswerPlan) -> None:
        """UsageError if it is not open, or for a mode that was not offered; it then stays open."""
        from zot.features.plan.plan_question import PlanAnswer

        question, future = self._find(command.request_id, "plan")
        if command.decision == "refuse":
            future.set_result(PlanAnswer("refuse", comment=command.comment))
            return
        mode = parse_mode(command.mode or question.mode)
        if mode is None or mode not in question.modes:
            raise UsageError(f'invalid mode "{command.mode}": expected one of {", ".join(question.modes)}')
        future.set_result(PlanAnswer("approve", mode, command.fresh, command.plan or None))

    def answer_dialog(self, command: wire.AnswerDialog) -> None:
        """UsageError if that dialog is not open, or the value does not fit it; it then stays open."""
        from zot.features.extensions.dialogs import DialogAnswer, answer_problem

        try:
            question, future = self._find(command.request_id, "dialog")
        except UsageError as error:
            raise UsageError(f"not_found: {error}") from None
        if command.cancelled:
            future.set_result(DialogAnswer(cancelled=True))
        elif wrong := answer_problem(question.params, command.value):
            raise UsageError(f"bad_params: value: {wrong}")
        else:
            future.set_result(DialogAnswer(command.value))

    def close(self) -> None:
        """The client disconnected: deny open and later questions; a guest leaves them to the others."""
        self._closed = True
        for close in self.on_close:
            close()
        if self._is_guest:
            self._leave()
            return
        for question, future in self._pending.values():
            if not future.done():
                future.set_result(question.denial(GONE))

    def _find(self, request_id: str, prefix: str) -> tuple[Any, asyncio.Future[Any]]:
        question, future = self._pending.get(request_id, (None, None))
        if future is None or future.done() or not request_id.startswith(f"{prefix}-"):
            raise UsageError(f'no {prefix} request "{request_id}" is open')
        return question, future

    async def _present(self, question: Question[Any]) -> Any:
        if self._closed:
            return question.denial(GONE)
        if question.kind == "plan":
            question = self._within_limit(cast("PlanQuestion", question))
        prefix, to_frame = _FRAMES[question.kind]
        self._counts[prefix] += 1
        request_id = f"{prefix}-{self._counts[prefix]}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = (question, future)
        try:
            frame = to_frame(request_id, question)
            self._send(with_call_hash(frame) if self._sends_hash else frame)
            return await future
        finally:
            del self._pending[request_id]
            if prefix == "dialog" and not self._closed:
                self._send(wire.ExtDialogClose(request_id=request_id))
            elif (
                prefix in ("question", "plan") or (self._queue.is_shared and future.cancelled())
            ) and not self._closed:
                self._send(wire.RequestClosed(request_id=request_id))

    def _within_limit(self, question: PlanQuestion) -> PlanQuestion:
        return question.limited_to(tuple(mode for mode in question.modes if not is_wider(mode, self._widest)))


def with_call_hash(frame: Any) -> Any:
    """An ``approval_request`` with its ``call_hash``; other frames as they are."""
    if not isinstance(frame, wire.ApprovalRequest):
        return frame
    from zot.wire.call_hash import call_hash

    return msgspec.structs.replace(frame, call_hash=call_hash(frame.name, frame.args, frame.outside))


def _approval_frame(request_id: str, question: Approval) -> wire.ApprovalRequest:
    request = question.request
    return wire.ApprovalRequest(
        request_id=request_id,
        tool_id=request.call.id,
        name=request.call.name,
        args=request.call.args,
        preview=request.preview,
        prefix=" ".join(request.prefix),
        reason=request.reason,
        prefixes=tuple(map(" ".join, request.prefixes)),
    )


def _outside_frame(request_id: str, question: OutsideRequest) -> wire.ApprovalRequest:
    call, wishes = question.call, question.wishes
    return wire.ApprovalRequest(
        request_id=request_id,
        tool_id=call.id,
        name=call.name,
        args=call.args,
        preview=f"outside the jail, {escape_invisible(' and '.join(map(str, wishes)))}: {preview(call.value)}",
        outside=tuple(wire.Outside(**msgspec.structs.asdict(wish)) for wish in wishes),
    )


def _elicitation_frame(request_id: str, question: Elicitation) -> wire.ElicitationRequest:
    fields = (
        wire.ElicitationField(
            name=field.name,
            kind=field.kind,
            title=field.title,
            description=field.description,
            required=field.required,
            default=field.default,
            choices=tuple(value for value, _ in field.choices),
            labels=tuple(label for _, label in field.choices),
        )
        for field in question.fields
    )
    return wire.ElicitationRequest(
        request_id=request_id,
        server=question.server,
        message=question.message,
        url=question.url,
        fields=tuple(fields),
    )


def _dialog_frame(request_id: str, question: ExtensionDialog) -> wire.ExtDialog:
    return question.as_frame(request_id)


def _questions_frame(request_id: str, question: UserQuestions) -> wire.QuestionRequest:
    return question.as_frame(request_id)


def _plan_frame(request_id: str, question: PlanQuestion) -> wire.PlanRequest:
    return question.as_frame(request_id)


# Prefix of the request id and frame, by kind.
_FRAMES: dict[str, tuple[str, Callable[[str, Any], wire.Asked]]] = {
    "approval": ("approval", _approval_frame),
    "outside": ("approval", _outside_frame),
    "elicitation": ("elicitation", _elicitation_frame),
    "dialog": ("dialog", _dialog_frame),
    "questions": ("question", _questions_frame),
    "plan": ("plan", _plan_frame),
}


class ClientPermissions:
    """Limits a client to the permission mode zot was started with, or to the named limit."""

    def __init__(self, gate: PermissionGate | None, limit: str) -> None:
        self._gate = gate
        self.widest: Mode = "everything" if gate is None else gate.limit if limit else gate.mode
        self._mentioned = False

    def mention(self) -> None:
        """Before a prompt: report once that its calls will be denied."""
        gate = self._gate
        if gate is not None and not gate.allows_everything and gate.confirmer is None and not self._mentioned:
            self._mentioned = True
            what = "every tool call" if gate.asks_each else f"in mode {gate.mode} every call that requires approval"
            flag = "--no-yolo" if gate.asks_each else "permissions"
            print_notice(f'{flag}: {what} is denied, because the client did not announce "approvals" in hello')

    def check_widening(self, mode: str) -> None:
        """UsageError if the mode exceeds the limit."""
        wanted = parse_mode(mode)
        if wanted is not None and is_wider(wanted, self.widest):
            raise UsageError(
                f"cannot switch to mode {wanted}: this run allows at most {self.widest} (--permission-limit)"
            )
