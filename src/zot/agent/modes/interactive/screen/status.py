"""What zot says about itself: one slot for the last result (good or bad), and the status bar."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.dialogs.dialog import CONFIRM
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets.spinner import Spinner
from zot.tui.widgets.status_bar import Stat, StatusBar, tokens
from zot.tui.width import cut, wrap

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.core.agent import Agent

_ERROR_ROWS = 4
_WARN, _HIGH = 70, 90  # percent of the window


class Status:
    """``ok`` and ``error`` replace each other; both are cleared by the next prompt or command."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.spinner = Spinner()
        self.text = ""
        self.failed = False
        self.doing = ""  # the tool that runs, said instead of the phrase
        self.compacting = False

    def ok(self, text: str) -> None:
        self._say(text, failed=False)

    def error(self, text: str) -> None:
        self._say(text, failed=True)

    def _say(self, text: str, *, failed: bool) -> None:
        self.text, self.failed = one_line(text), failed
        self._app.redraw()

    def clear(self) -> None:
        self.text, self.failed = "", False

    def lines(self, theme: Theme, width: int) -> list[str]:
        """The slot: what went well on one row, what went wrong on as many as its advice needs, within reason."""
        if not self.text:
            return []
        if not self.failed:
            return [theme.paint("tool", cut(f"✓ {self.text}", width))]
        rows = wrap(f"✖ {self.text}", width, "  ")
        if len(rows) > _ERROR_ROWS:
            rows[_ERROR_ROWS - 1 :] = [cut(" ".join([rows[_ERROR_ROWS - 1], rows[_ERROR_ROWS].strip()]), width)]
        return [theme.paint("error", row) for row in rows]

    def bar(self, theme: Theme, width: int) -> list[str]:
        app = self._app
        doing = "waiting for your answer" if app.dialogs.waiting(CONFIRM) else self.doing
        busy = self.spinner.text(theme, instead=doing) if app.turns.busy else ""
        return StatusBar(
            busy=busy,
            model=self._model(),
            stats=self._stats(),
            tags=self._tags(),
            place=self._place(),
        ).lines(theme, width)

    def _model(self) -> str:
        runtime = self._app.runtime
        if runtime is None:
            return "starting…"
        if runtime.resolved.missing:
            return "not logged in: /login"
        model = runtime.agent.model
        level = runtime.agent.reasoning
        return one_line(f"({model.provider}) {model.id}" + (f" {level}" if level and level != "off" else ""))

    def _stats(self) -> tuple[Stat, ...]:
        runtime = self._app.runtime
        if runtime is None:
            return ()
        credential = runtime.resolved.credential
        subscription = credential is not None and credential.method == "oauth"
        return stats_of(runtime.agent, compacting=self.compacting, subscription=subscription)

    def _tags(self) -> tuple[str, ...]:
        return ("yolo mode disabled",) if self._app.confirming else ()

    def _place(self) -> str:
        return one_line(f"{home_as_tilde(str(self._app.cwd))}{self._app.branch}")


def stats_of(agent: Agent, *, compacting: bool = False, subscription: bool = False) -> tuple[Stat, ...]:
    """Only what is not zero: a fresh session shows no figures."""
    cost = agent.cost
    counts = (
        ("↑", cost.input_tokens),
        ("↓", cost.output_tokens),
        ("R", cost.cache_read_tokens),
        ("W", cost.cache_write_tokens),
    )
    stats = [Stat(f"{mark}{tokens(count)}") for mark, count in counts if count]
    if cost.cost_usd or (subscription and stats):
        stats.append(Stat(f"${cost.cost_usd:.3f}" + (" (sub)" if subscription else "")))
    return (*stats, *_context(agent, compacting=compacting))


def _context(agent: Agent, *, compacting: bool) -> tuple[Stat, ...]:
    used, window = agent.last_context_tokens, agent.model.context_window
    if not used:
        return ()
    auto = " (auto)" if compacting else ""
    if not window:
        return (Stat(tokens(used) + auto),)
    percent = used * 100 / window
    role = "ctx_high" if percent > _HIGH else "ctx_warn" if percent > _WARN else "muted"
    return (Stat(f"{percent:.1f}%/{tokens(window)}{auto}", role),)


def home_as_tilde(path: str) -> str:
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home.rstrip("/") + "/") else path
