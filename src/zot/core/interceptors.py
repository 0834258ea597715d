"""The interception seam: who may refuse a turn, refuse or rewrite a tool call, or change what is shown.

Interceptors are asked one after another; each sees the previous one's rewrite, and the first refusal wins. They must
answer, not raise: an implementation that can fail decides itself whether failing denies. One that raises all the same
denies, because a guard that broke cannot have allowed anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from zot.provider.messages import ToolCallBlock

TURN_REFUSED = "turn refused by an extension"
CALL_REFUSED = "tool call refused by an extension"


class TurnVerdict(msgspec.Struct, frozen=True):
    allowed: bool = True
    reason: str = ""


class ToolVerdict(msgspec.Struct, frozen=True):
    """``args`` are to be used instead of the call's own; None leaves those."""

    allowed: bool = True
    reason: str = ""
    args: dict[str, Any] | None = None


class TextVerdict(msgspec.Struct, frozen=True):
    """Not ``allowed`` suppresses the message; a non-empty ``replace_text`` is shown in its place."""

    allowed: bool = True
    reason: str = ""
    replace_text: str = ""


class Interceptor(Protocol):
    @property
    def watches_text(self) -> bool:
        """While true, assistant text is held back until ``before_message`` answered."""
        ...

    async def before_turn(self, step: int) -> TurnVerdict: ...

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        """``origin`` names the extension that asked for the call; empty for the model's own."""
        ...

    async def before_message(self, text: str) -> TextVerdict: ...


class Gate(Protocol):
    """Asked after the interceptors, with the call as it will run."""

    def asks(self, call: ToolCallBlock) -> bool:
        """Whether somebody is going to be asked about it."""
        ...

    async def check(self, call: ToolCallBlock, origin: str = "") -> str | None:
        """Why it may not run, or None."""
        ...


# --- asking them

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
