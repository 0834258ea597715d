"""``zot doctor``: prints the report about this installation; exit code 1 if it lists a problem."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from zot.cli.arguments import parse
from zot.cli.output import print_result
from zot.cli.verb_table import options
from zot.frontends.doctor_report import report
from zot.system.files import zot_home_path


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("doctor"), most=0)
    found = report(zot_home_path(), Path.cwd())
    if arguments.has("--json"):
        print(json.dumps(msgspec.to_builtins(found)))  # ASCII, since a path need not be UTF-8
        return 1 if found.problems else 0
    for line in found.lines:
        print_result(line)
    print_result()
    for title, lines in (("extensions", [item.line for item in found.extensions]), ("notes", found.notes)):
        if lines:
            print_result(f"{title}:")
            for line in lines:
                print_result(f"  {line}")
            print_result()
    for problem in found.problems:
        print_result(f"  ! {problem}")
    count = len(found.problems)
    print_result(f"{count} problem{'s' * (count != 1)}" if count else "no problems found")
    return 1 if found.problems else 0
