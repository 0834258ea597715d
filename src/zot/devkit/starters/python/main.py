"""__NAME__: an extension for zot. Try it with `zot --ext .`; test it with `python3 test_main.py`."""

from __future__ import annotations

from zot.ext import Extension, Response

ext = Extension("__NAME__", "0.1.0")


@ext.tool("__TOOL__")
def count(text: str) -> str:
    """Count the words and characters of a text."""
    return f"{len(text.split())} words, {len(text)} characters"


@ext.command("__NAME__", "count the words of a text")
def command(args: str) -> Response:
    return Response.display(count(args) if args else "usage: /__NAME__ TEXT")


# zot:guard
@ext.intercept_tool_call
def guard(tool: str, args: dict[str, object]) -> tuple[bool, str]:
    """Called before every tool call. If it fails, the call is denied."""
    if tool == "bash" and "rm -rf" in str(args.get("command", "")):
        return False, "refused by __NAME__: rm -rf"
    return True, ""


# zot:end
if __name__ == "__main__":
    ext.run()
