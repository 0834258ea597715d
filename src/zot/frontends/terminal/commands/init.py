"""``/init``: have the agent write or update the project's AGENTS.md."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext

_PROMPT = """\
{task} Coding agents read it at the start of every session. Include only what an agent needs and cannot see quickly \
in the code.

Before you write:
1. Read the README and other documentation, build and package files, the configuration of linters, formatters and \
tests, CI workflows, and rules for other agents (CLAUDE.md, .cursor/rules, .cursorrules, \
.github/copilot-instructions.md).
2. Look at the layout of the source and at a few typical source and test files.
3. Run a command only to check that it works. Change no other file.

Sections, in this order; omit those that do not apply:
- Overview: one or two sentences that say what the project is.
- Commands: build, lint, format, type check, run all tests, run a single test.
- Structure: the most important directories and files, and how they work together.
- Conventions: style, naming, error handling, tests and commits, where the project differs from common practice.
- Pitfalls: generated files, files that must not be edited, required steps that are easy to miss.

Rules:
- At most 80 lines of plain Markdown.
- State only facts that you verified in the repository. Do not invent commands or conventions.
- No general advice ("write tests"), no complete file list, no repetition of the README.

When you are done, list in your answer what you could not verify and therefore omitted."""


def run(context: CommandContext, arguments: str) -> None:
    here = context.conversation.workspace.cwd
    there = next((name for name in ("AGENTS.md", "CLAUDE.md") if (here / name).is_file()), "")
    task = "Create AGENTS.md in the working directory."
    if there == "AGENTS.md":
        task = "Update AGENTS.md in the working directory: keep correct parts, fix wrong ones, add what is missing."
    elif there:
        task = f"Create AGENTS.md in the working directory, and reuse the correct parts of the existing {there}."
    prompt = _PROMPT.format(task=task)
    context.turns.submit(f"{prompt}\n\nAdditional instructions from the user: {arguments}" if arguments else prompt)
