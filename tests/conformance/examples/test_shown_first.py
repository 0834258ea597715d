"""The examples of the second edition that the guide shows first: a guard that asks, a long build, a widget."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.conformance.examples.example_stage import running
from tests.fakes.client import calls, says

READ = ("read", {"path": ".env"})


@pytest.mark.parametrize(
    ("answers", "allowed", "asked"),
    [(["once", "once"], [True, True], 2), (["session"], [True, True], 1), (["no", "no"], [False, False], 2)],
)
async def test_protected_paths_asks_once_or_for_the_session(
    tmp_path: Path, answers: list[str], allowed: list[bool], asked: int
) -> None:
    """ext2-160: the guard's question belongs to its interception; what the user chose holds."""
    async with running(
        "protected-paths", tmp_path, calls(READ), calls(READ), says("done"), answers=list(answers)
    ) as run:
        (tmp_path / "project" / ".env").write_text("TOKEN=1\n")
        await run.conversation.prompt("go")
        results = [run.result(number) for number in (1, 2)]
        assert [not is_error for _, is_error in results] == allowed
        assert len(run.dialogs) == asked
        assert run.dialogs[0].params.title == "read .env?"
        assert "TOKEN" in results[0][0] if allowed[0] else "protects .env" in results[0][0]


async def test_protected_paths_blocks_without_a_user(tmp_path: Path) -> None:
    """ext2-074: where no user can be asked the guard blocks, and other files are read."""
    async with running("protected-paths", tmp_path, calls(READ), calls(("read", {"path": "a"})), says("done")) as run:
        (tmp_path / "project" / ".env").write_text("TOKEN=1\n")
        (tmp_path / "project" / "a").write_text("free\n")
        await run.conversation.prompt("go")
        assert "no user can be asked" in run.result(1)[0]
        assert "free" in run.result(2)[0]


BUILD = """
import sys, time
for step in range(1, 4):
    print(f"[{step}/3] compiling", flush=True)
    time.sleep(0.06)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 0)
"""


async def test_long_build_shows_progress_and_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-055: text and fraction of the newest line, and a status item while it works."""
    _build(tmp_path, BUILD, monkeypatch)
    model = (calls(("build", {})), calls(("build", {"target": "2"})), says("done"))
    async with running("long-build", tmp_path, *model) as run:
        await run.conversation.prompt("go")
        assert [progress.fraction for progress in run.progress if progress.fraction]
        assert run.progress[0].text.endswith("compiling")
        assert ("status", "build", {"line": ["building ", {"text": "2", "style": "accent"}]}) in run.screen.history
        assert run.screen.drawn == {}
        text, failed = run.result(1)
        assert not failed and text.splitlines()[-1] == "built"
        assert run.result(2) == (
            "[1/3] compiling\n[2/3] compiling\n[3/3] compiling\nthe build failed with exit code 2",
            True,
        )


async def test_long_build_stops_when_the_turn_is_aborted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-061: the abort reaches the handler, which ends its build; ext2-056: the newest lines are kept."""
    script = "import os, time\nprint(os.getpid(), flush=True)\nprint('[1/9] long', flush=True)\ntime.sleep(60)"
    _build(tmp_path, script, monkeypatch)
    async with running("long-build", tmp_path, calls(("build", {})), says("done")) as run:
        task = asyncio.ensure_future(run.conversation.prompt("go"))
        await run.until(lambda: any("[1/9]" in progress.text for progress in run.progress))
        run.conversation.abort()
        await task
        last = run.conversation.messages[-1].tool_results()[-1]
        kept = "\n".join(getattr(block, "text", "") for block in last.content)
        assert "[1/9] long" in kept
        pid = int(next(line for line in kept.splitlines() if line.isdigit()))
        await run.until(lambda: not Path(f"/proc/{pid}").exists())
        await run.until(lambda: not run.screen.drawn)


def _build(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "build.py"
    program.write_text(script)
    monkeypatch.setenv("BUILD_COMMAND", f"python3 {program}")


async def test_todo_widget_draws_the_list_and_finds_it_again(tmp_path: Path) -> None:
    """ext2-101: the list is kept in the session; a new process draws the list of its branch."""
    steps = {"steps": ["read", "write"], "states": ["done", "doing"]}
    async with running("todo-widget", tmp_path, calls(("todo_set", steps)), says("done"), answers=[]) as run:
        await run.conversation.prompt("go")
        assert run.result() == ("2 steps", False)
        await run.until(lambda: run.screen.texts("widget", "todos") == ["✓ read", "▸ write"])
        assert run.screen.texts("status", "todos") == ["1/2 steps"]
        run.screen.drawn.clear()
        await run.host.reload()
        await run.until(lambda: run.screen.texts("widget", "todos") == ["✓ read", "▸ write"])
        await run.command("/todos")
        await run.until(lambda: not run.screen.drawn)
