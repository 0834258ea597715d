"""``/review``: have the agent review uncommitted changes, or a range of commits. Nothing changes."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext

_UNCOMMITTED = """\
the changes of this repository that are not committed: `git status --short`, `git diff HEAD`, and the files git does \
not know yet. If there are none, say so and review the last commit instead (`git show HEAD`)"""

_NAMED = """\
what this names: {what}. If it is a range, a branch or a commit, look at `git diff` or `git show` of it (for a \
branch, against where it left the main branch); if it is a path, review that file; else find out what is meant"""

_PROMPT = """\
Review {what}.

Read the changes whole, and as much of the code around them as you need to judge them: who calls it, what the tests \
cover. Do not change anything, and do not run what changes anything.

Look for, in this order: wrong behaviour and lost data; security; cases that are not handled (empty, large, \
concurrent, failing); broken promises to callers; missing or weak tests; what is needlessly hard to read. Do not \
report taste, and do not praise.

Answer with the findings, the worst first. Each has: how bad it is (bug, risk, nit), `file:line`, what is wrong and \
how it shows, and what to do. Say of each whether you verified it or only suspect it. If there is nothing worth \
changing, say that in one sentence."""


def run(context: CommandContext, arguments: str) -> None:
    context.turns.submit(_PROMPT.format(what=_NAMED.format(what=arguments) if arguments else _UNCOMMITTED))
