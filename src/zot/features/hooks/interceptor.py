"""Applies hooks to every tool call and to the end of a run.
Before a call they may deny it, change its input, approve it or require approval; after it they may add to its result;
at the end they may request more work."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from zot.core import permission_gate
from zot.core.interceptors import Interceptor, PromptVerdict, ToolVerdict, TurnVerdict
from zot.core.tool import ToolResult
from zot.features.hooks.claude_format import (
    HookDecision,
    UnsupportedInput,
    from_claude_input,
    from_claude_response,
    joined_context,
    joined_decision,
    to_claude_input,
    to_claude_response,
)
from zot.features.hooks.host import HookHost, context_text, names_of
from zot.features.questions import question_queue
from zot.features.required_approval import require_approval
from zot.provider.messages import TextBlock, ToolCallBlock

MOST_ROUNDS = 10  # of more work requested by Stop hooks
_MOST_KNOWN = 256  # calls
_ALLOWED = ToolVerdict()
_UNSUPPORTED_CHANGE = "denied: a hook changed the input to one zot does not support"
_REQUIRED = "a hook requires approval"
_NO_USER = "denied: a hook requires approval, and no user is present"
_REQUEST_HOOK = "a PermissionRequest hook"
_MISSING = "denied: the PreToolUse hooks of {} run in the session that started this worker and cannot run here"


class HookInterceptor(Interceptor):
    """``stop_event`` is the event at the end of a run: ``Stop``, or ``SubagentStop`` in a side chat."""

    label = "a PreToolUse hook"

    def __init__(self, host: HookHost, stop_event: str = "Stop") -> None:
        self._host = host
        self._stop_event = stop_event
        self._rounds = 0
        self._began: dict[str, float] = {}
        self._context: dict[str, str] = {}
        self._permitted: dict[str, str] = {}
        self._replaced: dict[str, str] = {}

    def for_child(self) -> HookInterceptor:
        child = HookInterceptor(self._host, "SubagentStop")
        child._permitted = self._permitted  # a side chat has the gate of its parent
        return child

    async def before_turn(self, step: int) -> TurnVerdict:
        if step == 1:
            self._rounds = 0
        return TurnVerdict()

    # --- before a call

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        host = self._host
        self._remember(self._began, call.id, time.monotonic())
        if host.missing:
            return ToolVerdict(allowed=False, reason=_MISSING.format(", ".join(host.missing)))
        if not host.has("PreToolUse"):
            return _ALLOWED
        args = call.args or {}
        answers = await host.run_hooks("PreToolUse", names_of(call.name), self._fields(call, args))
        for answer in answers:
            if answer.stop is not None:
                return ToolVerdict(allowed=False, reason=answer.stop)
        decided = joined_decision(answers)
        if decided is not None and decided.decision == "deny":
            return ToolVerdict(allowed=False, reason=decided.reason or "denied by a PreToolUse hook")
        try:
            args = self._updated(call, args, answers)
        except UnsupportedInput as error:
            return ToolVerdict(allowed=False, reason=f"{_UNSUPPORTED_CHANGE}: {error}")
        final_call = call if args is None else call.with_args(args)
        if decided is not None and decided.decision in ("ask", "defer"):
            refusal = await self._ask_user(final_call, origin, decided.reason)
            if refusal is not None:
                by = "" if refusal.startswith(_NO_USER) else "you"
                return ToolVerdict(allowed=False, reason=refusal, by=by)
        if decided is not None and decided.decision in ("allow", "ask", "defer"):  # the gate does not ask again
            self._remember(self._permitted, call.id, final_call.arguments)
        if context := joined_context(answers):
            self._remember(self._context, call.id, context)
        return _ALLOWED if args is None else ToolVerdict(args=args)

    def _updated(self, call: ToolCallBlock, args: dict[str, Any], answers: list[HookDecision]) -> dict[str, Any] | None:
        """The input as hooks changed it; the last change wins. None if unchanged."""
        made: dict[str, Any] | None = None
        for answer in answers:
            if answer.updated is not None:
                made = from_claude_input(call.name, answer.updated, args, self._host.resolve)
        return made

    async def _ask_user(self, call: ToolCallBlock, origin: str, reason: str) -> str | None:
        """Why the call is denied, or None."""
        conversation = self._host.conversation
        if not question_queue(conversation.services).can_ask("approval"):
            return f"{_NO_USER}: {reason}" if reason else _NO_USER
        return await require_approval(conversation, call, origin, reason or _REQUIRED)

    async def auto_approve(self, question: permission_gate.ApprovalQuestion) -> permission_gate.Answer | None:
        """The answer of PermissionRequest hooks; None if the user must decide."""
        call = question.call
        if self._permitted.get(call.id) == call.arguments:
            return permission_gate.Answer("once", by="a PreToolUse hook")
        args = call.args or {}
        answers = await self._host.run_hooks("PermissionRequest", names_of(call.name), self._fields(call, args))
        decided = joined_decision(answers)
        if decided is None or decided.decision in ("ask", "defer"):
            return None
        if decided.decision == "allow":
            try:
                changed = self._updated(call, args, [answer for answer in answers if answer.decision == "allow"])
            except UnsupportedInput as error:
                return permission_gate.Answer("deny", f"{_UNSUPPORTED_CHANGE}: {error}")
            if changed is not None:  # interceptors check it again; the user is not asked twice
                self._remember(self._permitted, call.id, call.with_args(changed).arguments)
            return permission_gate.Answer("once", args=changed, by=_REQUEST_HOOK)
        return permission_gate.Answer("deny", decided.reason or f"denied by {_REQUEST_HOOK}", by=_REQUEST_HOOK)

    # --- after it

    async def after_tool(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> str:
        """Text to append to the result."""
        host = self._host
        parts = [self._context.pop(call.id, "")]
        event = "PostToolUseFailure" if result.is_error else "PostToolUse"
        if host.has(event):
            text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
            fields = self._fields(call, call.args or {})
            since = self._began.get(call.id)
            fields["duration_ms"] = int((time.monotonic() - since) * 1000) if since is not None else 0
            if result.is_error:
                fields |= {"error": text, "is_interrupt": False}
            else:
                fields["tool_response"] = to_claude_response(call.name, fields["tool_input"], text)
            answers = await host.run_hooks(event, names_of(call.name), fields)
            parts += [answer.reason for answer in answers if answer.decision == "deny"]
            for answer in answers:
                if answer.output is not None:  # the last one wins
                    self._remember(self._replaced, call.id, from_claude_response(answer.output))
            parts.append(joined_context(answers))
        self._began.pop(call.id, None)
        self._permitted.pop(call.id, None)
        return "\n\n".join(f"[hook] {part}" for part in parts if part)

    async def replace_result(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> ToolResult | None:
        text = self._replaced.pop(call.id, None)
        return None if text is None else msgspec.structs.replace(result, content=(TextBlock(text),))

    # --- steering and compaction

    async def before_steering(self, text: str, source: str = "") -> PromptVerdict:
        """Steering messages are prompts; those of a sub-agent are not from the user."""
        if self._stop_event != "Stop" or not self._host.has("UserPromptSubmit"):
            return PromptVerdict()
        refusal, context = await self._host.review_prompt(text)
        if refusal:
            return PromptVerdict(allowed=False, reason=refusal)
        return PromptVerdict(context=context_text("UserPromptSubmit", context) if context else "")

    async def before_compaction(self) -> str:
        """Why automatic compaction is denied, or empty."""
        return await self._host.before_compaction("auto") if self._host.has("PreCompact") else ""

    # --- end of the run

    async def before_stop(self, text: str) -> str:
        """The message that makes the model continue, or empty."""
        host = self._host
        if not host.has(self._stop_event):
            return ""
        fields = {"stop_hook_active": self._rounds > 0, "last_assistant_message": text}
        answers = await host.run_hooks(self._stop_event, fields=fields)
        if any(answer.stop is not None for answer in answers):
            return ""
        decided = joined_decision(answers)
        blocked = decided is not None and decided.decision == "deny"
        more = joined_context(answers)  # not an error, but the model must act on it
        if not blocked and not more:
            return ""
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            host.warn(f"{self._stop_event} hooks requested more work {MOST_ROUNDS} times; the run ends here")
            return ""
        reason = decided.reason if decided is not None and blocked else ""
        message = "\n\n".join(filter(None, (reason, more)))
        return message or f"A {self._stop_event} hook reports that the work is not done. Continue."

    # --- hook input

    def _fields(self, call: ToolCallBlock, args: dict[str, Any]) -> dict[str, Any]:
        return {
            "tool_name": names_of(call.name)[0],
            "tool_input": to_claude_input(call.name, args, self._host.resolve),
            "tool_use_id": call.id,
        }

    @staticmethod
    def _remember(known: dict[str, Any], id: str, value: Any) -> None:
        """Stores a value for a running call; drops the oldest when full."""
        if len(known) >= _MOST_KNOWN:
            known.pop(next(iter(known)))
        known[id] = value
