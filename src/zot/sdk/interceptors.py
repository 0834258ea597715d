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

from zot.core.interceptors import Interceptor, TextVerdict, ToolVerdict, TurnVerdict
from zot.errors import UsageError
from zot.provider.messages import ToolCallBlock


class ToolRequest(msgspec.Struct, frozen=True):
    """A tool call about to run. ``args`` are its arguments, None when they are no JSON; ``origin`` is the extension
    that asked for it, empty for the model."""

    id: str
    name: str
    args: Any
    origin: str = ""


class Refuse(msgspec.Struct, frozen=True):
    """The answer that hides a message; for turns and tools a plain string does the same."""

    reason: str


class _Callables:
    """Implements ``zot.core.interceptors.Interceptor`` for one callable of one kind."""

    watches_text = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    async def before_turn(self, step: int) -> TurnVerdict:
        return TurnVerdict()

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return ToolVerdict()

    async def before_message(self, text: str) -> TextVerdict:
        return TextVerdict()

    async def _ask(self, question: Any) -> Any:
        """The callable's answer; a failure is a refusal that names it."""
        try:
            answer = self.function(question)
            return await answer if hasattr(answer, "__await__") else answer
        except asyncio.CancelledError:
            raise
        except Exception as error:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            return Refuse(f"refused: the interceptor {name} failed: {error or type(error).__name__}")


class _BeforeTurn(_Callables):
    async def before_turn(self, step: int) -> TurnVerdict:
        match await self._ask(step):
            case None | True:
                return TurnVerdict()
            case str(reason) | Refuse(reason):
                return TurnVerdict(False, reason)
            case other:
                return TurnVerdict(False, _nonsense(other))


class _BeforeTool(_Callables):
    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        answer = await self._ask(ToolRequest(call.id, call.name, deepcopy(call.value), origin))
        match answer:
            case None | True:
                return ToolVerdict()
            case str(reason) | Refuse(reason):
                return ToolVerdict(False, reason)
            case dict():
                return ToolVerdict(args=cast("dict[str, Any]", answer))
            case other:
                return ToolVerdict(False, _nonsense(other))


class _BeforeMessage(_Callables):
    watches_text = True

    async def before_message(self, text: str) -> TextVerdict:
        match await self._ask(text):
            case None | True:
                return TextVerdict()
            case Refuse(reason):
                return TextVerdict(False, reason)
            case str(words):
                return TextVerdict(replace_text=words)
            case other:
                return TextVerdict(False, _nonsense(other))


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
    """Asked with the assistant's text before it is shown; a string replaces it, ``Refuse`` hides it."""
    return _BeforeMessage(function)


def as_interceptor(given: Callable[..., Any] | Interceptor) -> Interceptor:
    """What was put into ``interceptors=``."""
    if hasattr(given, "before_tool"):
        return cast("Interceptor", given)
    if not callable(given):
        raise UsageError(f"interceptors: {given!r} is not callable")
    return _BeforeTool(given)


def _nonsense(answer: Any) -> str:
    return f"refused: an interceptor answered with a {type(answer).__name__}"
