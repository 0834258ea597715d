"""The ``if`` of a hook: Claude Code's table; an unevaluable condition matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.features.hooks.conditions import command_fits, matches_condition
from zot.features.hooks.config import Hook, hooks_of
from zot.features.rules.paths import path_fits

CWD, ROOT = Path("/p/sub"), Path("/p")

COMMANDS = [
    ("git *", "FOO=bar git push", True),
    ("git *", "npm test && git push", True),
    ("rm *", "echo $(rm -rf /)", True),
    ("rm *", "echo $(date)", False),
    ("git push *", "echo $(date)", True),
    ("git *", "git", True),
    ("git *", "gitk", False),
    ("git:*", "git status", True),
    ("git push", "git push", True),
    ("git push", "git push origin", False),
    ("* install", "npm install", True),
    ("git * main", "git push origin main", True),
    ("git *", "echo 'git push'", False),
    ("git *", 'echo "`git push`"', True),
    ("git *", "cat <(git log) > out 2>&1", True),
    ("make *", "make 2>&1 | tee log", True),
    ("rm *", "if true; then rm x; fi", True),
    ("rm *", "(cd x && timeout 5 rm y)", True),
    ("rm *", "$CMD x", True),
    ("rm *", "echo 'never closed", True),
    ("rm *", "$(" * 100, True),
]


@pytest.mark.parametrize(("pattern", "command", "wanted"), COMMANDS)
def test_commands(pattern: str, command: str, wanted: bool) -> None:
    assert command_fits(pattern, command) is wanted


PATHS = [
    ("*.ts", "/p/sub/a/b.ts", True),
    ("*.ts", "/p/sub/a/b.js", False),
    ("src/**", "/p/sub/src/x/y.c", True),
    ("src/**", "/p/src/y.c", False),
    ("/src/**", "/p/src/y.c", True),
    ("./docs/", "/p/sub/docs/index.md", True),
    ("//etc/**", "/etc/passwd", True),
]


@pytest.mark.parametrize(("pattern", "path", "wanted"), PATHS)
def test_paths(pattern: str, path: str, wanted: bool) -> None:
    assert path_fits(pattern, path, CWD, ROOT) is wanted


def test_tools() -> None:
    assert matches_condition("Edit(*.ts)", ("Write", "write"), {"file_path": "/p/sub/q.ts"}, CWD, ROOT)
    assert not matches_condition("Edit(*.ts)", ("Read", "read"), {"file_path": "/p/sub/q.ts"}, CWD, ROOT)
    assert matches_condition("mcp__files", ("mcp__files__read",), {}, CWD, ROOT)
    assert matches_condition("mcp__files__*", ("mcp__files__read",), {}, CWD, ROOT)
    assert not matches_condition("mcp__files__write", ("mcp__files__read",), {}, CWD, ROOT)
    assert matches_condition("Bash(", ("Bash", "bash"), {"command": "ls"}, CWD, ROOT), "what is no rule fits"


@pytest.mark.parametrize(
    ("matcher", "name", "wanted"),
    [
        ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("Edit", "NotebookEdit", False),
        ("^Notebook", "NotebookEdit", True),
        ("Edit.*", "NotebookEdit", True),
        ("mcp__files", "mcp__files__read", False),
        ("mcp__files__.*", "mcp__files__read", True),
        ("(", "Read", True),
    ],
)
def test_matchers(matcher: str, name: str, wanted: bool) -> None:
    assert Hook(event="PreToolUse", command="x", matcher=matcher).matches(name) is wanted


def test_unknown_condition_is_reported_once_by_name() -> None:
    problems: list[str] = []
    odd = {"type": "command", "command": "x", "colour": "red", "statusMessage": "hm"}
    value = {"hooks": {"Stop": [{"hooks": [odd, odd], "when": "later"}], "PreToolUse": [{"hooks": [odd]}]}}
    assert len(hooks_of(value, "f", problems)) == 3
    assert problems == ['hooks: f: ignored unknown hook fields: "colour", "when"']


def test_condition_without_call_is_reported_and_never_matches() -> None:
    problems: list[str] = []
    entry = {"type": "command", "command": "x", "if": "Bash(git *)"}
    assert hooks_of({"hooks": {"Stop": [{"hooks": [entry]}]}}, "f", problems) == ()
    assert "skipped a Stop hook" in problems[0]
