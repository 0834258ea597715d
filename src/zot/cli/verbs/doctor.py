"""``zot doctor``: prints the report about this installation; exit code 1 if it lists a problem."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from zot.cli.arguments import parse
from zot.cli.output import show
from zot.cli.verb_table import options
from zot.frontends.doctor_report import report
from zot.system.files import home_place


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("doctor"), most=0)
    found = report(home_place(), Path.cwd())
    if arguments.has("--json"):
        print(json.dumps(msgspec.to_builtins(found)))  # in ASCII: a path need not be UTF-8
        return 1 if found.problems else 0
    for line in found.lines:
        show(line)
    show()
    for title, lines in (("extensions", [item.line for item in found.extensions]), ("notes", found.notes)):
        if lines:
            show(f"{title}:")
            for line in lines:
                show(f"  {line}")
            show()
    for problem in found.problems:
        show(f"  ! {problem}")
    count = len(found.problems)
    show(f"{count} problem{'s' * (count != 1)}" if count else "nothing is wrong")
    return 1 if found.problems else 0
