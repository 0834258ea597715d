"""What zot tells the world outside its own rows: the window's title, a bell after a long turn, the branch it is on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App

_LONGEST_HEAD = 1_000


class Attention:
    def __init__(self, app: App) -> None:
        self._app = app

    def opened(self) -> None:
        """The agent is there: settings say whether the window may be named."""
        runtime = self._app.runtime
        if runtime is not None and runtime.settings.values.terminal_title:
            self._app.terminal.title(f"zot: {self._app.cwd.name or self._app.cwd}")
        self._look_at_branch()

    def turn_ended(self, seconds: float) -> None:
        runtime = self._app.runtime
        self._look_at_branch()
        wanted = runtime.settings.values.notify_after_s if runtime is not None else 0
        if wanted and seconds >= wanted:
            self._app.terminal.alert("zot is done")

    def _look_at_branch(self) -> None:
        branch = branch_of(self._app.cwd)
        self._app.branch = f" ({branch})" if branch else ""


def branch_of(directory: Path) -> str:
    """The git branch a directory is on, read without running git; a short hash when it is on none."""
    for place in (directory, *directory.parents):
        git = place / ".git"
        try:
            if git.is_file():  # a worktree or submodule points elsewhere
                git = place / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            with open(git / "HEAD", encoding="utf-8") as file:
                head = file.read(_LONGEST_HEAD).strip()
        except (OSError, UnicodeError):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:7]
    return ""
