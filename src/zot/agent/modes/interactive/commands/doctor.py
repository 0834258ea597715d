"""``/doctor``: what ``zot doctor`` says, without leaving the conversation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of
from zot.tui.sanitize import one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.width import visible, wrap

if TYPE_CHECKING:
    from zot.agent.extensions.registry import ExtensionStatus
    from zot.agent.modes.interactive.app import App


async def run(app: App, arguments: str) -> None:
    from zot.agent.cli.doctor import report
    from zot.agent.modes.interactive.dialogs.text_view import TextView

    runtime = agent_of(app)
    # In a thread: it looks at every file zot reads.
    found = await asyncio.to_thread(report, runtime.home, app.cwd)
    running = [_described(status) for status in _extensions(app)]

    def render(theme: Theme, width: int) -> list[str]:
        lines = [
            theme.paint("fg", row)
            for line in [*found.facts, *running]
            for row in wrap(visible(sanitize(line)), width, " " * 13)
        ]
        problems = [row for line in found.problems for row in wrap(f"! {one_line(line)}", width, "  ")]
        ending = theme.paint("tool", "nothing is wrong") if not problems else ""
        return [*lines, "", *(theme.paint("warning", row) for row in problems), *([ending] if ending else [])]

    await app.dialogs.ask(TextView("doctor", render))


def _extensions(app: App) -> list[ExtensionStatus]:
    host = agent_of(app).extensions
    return host.statuses() if host is not None else []


def _described(status: ExtensionStatus) -> str:
    slow = f", {status.slow_calls} slow answers" if status.slow_calls else ""
    return f"{'extension':12} {one_line(status.name)}: {status.state}{slow}"
