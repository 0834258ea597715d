"""Asking the interceptors, one after another: each sees the previous one's rewrite, the first refusal wins.

An interceptor must answer, not raise; one that raises all the same denies, because a guard that broke
cannot have allowed anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from zot.core.interceptors import Interceptor, TextVerdict, ToolVerdict, TurnVerdict
from zot.provider.messages import ToolCallBlock

TURN_REFUSED = "turn refused by an extension"
CALL_REFUSED = "tool call refused by an extension"

_Verdict = TypeVar("_Verdict", TurnVerdict, ToolVerdict, TextVerdict)


async def turn_refusal(interceptors: Sequence[Interceptor], step: int) -> str | None:
    """Why this turn may not happen, or None."""
    for interceptor in interceptors:
        verdict = await _ask(interceptor.before_turn(step), TurnVerdict)
        if not verdict.allowed:
            return verdict.reason or TURN_REFUSED
    return None


async def review_call(
    interceptors: Sequence[Interceptor], call: ToolCallBlock, origin: str = ""
) -> ToolCallBlock | str:
    """The call as it may run, perhaps with other arguments, or the reason why it may not."""
    for interceptor in interceptors:
        verdict = await _ask(interceptor.before_tool(call, origin), ToolVerdict)
        if not verdict.allowed:
            return verdict.reason or CALL_REFUSED
        if verdict.args is not None:
            call = call.with_args(verdict.args)
    return call


async def review_text(interceptors: Sequence[Interceptor], text: str) -> str | None:
    """The text the user may see, or None when nothing may be shown."""
    for interceptor in interceptors:
        verdict = await _ask(interceptor.before_message(text), TextVerdict)
        if not verdict.allowed:
            return None
        text = verdict.replace_text or text
    return text


async def _ask(question: Awaitable[_Verdict], verdict: type[_Verdict]) -> _Verdict:
    try:
        return await question
    except Exception as error:
        return verdict(allowed=False, reason=f"an interceptor failed: {error or type(error).__name__}")
