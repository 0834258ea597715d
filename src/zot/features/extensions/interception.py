"""Chain of interceptors in load order; each sees the rewrites before it, and the first block wins.
An extension that does not answer within 5 s is skipped, but a guard fails closed and is called again after a later
rewrite. Nothing can block the system prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from zot.core.interceptors import (
    CompactionPlan,
    CompactionVerdict,
    Interceptor,
    PromptVerdict,
    RunEnd,
    RunStart,
    RunVerdict,
    TextVerdict,
    ToolVerdict,
    TurnVerdict,
)
from zot.core.tool import ToolResult
from zot.errors import BadFrame, ExtensionCrashed, ExtensionError
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.features.extensions.loader.discovery import LoadProblem
from zot.features.extensions.open_questions import ANSWERING, OnProgress
from zot.provider.messages import ToolCallBlock
from zot.provider.model_call import Request
from zot.wire import limits
from zot.wire.extension_frames import EventIntercept, EventInterceptResponse, InterceptName

if TYPE_CHECKING:
    from zot.features.extensions.edition2_interception import Edition2Interception
    from zot.features.extensions.host import ExtensionHost


CALL_REFUSED = "tool call refused by extension guard"
TURN_REFUSED = "turn blocked by extension guard"

_SLOW_S = 0.5
_MOST_ROUNDS = 5
_CANNOT_ANSWER = {  # by the state of the guard's process
    "waiting": "has not been started",
    "starting": "sent no hello yet",
    "greeting": "is not ready yet",
    "stopping": "is being stopped",
    "gone": "is not running",
    "restarting": "crashed and is being restarted",
}


_NOTHING: Any = object()
_Value = TypeVar("_Value")


class Denied(Exception):
    """An extension denied; has its name and reason."""

    def __init__(self, extension: str, reason: str) -> None:
        super().__init__(reason)
        self.extension = extension
        self.reason = reason


class Handled(Exception):
    """An extension has done it itself; ``answer`` has the result."""

    def __init__(self, child: ExtensionChild, answer: EventInterceptResponse) -> None:
        super().__init__(child.name)
        self.child = child
        self.answer = answer


class AnswerLimit(NamedTuple):
    """Seconds without an answer, and in all; ``on_progress`` lets progress begin the first anew."""

    silence: float
    most: float | None = None
    on_progress: OnProgress | None = None


PROMPT_ANSWER = AnswerLimit(limits.INTERCEPT_REPLY)


class ExtensionInterceptor(Interceptor):
    """Calls intercepting extensions. ``missing_guards`` could not be loaded. ``warn`` gets an extension's name and a
    line."""

    def __init__(
        self,
        children: Iterable[ExtensionChild],
        missing_guards: Callable[[], Sequence[LoadProblem]],
        warn: Callable[[str, str], None],
        host: Callable[[], ExtensionHost],
    ) -> None:
        self._children = children
        self._missing_guards = missing_guards
        self._warn = warn
        self._host = host

    @property
    def watches_text(self) -> bool:
        return any(child.intercepting("assistant_message") for child in self._children)

    async def before_turn(self, step: int) -> TurnVerdict:
        try:
            for child in self.chain("turn_start"):
                await _verdict(child, EventIntercept(id=new_request_id(), event="turn_start", step=step))
        except Denied as blocked:
            return TurnVerdict(False, blocked.reason or TURN_REFUSED)
        return TurnVerdict()

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return await self._review(call, origin, list(self._children))

    async def before_tool_again(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        """Another extension rewrote an allowed value: ask the guards again."""
        return await self._review(call, origin, [])

    async def _review(self, call: ToolCallBlock, origin: str, asked: Sequence[ExtensionChild]) -> ToolVerdict:
        wants_approval: list[tuple[str, str]] = []

        def question(_child: ExtensionChild, args: Any) -> EventIntercept:
            return EventIntercept(
                id=new_request_id(),
                event="tool_call",
                tool_id=call.id,
                tool_name=call.name,
                tool_args=args,
                origin_extension=origin,
            )

        def rewritten(child: ExtensionChild, args: Any, answer: EventInterceptResponse) -> Any:
            if answer.ask and child.edition2:
                wants_approval.append((child.name, answer.reason))
            return _rewritten(child, args, answer)

        try:
            for lost in self._missing_guards():
                reason = f"denied: the guard in {lost.directory} cannot be loaded ({lost.reason}); {lost.fix}"
                raise Denied("", reason)
            args = await self.agreed("tool_call", call.value, asked, question, rewritten, tool=call.name)
        except Denied as blocked:
            by = f"extension {blocked.extension}" if blocked.extension else "a missing guard"
            return ToolVerdict(False, blocked.reason or CALL_REFUSED, by=by)
        except Handled as handled:
            from zot.features.extensions.edition2_interception import handled_result

            return ToolVerdict(result=handled_result(handled.child, handled.answer, call.name))
        if asked and (owner := self._host().asking_tool(call.name)):
            wants_approval.append((owner, ""))
        if wants_approval:
            changed = call if args is call.value else call.with_args(args)
            if refusal := await self._host().require_approval(changed, origin, wants_approval):
                return ToolVerdict(False, refusal, by=f"you, asked by extension {wants_approval[0][0]}")
        return ToolVerdict(args=None if args is call.value else args)

    async def before_message(self, text: str) -> TextVerdict:
        def question(_child: ExtensionChild, shown: str) -> EventIntercept:
            return EventIntercept(id=new_request_id(), event="assistant_message", text=shown)

        try:
            shown = await self.agreed("assistant_message", text, list(self._children), question, _replaced)
        except Denied as blocked:
            self._warn(blocked.extension, blocked.reason or "withheld an answer of the model")
            return TextVerdict(False, blocked.reason)
        return TextVerdict(replace_text="" if shown is text else shown)

    # --- second edition: nothing is asked or imported unless an extension intercepts the event

    async def before_run(self, start: RunStart) -> RunVerdict:
        return await self.late.before_run(start) if self.intercepted("prompt_start") else RunVerdict()

    async def after_run(self, end: RunEnd) -> None:
        if self.intercepted("prompt_end"):
            await self.late.after_run(end)

    async def before_steering(self, text: str, source: str = "") -> PromptVerdict:
        return await self.late.before_steering(text, source) if self.intercepted("input") else PromptVerdict()

    async def replace_result(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> ToolResult | None:
        changed = None
        if self.intercepted("tool_result", call.name):
            changed = await self.late.replace_result(call, result, origin)
        if self._host().renders("tool", call.name):
            changed = await self._host().renderers.draw_result(call, changed or result) or changed
        return changed

    async def review_request(self, request: Request, purpose: str, origin: str = "") -> Request:
        if not any(map(self.intercepted, ("context", "model_request", "provider_payload"))):
            return request
        return await self.late.review_request(request, purpose, origin)

    async def plan_compaction(self, plan: CompactionPlan) -> CompactionVerdict:
        return await self.late.plan_compaction(plan) if self.intercepted("compaction") else CompactionVerdict()

    def intercepted(self, event: str, tool: str = "") -> bool:
        return any(child.intercepting(event, tool) for child in self._children)

    @cached_property
    def late(self) -> Edition2Interception:
        """Interceptions of the second edition."""
        from zot.features.extensions.edition2_interception import Edition2Interception

        return Edition2Interception(self, self._host())

    # --- the chain

    async def agreed(
        self,
        event: InterceptName,
        value: _Value,
        asked: Sequence[ExtensionChild],
        question: Callable[[ExtensionChild, _Value], EventIntercept],
        rewritten: Callable[[ExtensionChild, _Value, EventInterceptResponse], _Value],
        *,
        tool: str = "",
        limit: AnswerLimit = PROMPT_ANSWER,
    ) -> _Value:
        """``value`` after all of ``asked`` and every guard saw the result, else Denied; Handled if one of ``asked`` did
        it itself and no guard denies it. Other extensions are not called twice."""
        seen: dict[ExtensionChild, _Value] = {}
        handled: Handled | None = None
        for again in range(_MOST_ROUNDS):
            for child in self.chain(event, tool):
                if (child.guard and seen.get(child, _NOTHING) is not value) or (
                    not again and handled is None and child in asked
                ):
                    answer = await _verdict(child, question(child, value), limit)
                    if answer.handled and child.edition2:
                        handled = handled or Handled(child, answer)
                    elif handled is None:
                        value = rewritten(child, value, answer)
                    seen[child] = value
            if all(seen.get(guard, _NOTHING) is value for guard in self.chain(event, tool) if guard.guard):
                if handled is not None:
                    raise handled
                return value
        raise Denied("", f"denied: guards keep changing each other's result ({event})")

    async def edit_system_prompt(self, question: EventIntercept) -> str:
        """The system prompt as extensions rewrite it in ``before_agent_start``."""
        text = question.system_prompt or ""
        for child in self._children:
            if not (child.alive and "before_agent_start" in child.intercepts):
                continue
            try:
                text = await _edited(child, msgspec.structs.replace(question, id=new_request_id(), system_prompt=text))
            except ExtensionError as error:
                reason = f"before_agent_start: {error}; the system prompt is unchanged"
                child.log.write(reason)
                self._warn(child.name, reason)
        return text

    def chain(self, event: str, tool: str = "") -> Iterator[ExtensionChild]:
        """Interceptors in load order; a guard that cannot answer denies here. An extension is not asked about what it
        is just deciding."""
        answering = ANSWERING.get()
        for child in self._children:
            if not child.intercepting(event, tool) or (answering and (child.name, event) in answering):
                continue
            if child.guard and (why := _unable(child, event)):
                if child.state not in ("stopping", "gone", "restarting"):  # its exit was reported
                    child.fault("cannot be asked", f"{why}; until then every {event} is denied")
                raise Denied(child.name, _refusal(child, why))
            yield child


def _unable(guard: ExtensionChild, event: str) -> str:
    """Why a guard cannot be asked; empty if it can."""
    if guard.state != "ready":
        return _CANNOT_ANSWER[guard.state]
    return "" if event in guard.intercepts else f"did not subscribe to {event} (nor to other events)"


async def _verdict(
    child: ExtensionChild, question: EventIntercept, limit: AnswerLimit = PROMPT_ANSWER
) -> EventInterceptResponse:
    """One child's answer; Denied if it blocks. Without an answer only a guard denies."""
    answer = await _answer(child, question, limit)
    if answer.block or (answer.handled and child.guard):
        raise Denied(child.name, answer.reason)
    if answer.reason:
        child.log.write(f"allowed, with a reason: {answer.reason[:500]}")
    return answer


