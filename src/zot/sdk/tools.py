"""A Python function as a tool: its schema from the annotations, its description from the docstring.
A coroutine function runs on the event loop; any other in a thread. Exceptions become error results for the model and
never end the prompt."""

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
    """Implements ``zot.core.tool.Tool``; still callable as the original function."""

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
            raise UsageError(f"{function!r}: a tool requires a name of letters, digits and underscores")
        if not self.description:
            raise UsageError(f"the tool {self.name} requires a docstring or description=")

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
    """Create a tool from a function, with options.

    ``read_only`` tools may run in parallel. With ``schema`` the arguments are passed unchanged, as keywords.

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
    """Convert an item of ``tools=``: a tool, or a function."""
    if hasattr(given, "execute") and hasattr(given, "schema"):
        return cast("Tool", given)
    if not callable(given):
        raise UsageError(f"tools: {given!r} is neither a function nor a tool; select zot's with allowed_tools")
    return FunctionTool(given)


def result_of(value: Any) -> ToolResult:
    """A function's return value for the model: text, an image, blocks, or any value as JSON."""
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
    from inspect import iscoroutinefunction  # slow to import, and only needed when a tool runs

    return iscoroutinefunction(function)
