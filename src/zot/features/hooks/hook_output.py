"""What a hook said: exit 0 and perhaps JSON, exit 2 and a reason for the model, anything else a failure to warn of.

Answers are joined as Claude Code joins them: a refusal beats a question, a question beats a permission.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from zot.features.hooks.config import Hook
from zot.features.hooks.hook_process import Ran

LONGEST = 10_000  # characters of a reason or of context
_RANKS = ("deny", "defer", "ask", "allow", "")
UNHEEDED = (
    *("updatedToolOutput", "updatedMCPToolOutput", "updatedPermissions", "terminalSequence"),
    *("initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"),
)
_SPEAKS_IN_CONTEXT = ("UserPromptSubmit", "SessionStart")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """``decision`` is ``deny``, ``defer``, ``ask``, ``allow`` or empty; ``stop`` ends the work, with its reason;
    ``message`` is for the person, ``context`` for the model, ``failure`` for both when the hook is a guard;
    ``unheeded`` are the names of what it asked for and zot has not."""

    hook: Hook
    decision: str = ""
    reason: str = ""
    context: str = ""
    updated: dict[str, Any] | None = None
    stop: str | None = None
    message: str = ""
    failure: str = ""
    unheeded: tuple[str, ...] = ()


class _Decision(msgspec.Struct):
    behavior: str | None = None
    message: str | None = None
    updatedInput: dict[str, Any] | None = None
    interrupt: bool = False


class _Specific(msgspec.Struct):
    permissionDecision: str | None = None
    permissionDecisionReason: str | None = None
    updatedInput: dict[str, Any] | None = None
    additionalContext: str | None = None
    decision: _Decision | None = None


class _Output(msgspec.Struct):
    go_on: bool = msgspec.field(default=True, name="continue")
    stopReason: str | None = None
    systemMessage: str | None = None
    decision: str | None = None
    reason: str | None = None
    additionalContext: str | None = None
    hookSpecificOutput: _Specific | None = None


def answer_of(hook: Hook, ran: Ran) -> Answer:
    if ran.failure:
        return Answer(hook=hook, failure=ran.failure)
    if ran.code == 2:
        reason = ran.err.strip() or "a hook refused it and gave no reason"
        return Answer(hook=hook, decision="deny", reason=reason[:LONGEST])
    if ran.code != 0:
        said = next((line.strip() for line in ran.err.splitlines() if line.strip()), "")
        return Answer(hook=hook, failure=f"exit status {ran.code}" + (f": {said[:200]}" if said else ""))
    text = ran.out.strip()
    if text.startswith("{"):
        return _from_json(hook, text, cut=ran.cut)
    if hook.event in _SPEAKS_IN_CONTEXT:
        return Answer(hook=hook, context=text[:LONGEST])
    return Answer(hook=hook)


def _from_json(hook: Hook, text: str, *, cut: bool) -> Answer:
    try:
        said = msgspec.json.decode(text.encode("utf-8", "replace"), type=_Output)
    except (msgspec.MsgspecError, RecursionError) as error:
        why = "wrote more than 1 MiB" if cut else f"printed JSON that cannot be read: {error}"
        return Answer(hook=hook, failure=why)
    own = said.hookSpecificOutput or _Specific()
    updated, stop = own.updatedInput, None if said.go_on else said.stopReason or "a hook ended the work"
    decision = own.permissionDecision or ""
    reason = own.permissionDecisionReason or said.reason or ""
    if own.decision is not None:
        decision, reason = own.decision.behavior or "", own.decision.message or reason
        updated = own.decision.updatedInput or updated
        if own.decision.interrupt and decision == "deny":
            stop = stop or reason or "a hook ended the work"
    if not decision and said.decision:
        decision = {"approve": "allow", "block": "deny"}.get(said.decision, said.decision)
    if decision not in _RANKS:
        return Answer(hook=hook, failure=f'made the unknown decision "{decision[:40]}"')
    return Answer(
        hook=hook,
        decision=decision,
        reason=reason[:LONGEST],
        context=(own.additionalContext or said.additionalContext or "")[:LONGEST],
        updated=updated,
        stop=stop,
        message=(said.systemMessage or "")[:LONGEST],
        unheeded=_unheeded(text),
    )


def _unheeded(text: str) -> tuple[str, ...]:
    """What Claude Code would have done and zot does not, by name."""
    return tuple(name for name in UNHEEDED if f'"{name}"' in text)


def joined_decision(answers: Sequence[Answer]) -> Answer | None:
    """The strongest decision, if any was made."""
    decided = [answer for answer in answers if answer.decision]
    return min(decided, key=lambda answer: _RANKS.index(answer.decision), default=None)


def joined_context(answers: Iterable[Answer]) -> str:
    return "\n\n".join(answer.context for answer in answers if answer.context)
