"""``/review``: have the agent review uncommitted changes, or a range of commits. Nothing changes."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext

_UNCOMMITTED = """\
the uncommitted changes of this repository: run `git status --short` and `git diff HEAD`, and read untracked files. \
If there are none, say so and review the last commit (`git show HEAD`)"""

_NAMED = """\
the following: {what}. For a commit or a range use `git show` or `git diff`; for a branch, the diff from its merge \
base with the main branch; for a path, that file. If it is none of these, find out what the user means"""

_PROMPT = """\
Review {what}.

Do not change any file, and run no command that changes something.

Read the complete diff, and enough of the surrounding code to judge it: callers, related code, existing tests.

Look for, in this order:
1. bugs: wrong behaviour, data loss, regressions
2. security problems
3. unhandled cases: empty, large, concurrent or failing input
4. broken contracts: public API, file formats, documented behaviour
5. missing or weak tests
6. code that is hard to understand without need

Report only problems in the reviewed changes that the author would fix if they knew about them. Do not report matters \
of taste, and do not praise.

Answer with the findings, most serious first. For each finding give:
- the severity: bug, risk or nit
- the location as `file:line`
- the problem, and the input or situation in which it occurs
- the fix
- whether you verified it or suspect it

If there are no findings, say so in one sentence."""


def run(context: CommandContext, arguments: str) -> None:
    context.turns.submit(_PROMPT.format(what=_NAMED.format(what=arguments) if arguments else _UNCOMMITTED))
