"""Interceptors deny or rewrite tool calls, deny turns and prompts, and change what the user sees.
Each sees the rewrite of the previous one, and the first denial wins; an interceptor that allowed other arguments is
called again (``before_tool_again``). One that raises in a method that can deny has denied."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from zot.core.tool import ToolResult
from zot.errors import RequestDenied, ZotError
from zot.provider.messages import Message, TextBlock, ToolCallBlock

if TYPE_CHECKING:
    from zot.core.permission_gate import GateVerdict
    from zot.core.permission_modes import Mode
    from zot.provider.model_call import Request

TURN_REFUSED = "turn refused by an extension"
CALL_REFUSED = "tool call refused by an extension"
NO_AGREEMENT = "denied: interceptors keep rewriting each other's arguments of this call"

_MOST_ROUNDS = 5


class InterceptorFailed(ZotError):
    """An interceptor failed; the text names it and is sent unchanged to the model and the user."""


class TurnVerdict(msgspec.Struct, frozen=True):
    allowed: bool = True
    reason: str = ""


class ToolVerdict(msgspec.Struct, frozen=True):
    """``args`` replace the call's; None keeps them. ``result``: the interceptor has done the call itself. ``by`` names
    who denied it: a rule, a hook, an extension."""

    allowed: bool = True
    reason: str = ""
    args: dict[str, Any] | None = None
    result: ToolResult | None = None
    by: str = ""


class TextVerdict(msgspec.Struct, frozen=True):
    """Not ``allowed`` suppresses the message; a non-empty ``replace_text`` is shown instead."""

    allowed: bool = True
    reason: str = ""
    replace_text: str = ""


class PromptVerdict(msgspec.Struct, frozen=True):
    """``context`` is for the model, before the user's text; ``text`` of ``extension`` replaces the user's."""

    allowed: bool = True
    reason: str = ""
    context: str = ""
    text: str | None = None
    extension: str = ""


class RunStart(msgspec.Struct, frozen=True):
    """A prompt is about to begin its first step. ``source`` is empty for the user, else ``extension``."""

    prompt_id: str
    text: str
    image_count: int
    source: str
    extension: str = ""


class RunVerdict(msgspec.Struct, frozen=True):
    """Changes for all steps of one prompt: ``system`` replaces the system prompt, ``system_append`` is added to it,
    ``messages`` come before the prompt."""

    allowed: bool = True
    reason: str = ""
    system: str | None = None
    system_append: str = ""
    messages: tuple[Message, ...] = ()

    def edit_system(self, text: str) -> str:
        """The system prompt of this prompt's steps."""
        return "\n\n".join(filter(None, (text if self.system is None else self.system, self.system_append)))


class RunEnd(msgspec.Struct, frozen=True):
    """A prompt has ended; ``text`` is the last answer."""

    prompt_id: str
    status: str
    text: str


class CompactionPlan(msgspec.Struct, frozen=True):
    """``trigger`` is manual, threshold or overflow."""

    id: str
    trigger: str
    focus: str
    keep_tail: int
    messages: tuple[Message, ...]


class CompactionVerdict(msgspec.Struct, frozen=True):
    """``summary`` replaces the model's; ``instructions`` are added to the request for one."""

    allowed: bool = True
    reason: str = ""
    summary: str = ""
    keep_tail: int | None = None
    instructions: str = ""


