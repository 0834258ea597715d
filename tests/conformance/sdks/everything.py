"""An extension that uses every verb of the Python SDK; its twins in other languages answer the same bytes."""

from __future__ import annotations

from typing import Any

from zot.ext import (
    AssistantMessageDecision,
    Event,
    EventIntercept,
    Extension,
    Response,
    ToolCallDecision,
    ToolContext,
    ToolResult,
    TurnStartDecision,
    image_bytes,
    markdown_result,
    text,
    text_error_result,
)

ext = Extension("everything", "1.2.3", guard=True)
ANY = {"type": "object"}


@ext.on_hello
def greet() -> None:
    ext.command(f"hello-{ext.host.provider}", "made in on_hello")(lambda args: Response.noop())


@ext.command("show", "shows")
def show(args: str) -> Response:
    return Response.display(args)


@ext.command("ask", "asks")
def ask(args: str) -> Response:
    return Response.prompt(args)


@ext.command("put", "inserts")
def put(args: str) -> Response:
    return Response.insert(args)


@ext.command("panel", "opens a panel")
def panel(args: str) -> Response:
    return Response.open_panel("p", "T", ["a", "b"], "f")


@ext.command("toolprompt")
def toolprompt(args: str) -> Response:
    return Response.tool_prompt("and push", "skill", {"name": "x"})


@ext.command("nothing")
def nothing(args: str) -> Response:
    return Response.noop()


@ext.command("fail")
def fail(args: str) -> Response:
    return Response.error(f"failed: {args}")


@ext.command("crash")
def crash(args: str) -> Response:
    raise ValueError("boom")


@ext.command("say")
def say(args: str) -> Response:
    ext.notify("info", args)
    ext.clear_notes()
    ext.open_panel("free", "Title", ["x"], "foot")
    ext.render_panel("free", "", ["y"], "")
    ext.close_panel("free")
    ext.submit("typed")
    ext.submit_slash("/help")
    return Response.noop()


@ext.command("where")
def where(args: str) -> Response:
    return Response.display(f"{ext.host.provider} {ext.host.model} {ext.host.cwd} {ext.host.data_dir}")


@ext.command("print")
def stray(args: str) -> Response:
    print("stray output")
    ext.log("logged", args)
    return Response.noop()


@ext.command("more")
def more(args: str) -> Response:
    ext.command("fresh", "late")(lambda args: Response.noop())
    return Response.noop()


@ext.tool(
    "echo", "Echoes.", schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
)
def echo(args: dict[str, Any]) -> ToolResult:
    return ToolResult(content=[text(args.get("text", "nothing"))])


@ext.tool("picture", "Shows.", schema=ANY)
def picture(args: dict[str, Any]) -> ToolResult:
    return ToolResult(content=[text("look"), image_bytes("image/png", b"hello")])


@ext.tool("data", "Counts.", schema=ANY)
def data(args: dict[str, Any]) -> ToolResult:
    return ToolResult(content=[text("one")], activate_tools=["later"], structured_content={"n": 1})


@ext.tool(
    "later",
    "Waits.",
    schema=ANY,
    output_schema=ANY,
    namespace="ns",
    namespace_description="nd",
    namespace_instructions="ni",
    exposure="deferred",
    deferred=True,
    interactive=True,
    replay="reconcile",
)
def later(args: dict[str, Any], context: ToolContext) -> str:
    return f"key {context.operation_key}"


@ext.reconciler("later")
def reconcile(args: dict[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(content=[text(context.operation_key)], structured_content={"state": "completed"})


@ext.tool("broken", "Crashes.", schema=ANY)
def broken(args: dict[str, Any]) -> str:
    raise ValueError("boom")


@ext.tool("wrong", "Fails.", schema=ANY)
def wrong(args: dict[str, Any]) -> ToolResult:
    return text_error_result("no")


@ext.tool("md", "Formats.", schema=ANY)
def md(args: dict[str, Any]) -> ToolResult:
    return markdown_result("*a*")


@ext.tool("slow", "Waits to be cancelled.", schema=ANY)
def slow(args: dict[str, Any], context: ToolContext) -> str:
    ext.notify("info", "slow started")
    context.wait_cancelled(30)
    ext.notify("info", "slow stopped")
    return "late"


@ext.tool("nested", "Calls back.", schema=ANY)
def nested(args: dict[str, Any]) -> str:
    called = ext.call_tool("hosted", {"a": 1})
    return f"{called.content[0].text} {called.name}"


@ext.on("turn_start")
def on_turn_start(event: Event) -> None:
    ext.notify("info", f"turn {event.step}")


@ext.on("session_end")
def on_session_end(event: Event) -> None:
    raise ValueError("boom")


@ext.on("tool_result")
def on_tool_result(event: Event) -> None:
    assert event.result is not None
    ext.notify("success", f"{event.tool_name} {event.result.content[0].text}")


@ext.intercept_tool_call_x
def tool_call(tool: str, args: dict[str, Any]) -> ToolCallDecision | None:
    if tool == "rm":
        return ToolCallDecision(block=True, reason=f"no rm {args.get('path', '')}")
    if tool == "ls":
        return ToolCallDecision(modified_args={"command": "echo"})
    if tool == "crash":
        raise ValueError("boom")
    return None if tool == "none" else ToolCallDecision()


@ext.intercept_turn_start
def turn_start(step: int) -> TurnStartDecision:
    if step == 9:
        raise ValueError("boom")
    return TurnStartDecision(block=True, reason="enough") if step == 3 else TurnStartDecision()


@ext.intercept_assistant_message
def assistant_message(words: str) -> AssistantMessageDecision:
    match words:
        case "SECRET":
            return AssistantMessageDecision(replace_text="[redacted]")
        case "hide":
            return AssistantMessageDecision(block=True, reason="hidden")
        case "crash":
            raise ValueError("boom")
        case _:
            return AssistantMessageDecision()


@ext.intercept_before_agent_start
def before_agent_start(asked: EventIntercept) -> str | None:
    if asked.system_prompt == "crash":
        raise ValueError("boom")
    if asked.system_prompt == "keep":
        return None
    return "" if asked.system_prompt == "drop" else f"{asked.system_prompt}!"


ext.on_panel_key(
    "p", lambda key, words: ext.render_panel("p", "", [key + words], ""), lambda: ext.notify("info", "closed")
)

if __name__ == "__main__":
    ext.run()
