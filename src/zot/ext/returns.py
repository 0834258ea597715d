"""What a handler gave back, as the answer it means; what means nothing is a TypeError, that is, a crash."""

from __future__ import annotations

import json

from zot.ext import frames
from zot.ext.answers import Response, ToolCallDecision, ToolResult, text, text_error_result, text_result
from zot.ext.calls import ToolContext
from zot.ext.frames import Content
from zot.ext.record import Record

TYPE_CHECKING = False  # what typing says, without importing it
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def settle(value: Any) -> Any:
    """What an ``async def`` handler promised, or the value itself."""
    if hasattr(value, "__await__"):
        import asyncio

        async def wait() -> Any:
            return await value

        return asyncio.run(wait())
    return value


def tool_of(
    handler: Callable[..., Any], schema: Mapping[str, Any] | None
) -> tuple[dict[str, Any], Callable[[dict[str, Any], ToolContext], Any]]:
    from zot.ext.typed_tools import BadArguments, Parameters, wants_context

    if schema is not None:
        if wants_context(handler):
            return dict(schema), handler
        return dict(schema), lambda args, _context: handler(args)
    parameters = Parameters(handler)

    def call(args: dict[str, Any], context: ToolContext) -> Any:
        try:
            bound = parameters.bind(args, context)
        except BadArguments as error:
            return text_error_result(f"bad arguments: {error}")
        return handler(**bound)

    return parameters.schema, call


def response_of(value: Any) -> Response:
    match value := settle(value):
        case Response():
            return value
        case None:
            return Response.noop()
        case str():
            return Response.display(value)
        case _:
            raise TypeError(f"a command returns a Response, a string or None, not {type(value).__name__}")


def result_of(value: Any) -> ToolResult:
    match value := settle(value):
        case ToolResult():
            return value
        case None:
            return ToolResult()
        case str():
            return text_result(value)
        case Content():
            return ToolResult(content=[value])
        case [Content(), *_]:
            return ToolResult(content=value)
        case _:
            words = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            return ToolResult(content=[text(words)], structured_content=value)


def tool_frame(id: str, result: ToolResult) -> Record:
    return frames.ToolResult(
        id=id,
        content=result.content,
        is_error=result.is_error,
        activate_tools=result.activate_tools,
        structured_content=result.structured_content,
    )


def reconciled(value: Any) -> ToolResult:
    value = settle(value)
    return value if isinstance(value, ToolResult) else ToolResult(structured_content={"state": str(value)})


def tool_call_decision(value: Any) -> Record:
    value = settle(value)
    if isinstance(value, tuple):
        allowed, reason = value  # pyright: ignore[reportUnknownVariableType]  (allowed, reason), as documented
        return ToolCallDecision(block=not allowed, reason=str(reason))  # pyright: ignore[reportUnknownArgumentType]
    return decision_of(value, ToolCallDecision)


def decision_of(value: Any, kind: type[Record]) -> Record:
    value = settle(value)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise TypeError(f"expected a {kind.__name__} or None, got {type(value).__name__}")
    return value


def system_prompt_of(value: Any) -> Record:
    value = settle(value)
    if not isinstance(value, str | None):
        raise TypeError(f"expected a string or None, got {type(value).__name__}")
    return frames.EventInterceptResponse(id="", system_prompt=value)
