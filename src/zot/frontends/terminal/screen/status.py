"""The last result, the status bar, the window's title, and the bell after a long turn."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from zot.features.lookup import asks_outside
from zot.system.safe_open import read_whole
from zot.tui.sanitize import beginning, one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Stat, StatusBar, tokens
from zot.tui.width import cut, wrap

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.permission_modes import Mode
    from zot.frontends.terminal.screen.activity import Activity
    from zot.tui.terminal import Terminal

# The window is named after the directory. A leading mark shows that zot works or waits for an answer, since a tab shows
# only the first letters; the title changes with the state, never with time.

WORKING, ASKING = "… ", "? "
_LONGEST_HEAD = 1_000


class WindowTitle:
    """``branch`` is the current one."""

    def __init__(self, terminal: Terminal, conversation: Conversation) -> None:
        self._terminal = terminal
        self._settings = conversation.settings
        self._directory = Path(conversation.snapshot.directory)
        self._shown = ""
        self.branch = branch_of(self._directory)
        self.extra: Callable[[], str] = str  # the title of an extension
        terminal.bell = self._settings.values.bell
        self.show(busy=False, asking=False)

    def show(self, *, busy: bool, asking: bool) -> None:
        """Set the window title by state; nothing is written while it is unchanged."""
        text = self.extra() or f"zot: {self._directory.name or self._directory}"
        title = f"{ASKING if asking else WORKING if busy else ''}{text}"
        if title != self._shown and self._settings.values.terminal_title:
            self._terminal.title(title)
            self._shown = title

    def turn_ended(self, seconds: float) -> None:
        self.branch = branch_of(self._directory)
        wanted = self._settings.values.notify_after_s
        if wanted and seconds >= wanted:
            self._terminal.alert("zot is done")


def branch_of(directory: Path) -> str:
    """The git branch of a directory, read without running git; a short hash if detached."""
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


_MOST_ROWS = 6
_WARN, _HIGH = 70, 90  # percent of the window
_LONGEST_SAID = 2_000
_LONGEST_NAME = 200
_MODES: dict[Mode, str] = {
    "plan": "plans only",
    "ask": "asks first",
    "accept-edits": "accepts edits",
    "everything": "runs everything",
}


class StatusLine:
    """``ok`` and ``error`` replace each other; the next prompt or command clears both."""

    def __init__(self, redraw: Callable[[], None]) -> None:
        self._redraw = redraw
        self.text = ""
        self.failed = False

    def ok(self, text: str) -> None:
        self._show(text, failed=False)

    def error(self, text: str) -> None:
        self._show(text, failed=True)

    def _show(self, text: str, *, failed: bool) -> None:
        self.text, self.failed = one_line(beginning(text, _LONGEST_SAID)), failed
        self._redraw()

    def clear(self) -> None:
        self.text, self.failed = "", False

    def lines(self, theme: Theme, width: int) -> list[str]:
        """On several rows if needed, within limits: its end may be a path or a warning."""
        if not self.text:
            return []
        mark, role = ("✖", "error") if self.failed else ("✓", "tool")
        rows = wrap(f"{mark} {self.text}", width, "  ")
        if len(rows) > _MOST_ROWS:
            rows[_MOST_ROWS - 1 :] = [cut(" ".join([rows[_MOST_ROWS - 1], rows[_MOST_ROWS].strip()]), width)]
        return [theme.paint(role, row) for row in rows]


class Bar(Protocol):
    """The rows at the editor: model, cost, directory; and activity while something runs."""

    def lines(self, theme: Theme, width: int) -> list[str]: ...

    def status(self, theme: Theme, width: int) -> list[str]:
        """The activity row; None when idle."""
        ...

    def essentials(self, theme: Theme) -> str:
        """What no extension may hide: permission mode and jail."""
        ...


class StartingBar:
    """Before the agent is built."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def lines(self, theme: Theme, width: int) -> list[str]:
        return StatusBar(model="starting…", place=place(str(self._directory))).lines(theme, width)

    def status(self, theme: Theme, width: int) -> list[str]:
        return []

    def essentials(self, theme: Theme) -> str:
        return ""


