"""The list of steps: arguments, its text in the transcript, and what is read back (issue 32.2)."""

from __future__ import annotations

from typing import Any

import pytest

from zot.core.compaction import kept_key
from zot.core.events import Todo
from zot.core.tool import KEPT
from zot.errors import ToolError
from zot.features.todo.todo_list import NAME, current, from_text, parse_todos, progress, to_text, todos_in
from zot.provider.messages import Message, TextBlock, ToolResultBlock

LIST = (Todo("read", "done"), Todo("write", "in_progress"), Todo("check"))


def result(text: str) -> Message:
    return Message("tool", (ToolResultBlock("1", (TextBlock("saved"),), attached={KEPT: {NAME: text}}),), "")


def test_list_is_read_from_arguments_of_several_shapes() -> None:
    items = [{"text": "read", "status": "completed"}, {"content": " a\n b ", "status": "in_progress"}, "check"]
    assert parse_todos({"items": items}) == (Todo("read", "done"), Todo("a b", "in_progress"), Todo("check"))
    assert parse_todos({"items": []}) == ()


@pytest.mark.parametrize(
    ("items", "wrong"),
    [
        (None, 'expected "items"'),
        ("x", 'expected "items"'),
        ([{"text": "step"}] * 10_000, "10,000 items; at most 100"),
        ([{"text": "a"}, {"text": " "}], "item 2: expected a"),
        ([{"text": "a", "status": "maybe"}], "item 1: status: expected pending, in_progress or done"),
        ([{"text": "x" * 301}], "item 1: 301 characters"),
    ],
)
def test_wrong_lists_name_the_item(items: Any, wrong: str) -> None:
    """issue 32.2: 10,000 items, empty and unknown values."""
    with pytest.raises(ToolError, match=wrong):
        parse_todos({"items": items})


def test_control_characters_do_not_reach_the_list() -> None:
    hostile = "a\x1b[31m\u202eb"
    [todo] = parse_todos({"items": [hostile]})
    assert todo.text == "a�[31m�b" and from_text(to_text([todo])) == (todo,)
    assert from_text(f"- [ ] {hostile}\nno step\n- [y] x") == (todo,)


def test_newest_list_of_a_transcript_applies() -> None:
    """issue 32.2: of tool results and of summaries, whichever is later; an empty one is a cleared list."""
    summary = Message("user", (TextBlock("s"),), "", {kept_key(NAME): to_text(LIST)})
    assert todos_in([]) == ()
    assert todos_in([result(to_text(LIST[:1])), summary]) == LIST
    assert todos_in([summary, result(to_text(LIST[:1]))]) == LIST[:1]
    assert todos_in([summary, result("")]) == ()


def test_progress_and_present_step() -> None:
    assert progress(LIST) == "1 of 3 done" and current(LIST) == LIST[1]
    assert current([LIST[0], LIST[2]]) == LIST[2] and current(LIST[:1]) is None
