"""A plain Python function as a tool: its schema from the annotations, its description from the docstring.

A coroutine function runs on the event loop; any other runs in a thread, so that a slow one stalls nobody. What it
raises is read by the model as an error result, and never ends the prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast, overload

import msgspec

from zot.core.tool import Tool, ToolContext, ToolResult, text_result
from zot.errors import ToolError, UsageError
from zot.ext.typed_tools import BadArguments, Parameters, description_of
from zot.provider.messages import ImageBlock, ResultBlock, TextBlock


class FunctionTool:
    """Implements ``zot.core.tool.Tool``; still callable as the function it was made from."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        description: str = "",
        schema: Mapping[str, Any] | None = None,
        read_only: bool = False,
    ) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", ""))
        self.description = description or description_of(function)
        self.read_only = read_only
        self._parameters = parameters = None if schema is not None else _parameters(function)
        self.schema: dict[str, Any] = parameters.schema if parameters else dict(schema or {})
        if not self.name.isidentifier():
            raise UsageError(f"{function!r}: a tool needs a name made of letters, digits and underscores")
        if not self.description:
            raise UsageError(f"the tool {self.name} needs a docstring or description=: the model chooses by it")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        bound = self._bind(args, context)
        if _is_coroutine_function(self.function):
            return result_of(await self.function(**bound))
        return result_of(await asyncio.to_thread(self.function, **bound))

    def _bind(self, args: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        if self._parameters is None:
            return args
        try:
            return self._parameters.bind(args, context)
        except BadArguments as error:
            raise ToolError(f"bad arguments: {error}") from error


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *, name: str = "", description: str = "", schema: Mapping[str, Any] | None = None, read_only: bool = False
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool of a function, where the plain function does not say enough.

    ``read_only`` tools may run side by side. With ``schema`` the arguments come as they are, as keywords.

    >>> @tool(name="weather", read_only=True)
    ... def look_outside(city: str, days: int = 1) -> str:
    ...     "The weather in a city."
    ...     return f"{city}: sunny for {days} days"
    >>> look_outside.schema["required"], look_outside("Oslo")
    (['city'], 'Oslo: sunny for 1 days')
    """

    def make(function: Callable[..., Any]) -> FunctionTool:
        return FunctionTool(function, **options)

    return make if function is None else make(function)


def as_tool(given: Callable[..., Any] | Tool) -> Tool:
    """What was put into ``tools=``: a tool, or a function to make one of."""
    if hasattr(given, "execute") and hasattr(given, "schema"):
        return cast("Tool", given)
    if not callable(given):
        raise UsageError(f"tools: {given!r} is neither a function nor a tool; zot's own are chosen by allowed_tools")
    return FunctionTool(given)


def result_of(value: Any) -> ToolResult:
    """What a function returned, as the model reads it: text, an image, blocks, or anything as JSON."""
    match value:
        case ToolResult():
            return value
        case None:
            return ToolResult()
        case str():
            return text_result(value)
        case TextBlock() | ImageBlock():
            return ToolResult((value,))
        case [TextBlock() | ImageBlock(), *_]:
            return ToolResult(tuple(cast("list[ResultBlock]", value)))
        case _:
            return text_result(msgspec.json.encode(value).decode())


def _parameters(function: Callable[..., Any]) -> Parameters:
    try:
        return Parameters(function, ToolContext)
    except TypeError as error:
        raise UsageError(str(error)) from error


def _is_coroutine_function(function: Callable[..., Any]) -> bool:
    from inspect import iscoroutinefunction  # slow to load, and only needed once a tool runs

    return iscoroutinefunction(function)
