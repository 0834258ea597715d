"""One tool call from permission to result, for the model and for extensions. Interceptors are called first, then the
gate, with the final arguments."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from zot.core.events import ConfirmationRequested, PermissionDecided, Status, ToolEnded, ToolRunning
from zot.core.interceptors import NO_AGREEMENT, Gate, HandledCall, Refusal, apply_rewrite, review_call, review_result
from zot.core.permission_gate import preview
from zot.core.state import AgentState
from zot.core.tool import STOPPED, StoppedWithResult, Tool, ToolContext, ToolResult, text_result
from zot.errors import ToolError, closest_match, describe_error
from zot.provider.messages import ToolCallBlock

_MOST_ROUNDS = 5


class AuthorizedCall(msgspec.Struct, frozen=True):
    """A call that may run, with its final arguments. ``handled`` is its result if an interceptor has done it; ``by``
    names who allowed it."""

    tool: Tool
    call: ToolCallBlock
    origin: str = ""
    handled: ToolResult | None = None
    by: str = ""


class CallDenied(ToolError):
    """The call was denied by ``by``, as opposed to invalid."""

    def __init__(self, reason: str, by: str = "") -> None:
        super().__init__(reason)
        self.by = by


async def authorize(
    state: AgentState, tools: Mapping[str, Tool], call: ToolCallBlock, origin: str = ""
) -> AuthorizedCall:
    """The final call; ToolError if it is denied or invalid."""
    try:
        return await _permit(state, tools, call, origin)
    except ToolError as refusal:
        status: Status = "blocked" if isinstance(refusal, CallDenied) else "failed"
        state.emit(ToolEnded(call, status, False, text_result(str(refusal), is_error=True), origin))
        raise


async def execute(
    state: AgentState,
    permitted: AuthorizedCall,
    context: ToolContext,
    keep_original: Callable[[ToolResult], None] | None = None,
) -> ToolResult:
    """Run the call and let interceptors change its result; ``keep_original`` gets the tool's own one then."""
    call = permitted.call
    if state.readers.has_subscriber(ToolRunning):
        state.emit(ToolRunning(call, permitted.origin))
    began = time.monotonic()
    try:
        result = await _performed(state, permitted, context)
    except asyncio.CancelledError as cancelled:
        stopped = cancelled.result if isinstance(cancelled, StoppedWithResult) else STOPPED
        state.emit(ToolEnded(call, "cancelled", True, stopped, permitted.origin, time.monotonic() - began))
        raise
    reviewed, seconds = result, time.monotonic() - began
    try:
        if state.interceptors:
            report = state.report_interceptor
            reviewed = await review_result(state.interceptors, call, result, permitted.origin, report)
            if reviewed is not result and keep_original is not None:
                keep_original(result)
    except asyncio.CancelledError as cancelled:
        # The tool has finished: an abort while interceptors review the result does not undo it.
        state.emit(ToolEnded(call, _status(result), True, result, permitted.origin, seconds))
        raise StoppedWithResult(result) from cancelled
    state.emit(ToolEnded(call, _status(reviewed), permitted.handled is None, reviewed, permitted.origin, seconds))
    return reviewed


async def _performed(state: AgentState, permitted: AuthorizedCall, context: ToolContext) -> ToolResult:
    call = permitted.call
    if permitted.handled is not None:
        return permitted.handled
    try:
        return await state.perform(permitted.tool, arguments(call), context)
    except ToolError as error:
        return text_result(str(error), is_error=True)
    except OSError as error:
        return text_result(f"{call.name} failed: {describe_error(error)}", is_error=True)
    except Exception as error:
        return text_result(f"{call.name} failed: {type(error).__name__}: {error}", is_error=True)


def _unknown(name: str, tools: Mapping[str, Tool]) -> str:
    """Names the call that makes an on-demand tool callable, or a tool with a similar name."""
    for enabling in tools.values():
        if name in getattr(enabling, "listed", ()):
            return f'unknown tool: {name}; call {enabling.name} with {{"names": ["{name}"]}} first'
    similar = closest_match(name.lower(), tools, likeness=0.75)
    return f"unknown tool: {name}" + (f"; did you mean {similar}?" if similar else "")


async def _permit(state: AgentState, tools: Mapping[str, Tool], call: ToolCallBlock, origin: str) -> AuthorizedCall:
    tool = tools.get(call.name)
    if tool is None:
        raise ToolError(_unknown(call.name, tools))
    arguments(call)  # do not ask about an invalid call
    for _ in range(_MOST_ROUNDS):
        reviewed = await review_call(state.interceptors, call, origin, state.report_interceptor)
        if isinstance(reviewed, HandledCall):
            return AuthorizedCall(tool, reviewed.call, origin, reviewed.result)
        if isinstance(reviewed, str):
            by, reason = reviewed.by if isinstance(reviewed, Refusal) else "", str(reviewed)
            state.emit(PermissionDecided(call, "denied", "policy", reason, origin, by))
            raise CallDenied(reason, by)
        if state.gate is None:
            state.emit(PermissionDecided(reviewed, "approved", "yolo", "", origin, "mode everything"))
            return AuthorizedCall(tool, reviewed, origin, by="mode everything")
        call, by = await _confirm(state, state.gate, reviewed, origin)
        if call is reviewed:
            return AuthorizedCall(tool, reviewed, origin, by=by)
    state.emit(PermissionDecided(call, "denied", "policy", NO_AGREEMENT, origin))
    raise CallDenied(NO_AGREEMENT)


async def _confirm(state: AgentState, gate: Gate, call: ToolCallBlock, origin: str) -> tuple[ToolCallBlock, str]:
    """The same object if it may run, and who allowed it; a replacement that needs approval otherwise."""
    try:
        judged = gate.evaluate(call)
        if judged.step == "ask":
            state.emit(ConfirmationRequested(call, preview(call.value), origin))
        try:
            answer = await gate.authorize(call, origin)
        except asyncio.CancelledError:
            state.emit(PermissionDecided(call, "cancelled", judged.source, "", origin, judged.by))
            raise
    except Exception as error:
        judged, answer = None, f"denied: the confirm gate failed: {error or type(error).__name__}"
    source, by = (judged.source, gate.decided_by(call) or judged.by) if judged is not None else ("policy", "")
    if isinstance(answer, str):
        state.emit(PermissionDecided(call, "denied", source, answer, origin, by))
        raise CallDenied(answer, by)
    wanted = call if answer is None else apply_rewrite(call, answer.args or {})
    if wanted is call:
        state.emit(PermissionDecided(call, "approved", source, "", origin, by))
    return wanted, by


def _status(result: ToolResult) -> Status:
    if result.is_error and result.details and result.details.get("timed_out"):
        return "timed_out"
    return "failed" if result.is_error else "completed"


def arguments(call: ToolCallBlock) -> dict[str, Any]:
    """The parsed arguments; ToolError if they are invalid."""
    if call.args is not None:
        return call.args
    if call.value is not None:
        raise ToolError(f"the arguments of {call.name} must be a JSON object")
    try:
        msgspec.json.decode(call.arguments.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ToolError(f"the arguments of {call.name} are not valid JSON: {error}") from None
    raise ToolError(f"the arguments of {call.name} must be a JSON object")  # they are `null`
