"""The agent's list of steps in a widget above the prompt. It is kept in the session: it follows forks and rewinds."""

from __future__ import annotations

from threading import Lock
from typing import Any, Literal

from zot.ext import Extension, line

MARKS = {"open": "□", "doing": "▸", "done": "✓"}
ROLES = {"open": "muted", "doing": "accent bold", "done": "success"}
ext = Extension("todo-widget", "1.0.0")
todos = ext.branch_state("todos", default=[])
changing = Lock()  # calls run side by side


@todos.on_load
def show(items: list[dict[str, Any]]) -> None:
    if not items:
        ext.withdraw("widget", "todos")
        ext.withdraw("status", "todos")
        return
    rows = [line((MARKS[item["state"]], ROLES[item["state"]]), f" {item['text']}") for item in items]
    ext.widget("todos", rows[-12:], place="above")
    done = sum(item["state"] == "done" for item in items)
    ext.status("todos", line(f"{done}/{len(items)} ", ("steps", "muted")))


@ext.tool(guidelines=["Keep the list of steps current with todo_set for tasks of three steps or more."])
def todo_set(steps: list[str], states: list[Literal["open", "doing", "done"]]) -> str:
    """Replace the list of steps; `states` has the state of each."""
    items = [{"text": text, "state": state} for text, state in zip(steps, states, strict=True)]
    with changing:
        todos.save(items)
        show(items)
    return f"{len(items)} steps"


@ext.command("todos", "clear the list of steps")
def clear(args: str) -> None:
    todos.save([])
    show([])


if __name__ == "__main__":
    ext.run()
