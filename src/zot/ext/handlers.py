"""Types of handlers, for annotations. Not imported by ``run``, because ``typing`` is slow to import."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from zot.ext.context import ToolContext
from zot.ext.frames import Event, EventIntercept
from zot.ext.results import AssistantMessageDecision, Response, ToolCallDecision, ToolResult, TurnStartDecision

CommandHandler = Callable[..., Response | str | Awaitable[Response | str | None] | None]  # (args) or (args, ctx)
ToolHandler = Callable[[dict[str, Any]], ToolResult]
EventHandler = Callable[[Event], Any]
InterceptHandler = Callable[[str, dict[str, Any]], tuple[bool, str] | ToolCallDecision | None]
ToolCallHandler = Callable[[str, dict[str, Any]], ToolCallDecision | None]
TurnStartHandler = Callable[[int], TurnStartDecision | None]
AssistantMessageHandler = Callable[[str], AssistantMessageDecision | None]
BeforeAgentStartHandler = Callable[[EventIntercept], str | None]
ReconcileHandler = Callable[[dict[str, Any], ToolContext], str | ToolResult]
PanelKeyHandler = Callable[[str, str], Any]
PanelCloseHandler = Callable[[], Any]
