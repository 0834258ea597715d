"""``zot swarm race``: several attempts at one task; those that pass the check first, by cost.

Exit status 0: one passed; 1: none; 130: interrupted, running attempts continue.
"""

from __future__ import annotations

import json
import os

import msgspec

from zot.cli.arguments import ParsedArguments, parse
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import UsageError
from zot.frontends.console import run_loop
from zot.swarm.cli.main import amount, duration, request, starter
from zot.swarm.fanout.race import RaceAttempt, race
from zot.swarm.git.merge import TIMEOUT_S, CommandCheck
from zot.system.files import zot_home

_MOST = 64


def run(verb: str, argv: list[str]) -> int:
    """The exit status of ``zot swarm race ARGV``."""
    arguments = parse(argv, options(f"swarm {verb}"), least=2, what="N or TASK")
    typed, *words = arguments.words
    if not typed.isdecimal() or not 1 <= int(typed) <= _MOST:
        raise UsageError(f'"{typed}": expected the number of attempts, 1 to {_MOST}')
    try:
        tries = run_loop(_raced(arguments, int(typed), " ".join(words)))
    except KeyboardInterrupt:
        print_notice("zot: interrupted; the attempts continue: `zot swarm list`, stop them: `zot swarm stop --all`")
        return 130
    if arguments.has("--json"):
        print_escaped(json.dumps({"tries": [msgspec.to_builtins(one) for one in tries]}))
    else:
        width = max(len(one.name) for one in tries)
        for one in tries:
            mark = "passed" if one.passed else "failed"
            why = f"  {one.why}" if one.why else ""
            print_result(f"{mark}  {one.name:<{width}}  ${one.cost:.2f}  {one.seconds:.0f}s  {one.changed}{why}")
        lost = [one.name for one in tries if not one.passed]
        if tries[0].passed:
            print_notice(f"zot swarm merge {tries[0].name} merges the first")
        if lost:
            print_notice(f"zot swarm rm --force {' '.join(lost)} removes those that failed")
    return 0 if tries[0].passed else 1


async def _raced(arguments: ParsedArguments, count: int, task: str) -> list[RaceAttempt]:
    from zot.swarm.worker_config import prepare_worker

    values = arguments.values
    each = msgspec.structs.replace(
        request(arguments, task),
        mode="worktree",
        swarm=f"race-{os.urandom(4).hex()}",
        max_cost=amount(arguments, "--max-cost-each"),
    )
    seconds = duration("--check-timeout", values["--check-timeout"]) if "--check-timeout" in values else TIMEOUT_S
    check = CommandCheck(values["--check"], seconds) if "--check" in values else None
    whole = amount(arguments, "--max-cost")
    spec, credential = prepare_worker(starter(arguments), each)
    return await race(zot_home(), count, spec, max_cost=whole, check=check, credential=credential, on_line=print_notice)
