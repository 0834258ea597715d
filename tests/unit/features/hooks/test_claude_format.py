"""Calls in Claude Code's words and back."""

from __future__ import annotations

from typing import Any

import pytest

from zot.features.hooks.claude_format import UnsupportedInput, from_claude_input, to_claude_input
from zot.features.hooks.config import Hook, hooks_of

ONE = {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}]}
TWO = {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "p", "newText": "q"}]}


def absolute(path: str) -> str:
    return path if path.startswith("/") else f"/project/{path}"


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        ("bash", {"command": "ls", "timeout": 5}, {"command": "ls", "timeout": 5000}),
        ("read", {"path": "a", "offset": 2, "limit": 3}, {"file_path": "/project/a", "offset": 2, "limit": 3}),
        ("write", {"path": "/b", "content": "c"}, {"file_path": "/b", "content": "c"}),
        (
            "grep",
            {"pattern": "p", "path": "d", "ignore_case": True},
            {"pattern": "p", "path": "/project/d", "-i": True},
        ),
        ("glob", {"pattern": "*.py"}, {"pattern": "*.py"}),
        ("skill", {"name": "commit"}, {"skill": "commit"}),
        ("mcp__git__log", {"n": 1}, {"n": 1}),
        ("edit", ONE, {"file_path": "/project/a.py", "old_string": "x", "new_string": "y", "replace_all": False}),
    ],
)
def test_there_and_back(tool: str, args: dict[str, Any], said: dict[str, Any]) -> None:
    assert to_claude_input(tool, args, absolute) == said
    assert from_claude_input(tool, said, args, absolute) == args


def test_several_replacements_become_one_valid_edit() -> None:
    said = to_claude_input("edit", TWO, absolute)
    assert said["new_string"] == "y\nq" and said["edits"][1] == {"old_string": "p", "new_string": "q"}
    assert from_claude_input("edit", said, TWO, absolute) == TWO
    changed = {**said, "edits": [{"old_string": "x", "new_string": "z"}]}
    assert from_claude_input("edit", changed, TWO, absolute) == {
        "path": "a.py",
        "edits": [{"oldText": "x", "newText": "z"}],
    }


@pytest.mark.parametrize("change", [{"new_string": "other"}, {"replace_all": True}])
def test_unsupported_claude_input_is_rejected(change: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedInput):
        from_claude_input("edit", {**to_claude_input("edit", TWO, absolute), **change}, TWO, absolute)


@pytest.mark.parametrize(
    ("matcher", "fits"),
    [
        ("", True),
        ("*", True),
        ("Bash", True),
        ("bash", True),
        ("Ba", False),
        ("Edit|Bash", True),
        ("B.*", True),
        ("(", True),
    ],
)
def test_matchers(matcher: str, fits: bool) -> None:
    assert Hook(event="PreToolUse", command="x", matcher=matcher).matches("Bash", "bash") is fits


def test_invalid_hook_is_reported_and_only_it_is_skipped() -> None:
    problems: list[str] = []
    good = {"type": "command", "command": "true", "timeout": 5, "async": True}
    events = {
        "PreToolUse": [{"matcher": "(", "hooks": [good, {"type": "prompt", "prompt": "?"}, {"command": 7}, {}]}],
        "FileChanged": [{"hooks": [good]}],
        "Stop": "no list",
        "SessionEnd": [{"hooks": [good]}],
    }
    found = hooks_of({"hooks": events}, "f", problems)
    assert [(hook.event, hook.timeout_s, hook.is_async) for hook in found] == [
        ("PreToolUse", 5, True),
        ("SessionEnd", 5, True),
    ]
    assert len(problems) == 6 and "FileChanged" in problems[-1]
    assert hooks_of({"hooks": []}, "f", problems) == () and hooks_of({}, "f", problems) == ()


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        (
            "todo",
            {"items": [{"text": "a", "status": "done"}, {"text": "b", "status": "pending"}]},
            {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]},
        ),
        (
            "ask_user",
            {"questions": [{"question": "q", "multiple": True, "options": [{"label": "a"}]}]},
            {"questions": [{"question": "q", "multiSelect": True, "options": [{"label": "a"}]}]},
        ),
        ("present_plan", {"plan": "# p"}, {"plan": "# p"}),
    ],
)
def test_tools_for_the_user_have_claude_names_and_inputs(tool: str, args: Any, said: Any) -> None:
    """issue 32.2: hooks of AskUserQuestion, TodoWrite and ExitPlanMode read and rewrite these calls."""
    assert to_claude_input(tool, args, absolute) == said
    assert from_claude_input(tool, said, args, absolute) == args
