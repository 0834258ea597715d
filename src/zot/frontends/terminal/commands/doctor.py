"""``/doctor``: the report of ``zot doctor`` inside the conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zot.frontends.terminal.commands.command_context import CommandContext
from zot.tui.sanitize import one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.width import visible, wrap

if TYPE_CHECKING:
    from zot.features.extensions.registry import ExtensionStatus


async def run(context: CommandContext, arguments: str) -> None:
    from zot.features.lookup import extension_host
    from zot.frontends.doctor_report import report
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    host = extension_host(context.conversation)
    conversation, running = context.conversation, (host.statuses() if host is not None else [])
    # In a thread: it reads many files. Extensions already run; none is started.
    found = await asyncio.to_thread(report, conversation.home, Path(conversation.snapshot.directory), running)
    described = [_described(status) for status in running]

    def render(theme: Theme, width: int) -> list[str]:
        lines = [
            theme.paint("fg", row)
            for line in [*found.lines, *described]
            for row in wrap(visible(sanitize(line)), width, " " * 13)
        ]
        own = [text for feature in conversation.features for text in feature.problems()]
        listed = [*found.problems, *(text for text in own if text not in found.problems)]
        problems = [row for line in listed for row in wrap(f"! {one_line(line)}", width, "  ")]
        ending = theme.paint("tool", "nothing is wrong") if not problems else ""
        return [*lines, "", *(theme.paint("warning", row) for row in problems), *([ending] if ending else [])]

    await context.dialogs.ask(TextView("doctor", render))


def _described(status: ExtensionStatus) -> str:
    slow = f", {status.slow_calls} slow answers" if status.slow_calls else ""
    return f"{'extension':12} {one_line(status.name)}: {status.state}{slow}"
