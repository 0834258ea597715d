"""What draws a person's eye from elsewhere: the name of the window, which tells the state, and a bell.

The window is named after the directory; a mark in front says that zot works or that it waits for an answer, since a tab
shows only the first letters. The name changes when the state does, never with time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.tui.terminal import Terminal

WORKING, ASKING = "… ", "? "
_LONGEST_HEAD = 1_000


class Attention:
    """``branch`` is the one we are on."""

    def __init__(self, terminal: Terminal, conversation: Conversation) -> None:
        self._terminal = terminal
        self._settings = conversation.settings
        self._directory = Path(conversation.present.directory)
        self._shown = ""
        self.branch = branch_of(self._directory)
        terminal.bell = self._settings.values.bell
        self.show(busy=False, asking=False)

    def show(self, *, busy: bool, asking: bool) -> None:
        """Name the window by what goes on; nothing is written while that stays the same."""
        title = f"{ASKING if asking else WORKING if busy else ''}zot: {self._directory.name or self._directory}"
        if title != self._shown and self._settings.values.terminal_title:
            self._terminal.title(title)
            self._shown = title

    def turn_ended(self, seconds: float) -> None:
        self.branch = branch_of(self._directory)
        wanted = self._settings.values.notify_after_s
        if wanted and seconds >= wanted:
            self._terminal.alert("zot is done")


def branch_of(directory: Path) -> str:
    """The git branch a directory is on, read without running git; a short hash when it is on none."""
    for above in (directory, *directory.parents):
        git = above / ".git"
        try:
            if git.is_file():  # a worktree or submodule points elsewhere
                git = above / read_whole(git, _LONGEST_HEAD).decode().removeprefix("gitdir:").strip()
            head = read_whole(git / "HEAD", _LONGEST_HEAD).decode().strip()
        except (OSError, UnicodeError):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:7]
    return ""
