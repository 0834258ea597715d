"""An extension as its author writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zot.ext import Event, Extension, Response, ToolCallDecision, ToolContext, ToolResult, text_result

ext = Extension("orders", "1.0.0")


@dataclass
class Point:
    x: int
    y: int = 0


@ext.command("hello", "says hello")
def hello(args: str) -> Response:
    ext.notify("info", "hello")
    ext.open_panel("p", "Title", lines=["one"])
    return Response.prompt(f"Say hello to {args}")


@ext.tool()
def weather(city: str, at: Point, context: ToolContext, days: int = 1) -> ToolResult:
    "The weather in a city."
    if context.cancelled:
        return text_result("stopped")
    return text_result(f"{city}: sunny for {days} days at {at.x}")


@ext.on("turn_start")
def started(event: Event) -> None:
    ext.log(f"step {event.step}")


@ext.intercept_tool_call
def guard(name: str, args: dict[str, Any]) -> ToolCallDecision | None:
    return ToolCallDecision(block=True, reason="no") if name == "bash" and "sudo" in args["command"] else None


if __name__ == "__main__":
    ext.run()
