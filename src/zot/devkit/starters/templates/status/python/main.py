"""__NAME__: a status item and a widget. Try it with `zot --ext .`; test it with `python3 test_main.py`."""

from __future__ import annotations

from typing import Any

from zot.ext import Event, Extension, Response, line

ext = Extension("__NAME__", "0.1.0")
calls: list[str] = []
shown = True


def draw() -> None:
    """A contribution replaces the one of its name: draw the whole, as often as you like."""
    ext.status("calls", line(("tools ", "muted"), (str(len(calls)), "accent")))
    if shown and calls:
        ext.widget("last", [line("• ", name) for name in calls[-3:]])
    else:
        ext.withdraw("widget", "last")


@ext.on_hello
def begin() -> None:
    calls.extend(ext.state or [])  # what the process before a reload returned from `save`
    draw()


@ext.on_state_save
def save() -> Any:
    return calls


@ext.on("tool_call")
def called(event: Event) -> None:
    calls.append(event.tool_name)
    draw()


@ext.command("__NAME__", "show or hide the last tools")
def toggle(args: str) -> Response:
    global shown
    shown = not shown
    draw()
    return Response.noop()


if __name__ == "__main__":
    ext.run()
