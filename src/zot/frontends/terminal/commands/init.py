"""``/init``: have the agent write or update the project's AGENTS.md."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext

_PROMPT = """\
{task} It is read at the start of every session by coding agents that know nothing about this project, so write what \
they cannot guess and will need, and nothing else.

First look: README and other documentation, build and package files, configuration of linters, formatters and tests, \
CI workflows, rules for other agents (CLAUDE.md, .cursorrules, .github/copilot-instructions.md), the layout of the \
source, and a few typical source and test files. Run commands only to find out whether they work.

Then write, in this order, only what is true and not obvious:
- one or two sentences: what the project is;
- commands that work: build, lint, format, type-check, run all tests, run one test;
- where things are: the few directories and files one must know, and how they belong together;
- conventions that the code keeps and a stranger would break: style, names, errors, tests, commits;
- traps: generated files, things that must not be touched, steps one forgets.

Keep it under about 80 lines, in plain Markdown, without advice that holds for every project and without a list of \
every file. Say at the end what you left out because you could not verify it."""


def run(context: CommandContext, arguments: str) -> None:
    here = context.conversation.workspace.cwd
    there = next((name for name in ("AGENTS.md", "CLAUDE.md") if (here / name).is_file()), "")
    task = "Write AGENTS.md in the working directory."
    if there == "AGENTS.md":
        task = "Bring AGENTS.md in the working directory up to date: keep what is right, mend and add the rest."
    elif there:
        task = f"Write AGENTS.md in the working directory; {there} is there already, take over what is right in it."
    prompt = _PROMPT.format(task=task)
    context.turns.submit(f"{prompt}\n\nWhat matters here in particular: {arguments}" if arguments else prompt)
