"""The interception seam: who may refuse a turn, refuse or rewrite a tool call, or change what is shown.

Interceptors are asked one after another; each sees the previous one's rewrite, and the first refusal wins. Whoever
allowed a call has seen the arguments it runs with: one whose answer was about others is asked again, through
``before_tool_again`` if it has that method. More are theirs to have: ``after_tool`` adds to a result, ``before_stop``
asks for more when the model is done, ``before_steering`` may refuse what the user adds meanwhile, or add to it, and
``before_compaction`` may have the transcript left as it is. They must answer, not raise: an implementation that can
fail decides itself whether failing denies. One that raises all the same denies, because a guard that broke cannot have
allowed anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from zot.provider.messages import ToolCallBlock

if TYPE_CHECKING:
    from zot.core.permission_gate import Judged
    from zot.core.permission_modes import Mode
    from zot.core.tool import ToolResult

TURN_REFUSED = "turn refused by an extension"
CALL_REFUSED = "tool call refused by an extension"
NO_AGREEMENT = "refused: those who may rewrite this call keep changing each other's arguments"

_MOST_ROUNDS = 5


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


class PromptVerdict(msgspec.Struct, frozen=True):
    """``context`` is for the model, before what the user said."""

    allowed: bool = True
    reason: str = ""
    context: str = ""


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

    @property
    def mode(self) -> Mode: ...

    def judge(self, call: ToolCallBlock) -> Judged:
        """What the call gets at this moment: whether it runs, somebody is asked about it, or it is refused."""
        ...

    async def check(self, call: ToolCallBlock, origin: str = "") -> ToolCallBlock | str | None:
        """Why it may not run, or None; another call when whoever allowed it wants that one in its place."""
        ...


# --- asking them

_Verdict = TypeVar("_Verdict", TurnVerdict, ToolVerdict, TextVerdict, PromptVerdict)


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
    asked = tuple(interceptors)
    left: dict[int, ToolCallBlock] = {}  # by place: the call as that interceptor allowed or rewrote it
    for again in range(_MOST_ROUNDS):
        for place, interceptor in enumerate(asked):
            if left.get(place) is call:
                continue
            question = _asking_again(interceptor) if again else interceptor.before_tool
            verdict = await _ask(question(call, origin), ToolVerdict)
            if not verdict.allowed:
                return verdict.reason or CALL_REFUSED
            if verdict.args is not None:
                try:
                    call = rewritten(call, verdict.args)
                except (TypeError, ValueError) as error:
                    return f"refused: an interceptor rewrote the arguments into something that is no JSON: {error}"
            left[place] = call
        if all(allowed is call for allowed in left.values()):
            return call
    return NO_AGREEMENT


def _asking_again(interceptor: Interceptor) -> Callable[[ToolCallBlock, str], Awaitable[ToolVerdict]]:
    """Few tell a second question from a first."""
    return getattr(interceptor, "before_tool_again", interceptor.before_tool)


def rewritten(call: ToolCallBlock, args: dict[str, Any]) -> ToolCallBlock:
    """The same object when nothing has changed; compared as JSON, for to Python ``1`` and ``True`` are the same."""
    changed = call.with_args(args)
    return call if msgspec.json.encode(call.value).decode() == changed.arguments else changed


async def added_to_result(
    interceptors: Sequence[Interceptor], call: ToolCallBlock, result: ToolResult, origin: str = ""
) -> str:
    """What those who look at results have to say about this one."""
    said: list[str] = []
    for interceptor in interceptors:
        after: Callable[[ToolCallBlock, ToolResult, str], Awaitable[str]] | None
        if (after := getattr(interceptor, "after_tool", None)) is not None:
            try:
                said.append(await after(call, result, origin))
            except Exception as error:
                said.append(f"[an interceptor failed: {error or type(error).__name__}]")
    return "\n\n".join(filter(None, said))


async def reason_to_go_on(interceptors: Sequence[Interceptor], text: str) -> str:
    """What the model is asked to do although it is done; empty when nobody wants more. ``text`` is its last answer."""
    for interceptor in interceptors:
        before: Callable[[str], Awaitable[str]] | None
        if (before := getattr(interceptor, "before_stop", None)) is not None:
            with suppress(Exception):  # one that broke wants nothing
                if reason := await before(text):
                    return reason
    return ""


async def review_steering(interceptors: Sequence[Interceptor], text: str) -> PromptVerdict:
    """Whether the user may add this to the running prompt, and what the model is told before it."""
    contexts: list[str] = []
    for interceptor in interceptors:
        before: Callable[[str], Awaitable[PromptVerdict]] | None
        if (before := getattr(interceptor, "before_steering", None)) is not None:
            verdict = await _ask(before(text), PromptVerdict)
            if not verdict.allowed:
                return verdict
            contexts.append(verdict.context)
    return PromptVerdict(context="\n\n".join(filter(None, contexts)))


async def reason_not_to_compact(interceptors: Sequence[Interceptor]) -> str:
    """Why the transcript is to be left as it is; empty when nobody minds."""
    for interceptor in interceptors:
        before: Callable[[], Awaitable[str]] | None
        if (before := getattr(interceptor, "before_compaction", None)) is not None:
            with suppress(Exception):  # one that broke minds nothing
                if reason := await before():
                    return reason
    return ""


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
