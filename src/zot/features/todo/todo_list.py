"""The model's list of steps: checked arguments, its text in the transcript, and the list read back from that.
The newest list of the transcript applies, so that it follows a resume, a fork, a rewind and a compaction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from zot.core.events import Todo, TodoStatus
from zot.errors import ToolError

if TYPE_CHECKING:
    from zot.provider.messages import Message

NAME = "Todo list"  # of the kept text
MOST_TODOS, LONGEST_TODO = 100, 300

_MARKS: dict[TodoStatus, str] = {"pending": " ", "in_progress": ">", "done": "x"}
_STATUS: dict[str, TodoStatus] = {mark: status for status, mark in _MARKS.items()}
_LINE = re.compile(r"- \[([ >x])\] (.+)")
_OTHER_NAMES: dict[str, TodoStatus] = {"completed": "done", "in progress": "in_progress", "todo": "pending"}


def parse_todos(args: dict[str, Any]) -> tuple[Todo, ...]:
    """The arguments of a call; ToolError names what is wrong."""
    given: Any = args.get("items")
    if not isinstance(given, list):
        raise ToolError('todo: expected "items", a list of {"text", "status"}; an empty list clears it')
    items = cast("list[Any]", given)
    if len(items) > MOST_TODOS:
        raise ToolError(f"todo: {len(items):,} items; at most {MOST_TODOS} are allowed: group them into larger steps")
    return tuple(_todo(number, item) for number, item in enumerate(items, 1))


def _todo(number: int, item: Any) -> Todo:
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {"text": item}
    text = fields.get("text") or fields.get("content")
    if not isinstance(text, str) or not (text := " ".join(text.split())):
        raise ToolError(f'todo: item {number}: expected a "text" that is not empty')
    if len(text) > LONGEST_TODO:
        raise ToolError(f"todo: item {number}: {len(text):,} characters; at most {LONGEST_TODO} are allowed")
    status = fields.get("status", "pending")
    known = _OTHER_NAMES.get(status, status) if isinstance(status, str) else ""
    if known not in _MARKS:
        raise ToolError(f"todo: item {number}: status: expected pending, in_progress or done")
    return Todo(_printable(text), known)


def _printable(text: str) -> str:
    """The text without characters that could drive a terminal, also if a session file was changed."""
    return "".join(character if character.isprintable() else "�" for character in text)


def to_text(todos: Sequence[Todo]) -> str:
    """A Markdown list, one step per line; empty for none."""
    return "\n".join(f"- [{_MARKS[todo.status]}] {todo.text}" for todo in todos)


def from_text(text: str) -> tuple[Todo, ...]:
    """The list of ``to_text``; other lines are skipped.

    >>> from_text(to_text([Todo("read", "done"), Todo("write")]))
    (Todo(text='read', status='done'), Todo(text='write', status='pending'))
    """
    found = filter(None, map(_LINE.fullmatch, text.split("\n")[:MOST_TODOS]))
    return tuple(Todo(_printable(line[2][:LONGEST_TODO]), _STATUS[line[1]]) for line in found)


def todos_in(messages: Sequence[Message]) -> tuple[Todo, ...]:
    """The list of a transcript."""
    from zot.core.compaction import kept_text  # only for a conversation that begins or ends

    return from_text(kept_text(messages, NAME) or "")


def progress(todos: Sequence[Todo]) -> str:
    """``2 of 5 done``."""
    return f"{sum(todo.status == 'done' for todo in todos)} of {len(todos)} done"


def current(todos: Sequence[Todo]) -> Todo | None:
    """The step in progress, else the next one; None if all are done."""
    open_ = [todo for todo in todos if todo.status != "done"]
    return next((todo for todo in open_ if todo.status == "in_progress"), next(iter(open_), None))
