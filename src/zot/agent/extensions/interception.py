"""The chain of interceptors: asked one after another in load order, each sees what the previous one left.

The first block ends the chain and discards the rewrites. Who does not answer within 5 s, dies or sends nonsense is
passed over, unless it is a guard: then the answer is no.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from zot.agent.extensions.child import Child
from zot.agent.extensions.guards import MissingGuard, absent, refusal
from zot.agent.extensions.pending import new_id
from zot.core.interceptors import TextVerdict, ToolVerdict, TurnVerdict
from zot.errors import BadFrame, ExtensionCrashed, ExtensionError
from zot.provider.messages import ToolCallBlock
from zot.wire import limits
from zot.wire.frames import EventIntercept, EventInterceptResponse

CALL_REFUSED = "tool call refused by extension guard"
TURN_REFUSED = "turn blocked by extension guard"

_SLOW_S = 0.5


class Blocked(Exception):
    """Somebody said no; carries who and why."""

    def __init__(self, extension: str, reason: str) -> None:
        super().__init__(reason)
        self.extension = extension
        self.reason = reason


class Interception:
    """The host's side of ``core.interceptors.Interceptor``."""

    def __init__(
        self,
        children: Callable[[], Sequence[Child]],
        missing: Callable[[], Sequence[MissingGuard]],
        on_suppressed: Callable[[str, str], None],
    ) -> None:
        self._children = children
        self._missing = missing
        self._on_suppressed = on_suppressed

    @property
    def watches_text(self) -> bool:
        return any(child.intercepting("assistant_message") for child in self._children())

    async def before_turn(self, step: int) -> TurnVerdict:
        try:
            for child in self._chain("turn_start"):
                id = new_id()
                self._heed(child, await ask(child, EventIntercept(id=id, event="turn_start", step=step)))
        except Blocked as blocked:
            return TurnVerdict(False, blocked.reason or TURN_REFUSED)
        return TurnVerdict()

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        original = args = call.parsed()
        try:
            for guard in self._missing():
                raise Blocked("", guard.reason())
            for child in self._chain("tool_call"):
                question = EventIntercept(
                    id=new_id(),
                    event="tool_call",
                    tool_id=call.id,
                    tool_name=call.name,
                    tool_args=args,
                    origin_extension=origin,
                )
                args = self._rewritten_args(child, args, await ask(child, question))
        except Blocked as blocked:
            return ToolVerdict(False, blocked.reason or CALL_REFUSED)
        rewritten = _canonical(args)
        return ToolVerdict(modified_args="" if rewritten == _canonical(original) else rewritten.decode())

    async def before_message(self, text: str) -> TextVerdict:
        original = text
        try:
            for child in self._chain("assistant_message"):
                answer = await ask(child, EventIntercept(id=new_id(), event="assistant_message", text=text))
                text = self._heed(child, answer).replace_text or text
        except Blocked as blocked:
            self._on_suppressed(blocked.extension, blocked.reason)
            return TextVerdict(False, blocked.reason)
        return TextVerdict(replace_text="" if text == original else text)

    def _chain(self, event: str) -> Iterator[Child]:
        """Who is asked, in load order; a guard that cannot be asked blocks here."""
        for child in self._children():
            if not child.intercepting(event):
                continue
            if child.guard and (why := absent(child)):
                raise Blocked(child.name, why)
            yield child

    def _heed(self, child: Child, answer: EventInterceptResponse) -> EventInterceptResponse:
        if answer.block:
            raise Blocked(child.name, answer.reason)
        if answer.reason:
            child.log.write(f"allowed, with a reason: {answer.reason[:500]}")
        return answer

    def _rewritten_args(self, child: Child, args: Any, answer: EventInterceptResponse) -> Any:
        modified = self._heed(child, answer).modified_args
        if modified is None:
            return args
        if not isinstance(modified, dict):
            child.fault("bad modified_args", "sent modified_args that are not an object; they were ignored")
            return args
        return modified  # pyright: ignore[reportUnknownVariableType]  a JSON object


async def ask(child: Child, question: EventIntercept) -> EventInterceptResponse:
    """One child's answer; no answer allows, or blocks if it is a guard's."""
    began = time.monotonic()
    child.ask("intercept", question, question.id)
    try:
        answer: EventInterceptResponse = await child.answer("intercept", question.id, limits.INTERCEPT_REPLY)
        return answer
    except ExtensionError as error:
        _tell_silence(child, question.event, error)
        if child.guard:
            raise Blocked(child.name, refusal(child, _fault(error))) from error
        return EventInterceptResponse()
    finally:
        child.slow_calls += time.monotonic() - began > _SLOW_S


def _canonical(args: Any) -> bytes:
    """For comparing: in Python ``True == 1``, in JSON it is not."""
    return msgspec.json.encode(args, order="sorted")


def _tell_silence(child: Child, event: str, error: ExtensionError) -> None:
    outcome = "refused" if child.guard else "allowed"
    child.fault("no answer", f"{_fault(error)} when asked about {event}; it was {outcome}")


def _fault(error: ExtensionError) -> str:
    if isinstance(error, ExtensionCrashed):
        return str(error)
    return str(error) if isinstance(error, BadFrame) else f"gave {error}"