class AgentBar:
    """``busy``: something runs; ``asking``: a confirmation waits; ``mode``: permission mode; ``swarm``: running
    workers; ``sharing``: other clients of the conversation."""

    def __init__(
        self,
        conversation: Conversation,
        activity: Activity,
        attention: WindowTitle,
        *,
        busy: Callable[[], bool],
        asking: Callable[[], bool],
        mode: Callable[[], Mode],
        swarm: Callable[[], str] = str,
        sharing: Callable[[], str] = str,
    ) -> None:
        self._sharing = sharing
        self._conversation = conversation
        self._activity = activity
        self._attention = attention
        self._busy, self._asking, self._mode, self._swarm = busy, asking, mode, swarm

    def status(self, theme: Theme, width: int) -> list[str]:
        return [self._activity.row(theme, width, asking=self._asking())] if self._busy() else []

    def lines(self, theme: Theme, width: int) -> list[str]:
        self._attention.show(busy=self._busy(), asking=self._asking())
        count = self._conversation.workspace.running_jobs
        jobs = f"{count} job{'s' if count > 1 else ''} running: /jobs" if count else ""
        features = (feature.status() for feature in self._conversation.features)
        if self._conversation.unavailable_reason:
            model = "not logged in: /login"
        else:
            present = self._conversation.snapshot
            level = present.reasoning if present.reasoning != "off" else ""
            model = beginning(present.model, _LONGEST_NAME)
            model = one_line(f"({present.provider}) {model} {level}".rstrip())
        credential = self._conversation.resolved.credential
        subscription = credential is not None and credential.method == "oauth"
        return StatusBar(
            model=model,
            stats=stats_of(self._conversation, compacting=self._activity.compacting, subscription=subscription),
            tags=(self._permission(), *filter(None, (*features, jobs, self._swarm(), self._sharing()))),
            place=place(self._conversation.snapshot.directory, self._attention.branch),
        ).lines(theme, width)

    def essentials(self, theme: Theme) -> str:
        mode = self._permission()
        tags = (theme.paint("muted", tag) for feature in self._conversation.features if (tag := feature.status()))
        return " ".join([theme.paint(mode.role, mode.text), *tags])

    def _permission(self) -> Stat:
        """The mode; a warning if everything runs and nothing confines it."""
        mode = self._mode()
        confined = self._conversation.workspace.jail is not None
        if mode != "plan" and confined and asks_outside(self._conversation):
            gate = self._conversation.gate
            if mode == "everything" or gate is None or not gate.mode_chosen:  # nothing inside needs approval
                return Stat("asks about outside", "muted")
        return Stat(_MODES[mode], "warning" if mode == "everything" and not confined else "muted")


def stats_of(conversation: Conversation, *, compacting: bool = False, subscription: bool = False) -> tuple[Stat, ...]:
    """Only figures other than zero."""
    cost = conversation.total_usage
    counts = (
        ("↑", cost.input_tokens),
        ("↓", cost.output_tokens),
        ("R", cost.cache_read_tokens),
        ("W", cost.cache_write_tokens),
    )
    stats = [Stat(f"{mark}{tokens(count)}") for mark, count in counts if count]
    if cost.cost_usd or (subscription and stats):
        stats.append(Stat(f"${cost.cost_usd:.3f}" + (" (sub)" if subscription else "")))
    used, window = conversation.context_tokens, conversation.model.context_window
    if not used:
        context = ()
    else:
        auto = " (auto)" if compacting else ""
        if not window:
            context = (Stat(tokens(used) + auto),)
        else:
            percent = used * 100 / window
            role = "ctx_high" if percent > _HIGH else "ctx_warn" if percent > _WARN else "muted"
            context = (Stat(f"{percent:.1f}%/{tokens(window)}{auto}", role),)
    return (*stats, *context)


def place(directory: str, branch: str = "") -> str:
    return one_line(home_as_tilde(directory) + (f" ({branch})" if branch else ""))


def home_as_tilde(path: str) -> str:
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home.rstrip("/") + "/") else path
