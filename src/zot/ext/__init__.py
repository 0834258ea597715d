"""The API of a Python extension. Standard library only, and quick to import.

::

    from zot.ext import Extension, Response

    ext = Extension("hello", "1.0.0")

    @ext.command("hello", "says hello")
    def hello(args: str) -> Response:
        return Response.prompt(f"Say hello to {args or 'me'} in one short sentence.")

    @ext.tool()
    def weather(city: str, days: int = 1) -> str:
        "The weather in a city."
        return f"{city}: sunny for {days} days"

    ext.run()
"""

from __future__ import annotations

from zot.ext import bytecode as bytecode  # first: it finds the others
from zot.ext.context import Context, ToolContext
from zot.ext.errors import Cancelled, Denied, HostGone, NotSupported, RequestError, TimedOut, Unavailable
from zot.ext.extension import Extension
from zot.ext.frames import Content as ToolContent
from zot.ext.frames import Event, EventIntercept, HelloAck, HostToolResult, Panel
from zot.ext.lines import line, span, view
from zot.ext.results import (
    AssistantMessageDecision,
    Response,
    ToolCallDecision,
    ToolResult,
    TurnStartDecision,
    error_result,
    image,
    image_bytes,
    markdown_result,
    text,
    text_result,
)

text_error_result = error_result  # an older name
TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from typing import Any

    from zot.ext.branch_state import BranchState as BranchState
    from zot.ext.handlers import (
        AssistantMessageHandler,
        BeforeAgentStartHandler,
        CommandHandler,
        EventHandler,
        InterceptHandler,
        ToolCallHandler,
        ToolHandler,
        TurnStartHandler,
    )
    from zot.ext.interceptions import Interception, Verdict

__all__ = [
    "AssistantMessageDecision",
    "AssistantMessageHandler",
    "BeforeAgentStartHandler",
    "Cancelled",
    "CommandHandler",
    "Context",
    "Denied",
    "Event",
    "EventHandler",
    "EventIntercept",
    "Extension",
    "HelloAck",
    "HostGone",
    "HostToolResult",
    "InterceptHandler",
    "Interception",
    "NotSupported",
    "Panel",
    "RequestError",
    "Response",
    "TimedOut",
    "ToolCallDecision",
    "ToolCallHandler",
    "ToolContent",
    "ToolContext",
    "ToolHandler",
    "ToolResult",
    "TurnStartDecision",
    "TurnStartHandler",
    "Unavailable",
    "Verdict",
    "error_result",
    "image",
    "image_bytes",
    "line",
    "markdown_result",
    "span",
    "text",
    "text_result",
    "view",
]


def __getattr__(name: str) -> Any:
    """Types that a run may not need are imported on first use."""
    if name.endswith("Handler") and name in __all__:
        from zot.ext import handlers

        return getattr(handlers, name)
    if name in ("Interception", "Verdict"):
        from zot.ext import interceptions

        return getattr(interceptions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, for ``help`` and completion."""
    return list(__all__)
