"""``/study``: have the agent read a directory until it understands it; queued during a turn."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext

_PROMPT = """\
Study {place} until you understand it. Read only: change nothing.

Start with the documentation and build files, then follow the code from its entry points. Find out:
- its purpose
- its main parts and their responsibilities
- how data flows through them
- how it is built, run and tested
- its conventions

Finish with a short summary for a new contributor, with paths to the most important files, and a list of open \
questions."""


def run(context: CommandContext, arguments: str) -> None:
    context.turns.submit(_PROMPT.format(place=arguments or "the project in the working directory"))
