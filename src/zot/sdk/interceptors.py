"""Interceptors as callables: who may refuse a turn, refuse or rewrite a tool call, or change what is shown.

A callable may be a plain or a coroutine function. It answers ``None`` (go on), a string (no, and why), or what to
use instead. One that raises has refused: a guard that fails must not open the door.
"""

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
    """A tool call about to run. ``args`` are its arguments, None when they are no JSON; ``origin`` is the extension
    that asked for it, empty for the model."""

    id: str
    name: str
    args: Any
    origin: str = ""


class Deny(msgspec.Struct, frozen=True):
    """The answer that hides a message; for turns and tools a plain string does the same."""

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
            raise InterceptorFailed(f"refused: the interceptor {name} failed: {cause}") from error


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
    """A caller's own object with some of an interceptor's methods; the others keep their defaults."""

    def __init__(self, given: Any) -> None:
        self._given = given
        for name in vars(Interceptor):
            if not name.startswith("_") and name != "watches_text" and hasattr(given, name):
                setattr(self, name, getattr(given, name))

    @property
    def watches_text(self) -> bool:
        return bool(getattr(self._given, "watches_text", False))


def before_turn(function: Callable[[int], Any]) -> Interceptor:
    """Asked with the step before each model call; a string refuses."""
    return _BeforeTurn(function)


def before_tool(function: Callable[[ToolRequest], Any]) -> Interceptor:
    """Asked before each tool call; a string refuses, a dict replaces the arguments. A bare callable means this.

    >>> @before_tool
    ... def no_sudo(call):
    ...     if call.name == "bash" and "sudo" in call.args["command"]:
    ...         return "sudo is not for you"
    """
    return _BeforeTool(function)


def before_message(function: Callable[[str], Any]) -> Interceptor:
    """Asked with the assistant's text before it is shown; a string replaces it, ``Deny`` hides it."""
    return _BeforeMessage(function)


def as_interceptor(given: Callable[..., Any] | Interceptor) -> Interceptor:
    """What was put into ``interceptors=``."""
    if isinstance(given, Interceptor):
        return given
    if hasattr(given, "before_tool"):
        return _Adapted(given)
    if not callable(given):
        raise UsageError(f"interceptors: {given!r} is not callable")
    return _BeforeTool(given)


def _nonsense(answer: Any) -> str:
    return f"refused: an interceptor answered with a {type(answer).__name__}"
