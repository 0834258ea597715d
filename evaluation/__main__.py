"""``python -m evaluation``: lets a model try every task, prints a row for each and the rates, keeps all of it as JSON.

Without ``--provider`` it is the turn of the installed local models, each with the grammar and without it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import msgspec

from evaluation import results
from evaluation.attempt import Attempt, Setting, attempt
from evaluation.contenders import GRAMMAR, PLAIN, REFERENCE, Contender, local, named
from evaluation.results import ROOT, Results
from evaluation.task import HELD_OUT, TASKS, Task, every_task, jail


def main() -> int:
    options = _options()
    every = every_task(HELD_OUT if options.held_out else TASKS)
    tasks = [task for task in every if re.search(options.only, task.id)]
    if not tasks:
        sys.exit(f"evaluation: no task fits {options.only}; they are in evaluation/tasks")
    with closing(contenders(options)) as those:
        made = [run(one, tasks, options) for one in those]
    if options.write:
        for one in made:
            results.keep(one)
        results.write_page(results.kept())
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(made), indent=1).decode())
    return 0 if not options.reference or all(one.passed for each in made for one in each.attempts) else 1


def contenders(options: argparse.Namespace) -> Generator[Contender]:
    if options.reference:
        yield REFERENCE
    elif options.provider not in ("", "local"):
        yield named(options.provider, options.model)
    else:
        only = (GRAMMAR,) if options.grammar else (PLAIN,) if options.plain else (GRAMMAR, PLAIN)
        yield from local(options.model, only)


def run(contender: Contender, tasks: list[Task], options: argparse.Namespace) -> Results:
    rows = sys.stderr if options.json else sys.stdout
    jailed = _has_jail()
    print(f"{contender.title}: {len(tasks)} tasks, {'in' if jailed else 'without'} a jail", file=rows, flush=True)
    setting = Setting(contender, limit=options.limit, jailed=jailed, keep=options.keep / contender.name)
    attempts: list[Attempt] = []
    for task in tasks:
        for _ in range(options.repeat):
            attempts.append(attempt(task, setting))
            print(results.line(attempts[-1]), file=rows, flush=True)
    told = (results.today(), results.machine(), results.commit())
    made = Results(contender.name, contender.model, contender.calls, *told, attempts)
    path = results.keep(made, options.keep)
    print(f"\n{results.summary(made)}\nkept: {path}, with the events of each task beside it\n", file=rows)
    return made


def _has_jail() -> bool:
    return subprocess.run([*jail(), "true"], capture_output=True).returncode == 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="evaluation", description="Lets a model try small tasks, and checks them.")
    parser.add_argument("--provider", default="", help="a provider as zot knows it (default: the local models)")
    parser.add_argument("--model", default="", help="its model")
    parser.add_argument("--grammar", action="store_true", help="local models: only with the grammar")
    parser.add_argument("--plain", action="store_true", help="local models: only without it")
    parser.add_argument("--only", default="", metavar="REGEX", help="only tasks whose group/name it fits")
    parser.add_argument("--held-out", action="store_true", help="the tasks that nobody makes zot better with")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="try each task that often")
    parser.add_argument("--limit", type=float, default=300.0, metavar="S", help="seconds a task may take (300)")
    parser.add_argument("--reference", action="store_true", help="play the reference solutions, to test the tasks")
    parser.add_argument("--json", action="store_true", help="print the results as JSON; the rows go to stderr")
    parser.add_argument("--keep", type=Path, default=ROOT / ".cache" / "evaluation", metavar="DIR", help="what is kept")
    parser.add_argument("--write", action="store_true", help="bring the table of the documentation up to date")
    options = parser.parse_args()
    if options.held_out:
        options.keep = options.keep / "held-out"
    if options.write and (options.only or options.reference or options.held_out):
        parser.error("--write is for all tasks and a real model")
    return options


if __name__ == "__main__":
    sys.exit(main())