class Interceptor:
    """Base class: each method allows everything, adds nothing and changes nothing."""

    label = ""
    """How decisions name it, if its verdicts do not."""

    @property
    def watches_text(self) -> bool:
        """If true, assistant text is withheld until ``before_message`` has answered."""
        return False

    async def before_turn(self, step: int) -> TurnVerdict:
        return TurnVerdict()

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        """``origin`` names the extension that requested the call; empty for the model."""
        return ToolVerdict()

    async def before_tool_again(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        """The same call with arguments that another interceptor rewrote."""
        return await self.before_tool(call, origin)

    async def after_tool(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> str:
        """Text to add to the result."""
        return ""

    async def replace_result(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> ToolResult | None:
        """Another result, asked right after ``after_tool``; None keeps it."""
        return None

    async def before_message(self, text: str) -> TextVerdict:
        return TextVerdict()

    async def before_stop(self, text: str) -> str:
        """A task for the model before it stops; empty lets it stop. ``text`` is its last answer."""
        return ""

    async def before_steering(self, text: str, source: str = "") -> PromptVerdict:
        """May deny text that the user adds to the running prompt, change it or add context to it. ``source`` is the
        extension that sent it, empty for the user."""
        return PromptVerdict()

    async def before_compaction(self) -> str:
        """Why an automatic compaction is denied; empty allows it."""
        return ""

    async def before_run(self, start: RunStart) -> RunVerdict:
        """Before the first step of a prompt."""
        return RunVerdict()

    async def after_run(self, end: RunEnd) -> None:
        """After the last step of a prompt that was neither aborted nor denied. May queue another prompt."""

    async def review_request(self, request: Request, purpose: str, origin: str = "") -> Request:
        """A model call as it is to be made; RequestDenied ends the step. ``purpose`` is step, compaction or
        extension."""
        return request

    async def plan_compaction(self, plan: CompactionPlan) -> CompactionVerdict:
        """Before a summary is requested, also for ``/compact``."""
        return CompactionVerdict()

    def for_child(self) -> Interceptor:
        """The interceptor of a side conversation."""
        return self


OnFailure = Callable[[Interceptor, Exception], None]


class Gate(Protocol):
    """Called after the interceptors, with the final call."""

    @property
    def mode(self) -> Mode: ...

    def evaluate(self, call: ToolCallBlock) -> GateVerdict:
        """The decision about a call: run, ask or refuse."""
        ...

    async def authorize(self, call: ToolCallBlock, origin: str = "") -> ToolCallBlock | str | None:
        """Why it is denied, or None; another call if the user's answer replaced it."""
        ...

    def decided_by(self, call: ToolCallBlock) -> str:
        """Who decided in ``authorize``; empty if unknown."""
        ...


# --- dispatch

_Verdict = TypeVar("_Verdict", TurnVerdict, ToolVerdict, TextVerdict, PromptVerdict, RunVerdict, CompactionVerdict)


class HandledCall(msgspec.Struct, frozen=True):
    """An interceptor has done the call itself."""

    call: ToolCallBlock
    result: ToolResult


def _ignore(interceptor: Interceptor, error: Exception) -> None:
    pass


async def turn_refusal(interceptors: Sequence[Interceptor], step: int, on_failure: OnFailure = _ignore) -> str | None:
    """Why this turn is denied, or None."""
    for interceptor in interceptors:
        verdict = await _verdict(interceptor, interceptor.before_turn(step), TurnVerdict, on_failure)
        if not verdict.allowed:
            return verdict.reason or TURN_REFUSED
    return None


class Refusal(str):
    """Why a call is denied; ``by`` names who denied it, if known."""

    by: str = ""


def refusal(reason: str, by: str) -> Refusal:
    text = Refusal(reason)
    text.by = by
    return text


async def review_call(
    interceptors: Sequence[Interceptor], call: ToolCallBlock, origin: str = "", on_failure: OnFailure = _ignore
) -> ToolCallBlock | HandledCall | str:
    """The final call, perhaps with other arguments, its result if it is done, or the reason why it is denied."""
    chain = tuple(interceptors)
    left: dict[int, ToolCallBlock] = {}  # by position: the call as that interceptor allowed or rewrote it
    handled: ToolResult | None = None  # by the first that does; the others may still deny the call
    for again in range(_MOST_ROUNDS):
        for place, interceptor in enumerate(chain):
            if left.get(place) is call:
                continue
            question = interceptor.before_tool_again if again else interceptor.before_tool
            verdict = await _verdict(interceptor, question(call, origin), ToolVerdict, on_failure)
            if not verdict.allowed:
                return refusal(verdict.reason or CALL_REFUSED, verdict.by or interceptor.label)
            handled = handled or verdict.result
            if verdict.args is not None and handled is None:
                try:
                    call = apply_rewrite(call, verdict.args)
                except (TypeError, ValueError) as error:
                    return f"denied: an interceptor rewrote the arguments to invalid JSON: {error}"
            left[place] = call
        if all(allowed is call for allowed in left.values()):
            return call if handled is None else HandledCall(call, handled)
    return NO_AGREEMENT


def apply_rewrite(call: ToolCallBlock, args: dict[str, Any]) -> ToolCallBlock:
    """The same object if unchanged; compared as JSON, because in Python ``1 == True``."""
    changed = call.with_args(args)
    return call if msgspec.json.encode(call.value).decode() == changed.arguments else changed


async def review_result(
    interceptors: Sequence[Interceptor],
    call: ToolCallBlock,
    result: ToolResult,
    origin: str = "",
    on_failure: OnFailure = _ignore,
) -> ToolResult:
    """The result with the texts that interceptors add, or put in the place of its content."""
    added: list[str] = []
    for interceptor in interceptors:
        try:
            added.append(await interceptor.after_tool(call, result, origin))
            if (replaced := await interceptor.replace_result(call, result, origin)) is not None:
                result = replaced
        except Exception as error:
            on_failure(interceptor, error)
            added.append(f"[an interceptor failed: {_cause(error)}]")
    text = "\n\n".join(filter(None, added))
    return msgspec.structs.replace(result, content=(*result.content, TextBlock(f"\n{text}"))) if text else result


async def continuation_request(interceptors: Sequence[Interceptor], text: str, on_failure: OnFailure = _ignore) -> str:
    """A task for the model before it stops; empty lets it stop. ``text`` is its last answer."""
    for interceptor in interceptors:
        try:
            if reason := await interceptor.before_stop(text):
                return reason
        except Exception as error:  # a failing interceptor requests nothing
            on_failure(interceptor, error)
    return ""


async def review_steering(
    interceptors: Sequence[Interceptor], text: str, on_failure: OnFailure = _ignore, source: str = ""
) -> PromptVerdict:
    """Whether the user may add this to the running prompt, and the context before it."""
    contexts: list[str] = []
    replaced, extension = None, ""
    for interceptor in interceptors:
        verdict = await _verdict(interceptor, interceptor.before_steering(text, source), PromptVerdict, on_failure)
        if not verdict.allowed:
            return verdict
        if verdict.text is not None:
            text = replaced = verdict.text
            extension = verdict.extension
        contexts.append(verdict.context)
    return PromptVerdict(context="\n\n".join(filter(None, contexts)), text=replaced, extension=extension)


async def review_run(
    interceptors: Sequence[Interceptor], start: RunStart, on_failure: OnFailure = _ignore
) -> RunVerdict:
    """The changes of all interceptors for one prompt, or the first denial."""
    joined = RunVerdict()
    for interceptor in interceptors:
        verdict = await _verdict(interceptor, interceptor.before_run(start), RunVerdict, on_failure)
        if not verdict.allowed:
            return verdict
        joined = RunVerdict(
            system=joined.system if verdict.system is None else verdict.system,
            system_append="\n\n".join(filter(None, (joined.system_append, verdict.system_append))),
            messages=(*joined.messages, *verdict.messages),
        )
    return joined


async def run_ended(interceptors: Sequence[Interceptor], end: RunEnd, on_failure: OnFailure = _ignore) -> None:
    for interceptor in interceptors:
        try:
            await interceptor.after_run(end)
        except Exception as error:
            on_failure(interceptor, error)


async def review_request(
    interceptors: Sequence[Interceptor],
    request: Request,
    purpose: str,
    origin: str = "",
    on_failure: OnFailure = _ignore,
) -> Request:
    """The request as interceptors change it; RequestDenied if one denies or fails."""
    for interceptor in interceptors:
        try:
            request = await interceptor.review_request(request, purpose, origin)
        except RequestDenied:
            raise
        except Exception as error:
            on_failure(interceptor, error)
            raise RequestDenied(f"denied: an interceptor failed: {_cause(error)}") from error
    return request


async def review_compaction(
    interceptors: Sequence[Interceptor], plan: CompactionPlan, on_failure: OnFailure = _ignore
) -> CompactionVerdict:
    """The first denial or summary; instructions are joined."""
    instructions: list[str] = []
    keep: int | None = None
    for interceptor in interceptors:
        verdict = await _verdict(interceptor, interceptor.plan_compaction(plan), CompactionVerdict, on_failure)
        keep = keep if verdict.keep_tail is None else verdict.keep_tail
        if not verdict.allowed or verdict.summary:
            return msgspec.structs.replace(verdict, keep_tail=keep)
        instructions.append(verdict.instructions)
    return CompactionVerdict(keep_tail=keep, instructions="\n\n".join(filter(None, instructions)))


async def compaction_veto(interceptors: Sequence[Interceptor], on_failure: OnFailure = _ignore) -> str:
    """Why the transcript must not be compacted; empty allows it."""
    for interceptor in interceptors:
        try:
            if reason := await interceptor.before_compaction():
                return reason
        except Exception as error:  # a failing interceptor does not veto compaction
            on_failure(interceptor, error)
    return ""


async def review_text(interceptors: Sequence[Interceptor], text: str, on_failure: OnFailure = _ignore) -> str | None:
    """The text the user may see, or None to suppress it."""
    for interceptor in interceptors:
        verdict = await _verdict(interceptor, interceptor.before_message(text), TextVerdict, on_failure)
        if not verdict.allowed:
            return None
        text = verdict.replace_text or text
    return text


async def _verdict(
    interceptor: Interceptor, question: Awaitable[_Verdict], verdict: type[_Verdict], on_failure: OnFailure
) -> _Verdict:
    try:
        return await question
    except Exception as error:
        on_failure(interceptor, error)
        named = str(error) if isinstance(error, InterceptorFailed) else f"an interceptor failed: {_cause(error)}"
        return verdict(allowed=False, reason=named)


def _cause(error: Exception) -> str:
    return str(error) or type(error).__name__
