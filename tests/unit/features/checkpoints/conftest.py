"""Fixtures: a session with checkpoints on real files, without model and screen."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from zot.agent.tools.bash import BashTool
from zot.agent.tools.edit import EditTool
from zot.agent.tools.registry import BashLimits
from zot.agent.tools.workspace import Workspace
from zot.agent.tools.write import WriteTool
from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.core.tool import ToolContext, ToolResult
from zot.features.checkpoints.change_log import ChangeStorePaths, Event
from zot.features.checkpoints.change_recorder import FileChangeRecorder
from zot.features.checkpoints.restore_plan import RestorePlan, RestoreReport, apply_plan, plan
from zot.provider.messages import ToolCallBlock, user_message


class Project:
    """``prompt`` begins a turn; the tools then work for it."""

    def __init__(self, home: Path, cwd: Path) -> None:
        self.home, self.cwd = home, cwd
        self.told: list[str] = []
        self.store = SessionStore(home, cwd, "test")
        self.session: Session = self.store.create("p", "m")
        self.workspace = Workspace(cwd)
        self.capacity = 512 << 20
        self.progress: Callable[[str], None] = lambda text: None
        self.happened: list[Event]
        self._said = ""
        self._number = 0
        self.again()

    def again(self) -> None:
        """Starts like another process: only the files remain."""
        self.place = ChangeStorePaths(self.home)
        self.recorder = FileChangeRecorder(
            self.place, self.cwd, lambda: self.session, lambda: self._said, self.told.append, self.capacity
        )
        self.recorder.happened = self.happened = []
        self.workspace.recorder = lambda: self.recorder

    def prompt(self, text: str = "do it") -> str:
        self._number += 1
        self._said = f"2026-01-01T00:00:{self._number:02}.000Z"
        self.session.appended(msgspec.structs.replace(user_message(text), time=self._said))
        return self._said

    async def write(self, path: str, content: str) -> ToolResult:
        return await self._run(WriteTool(self.workspace), path=path, content=content)

    async def edit(self, path: str, old: str, new: str) -> ToolResult:
        return await self._run(EditTool(self.workspace), path=path, edits=[{"oldText": old, "newText": new}])

    async def bash(self, command: str) -> ToolResult:
        return await self._run(BashTool(self.workspace, BashLimits()), command=command)

    async def _run(self, tool: Any, **arguments: Any) -> ToolResult:
        return await tool.execute(arguments, ToolContext(ToolCallBlock("1", tool.name), self.progress))

    def events(self) -> list[Event]:
        return self.recorder.history()

    def plan(self, prompt: str) -> RestorePlan:
        return plan(self.events(), prompt, self.place.objects)

    def rewind(self, prompt: str, *, overwrite: bool = False) -> RestoreReport:
        found = self.plan(prompt)
        return apply_plan(self.recorder, [*found.doable, *(found.conflicts if overwrite else [])])

    def verdicts(self, prompt: str) -> dict[str, str]:
        return {Path(item.path).name: item.verdict for item in self.plan(prompt).items}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    cwd = tmp_path / "project"
    cwd.mkdir()
    return Project(tmp_path / "home", cwd)


@pytest.fixture
def git(project: Project) -> Callable[..., str]:
    """A repository in the project's directory."""

    def run(*words: str) -> str:
        settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *settings, *words], cwd=project.cwd, check=True, capture_output=True, text=True)
        return done.stdout

    run("init", "-q")
    return run
