"""``zot acp``: the agent in an editor, over the Agent Client Protocol."""

from __future__ import annotations

import sys

from zot.cli import flags
from zot.errors import UsageError

_OWN = ("--login", "--setup")


def run(argv: list[str]) -> int:
    if argv[:1] and argv[0].partition("=")[0] in _OWN:
        return _own(argv)
    given = flags.parse(argv)
    if given.mode or given.prompt:
        word = (given.prompt or argv[0]).split()[0]
        raise UsageError(f"zot acp: unexpected {word!r}")
    if sys.stdin is not None and sys.stdin.isatty():
        from zot.frontends.console import print_notice

        print_notice("waiting for an editor on stdin; `zot acp --setup EDITOR` prints its configuration (ctrl+c ends)")
    from zot.frontends.acp.hello import answer_first_line  # the rest is loaded after the first answer

    early, capabilities = answer_first_line()
    from zot.frontends.acp.runner import run_acp

    return run_acp(given.config(keep_session=not given.no_session), early, capabilities)


def _own(argv: list[str]) -> int:
    from zot.cli.arguments import parse
    from zot.cli.output import print_result
    from zot.cli.verb_table import options

    typed = parse(argv, options("acp"), most=0)
    if typed.has("--login"):
        from zot.cli.verbs import auth

        return auth.run(["login"])
    from zot.frontends.acp.setup import snippet

    for line in snippet(next(reversed(typed.all("--setup")))).splitlines():
        print_result(line)
    return 0
