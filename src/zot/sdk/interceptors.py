"""Interceptors as callables: deny turns, deny or rewrite tool calls, change shown messages.
A callable may be a plain or a coroutine function. It returns ``None`` (allow), a string (deny, with the reason), or
a replacement. One that raises has denied."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

import msgspec

from zot.core.interceptors import Interceptor, InterceptorFailed, TextVerdict, ToolVerdict, TurnVerdict
from zot.errors import UsageError
from zot.provider.messages import ToolCallBlock


class ToolRequest(msgspec.Struct, frozen=True):
    """A tool call before it runs. ``args`` is None if they are not JSON; ``origin`` is the requesting extension."""

    id: str
    name: str
    args: Any
    origin: str = ""


class Deny(msgspec.Struct, frozen=True):
    """The answer that hides a message; for turns and tools a plain string denies."""

    reason: str


class _Callables(Interceptor):
    """One callable of one kind as an interceptor."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    async def _ask(self, question: Any) -> Any:
        """The callable's answer; InterceptorFailed names it if it raises."""
        try:
            answer = self.function(question)
            return await answer if hasattr(answer, "__await__") else answer
        except asyncio.CancelledError:
            raise
        except Exception as error:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            cause = str(error) or type(error).__name__
            raise InterceptorFailed(f"denied: the interceptor {name} failed: {cause}") from error


class _BeforeTurn(_Callables):
    async def before_turn(self, step: int) -> TurnVerdict:
        match await self._ask(step):
            case None | True:
                return TurnVerdict()
            case str(reason) | Deny(reason):
                return TurnVerdict(False, reason)
            case other:
                return TurnVerdict(False, _nonsense(other))


class _BeforeTool(_Callables):
    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        answer = await self._ask(ToolRequest(call.id, call.name, deepcopy(call.value), origin))
        match answer:
            case None | True:
                return ToolVerdict()
            case str(reason) | Deny(reason):
                return ToolVerdict(False, reason)
            case dict():
                return ToolVerdict(args=cast("dict[str, Any]", answer))
            case other:
                return ToolVerdict(False, _nonsense(other))


class _BeforeMessage(_Callables):
    @property
    def watches_text(self) -> bool:
        return True

    async def before_message(self, text: str) -> TextVerdict:
        match await self._ask(text):
            case None | True:
                return TextVerdict()
            case Deny(reason):
                return TextVerdict(False, reason)
            case str(words):
                return TextVerdict(replace_text=words)
            case other:
                return TextVerdict(False, _nonsense(other))


class _Adapted(Interceptor):
    """A caller's object with some of an interceptor's methods; the others have defaults."""

    def __init__(self, given: Any) -> None:
        self._given = given
        for name in vars(Interceptor):
            if not name.startswith("_") and name != "watches_text" and hasattr(given, name):
                setattr(self, name, getattr(given, name))

    @property
    def watches_text(self) -> bool:
        return bool(getattr(self._given, "watches_text", False))


def before_turn(function: Callable[[int], Any]) -> Interceptor:
    """Called with the step before each model call; a string denies."""
    return _BeforeTurn(function)


def before_tool(function: Callable[[ToolRequest], Any]) -> Interceptor:
    """Called before each tool call; a string denies, a dict replaces the arguments. The default kind of a callable.

    >>> @before_tool
    ... def no_sudo(call):
    ...     if call.name == "bash" and "sudo" in call.args["command"]:
    ...         return "sudo is not for you"
    """
    return _BeforeTool(function)


def before_message(function: Callable[[str], Any]) -> Interceptor:
    """Called with the assistant's text before it is shown; a string replaces it, ``Deny`` hides it."""
    return _BeforeMessage(function)


def as_interceptor(given: Callable[..., Any] | Interceptor) -> Interceptor:
    """Convert an item of ``interceptors=``."""
    if isinstance(given, Interceptor):
        return given
    if hasattr(given, "before_tool"):
        return _Adapted(given)
    if not callable(given):
        raise UsageError(f"interceptors: {given!r} is not callable")
    return _BeforeTool(given)


def _nonsense(answer: Any) -> str:
    return f"denied: an interceptor returned a value of type {type(answer).__name__}"
