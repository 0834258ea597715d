"""``/study``: have the agent read a directory until it understands it; queued during a turn."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext

_PROMPT = (
    "Study {place} until you understand it. Begin with its documentation and its build files, then follow the code "
    "from its entry points: what it is for, how it is divided, how data flows, how it is built and tested, and which "
    "conventions it keeps. Read as much as it takes and change nothing. Finish with a short summary that a new "
    "contributor could start from, and name what is still unclear."
)


def run(context: CommandContext, arguments: str) -> None:
    context.turns.submit(_PROMPT.format(place=arguments or "the project in the working directory"))