async def _answer(child: ExtensionChild, question: EventIntercept, limit: AnswerLimit) -> EventInterceptResponse:
    began = time.monotonic()
    try:
        answer: EventInterceptResponse = await child.ask(
            question, limit.silence, most=limit.most, on_progress=limit.on_progress
        )
        return answer
    except ExtensionError as error:
        fault = str(error) if isinstance(error, ExtensionCrashed | BadFrame) else f"gave {error}"
        outcome = "refused" if child.guard else "allowed"
        child.fault("no answer", f"{fault} when asked about {question.event}; it was {outcome}")
        if child.guard:
            raise Denied(child.name, _refusal(child, fault)) from error
        return EventInterceptResponse()
    finally:
        child.slow_calls += time.monotonic() - began > _SLOW_S


def _refusal(guard: ExtensionChild, fault: str) -> str:
    log = f"; log: {guard.log.path}" if guard.log.path else ""
    return f"denied: the guard {guard.name} {fault}{log}"


def _rewritten(child: ExtensionChild, args: Any, answer: EventInterceptResponse) -> Any:
    """The same object if unchanged; compared as JSON, since Python equates ``1`` and ``True``."""
    modified = answer.modified_args
    if modified is None:
        return args
    if not isinstance(modified, dict):
        child.fault("bad modified_args", "sent modified_args that are not an object; they were ignored")
        return args
    return args if msgspec.json.encode(modified) == msgspec.json.encode(args) else modified  # pyright: ignore[reportUnknownVariableType]  a JSON object


def _replaced(_child: ExtensionChild, text: str, answer: EventInterceptResponse) -> str:
    return answer.replace_text if answer.replace_text and answer.replace_text != text else text


async def _edited(child: ExtensionChild, question: EventIntercept) -> str:
    answer: EventInterceptResponse = await child.ask(question, limits.INTERCEPT_REPLY)
    rewritten = answer.system_prompt
    if rewritten is msgspec.UNSET or rewritten is None:
        return question.system_prompt or ""
    if not isinstance(rewritten, str):
        raise ExtensionError("the answer's system_prompt is not a string")
    if len(msgspec.json.encode(rewritten)) > limits.MAX_SYSTEM_PROMPT:
        raise ExtensionError("the answer's system_prompt is above 1 MiB")
    return rewritten
