"""Run the hours and write the screens and ``report.md`` below ``.cache/first-hour``."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.first_hour.hour import SIZES, run_hour
from benchmarks.first_hour.programs import PROGRAMS, ROOT, Program
from benchmarks.first_hour.report import Hours, name_of, report, table
from benchmarks.first_hour.user import Step

RUNS = ROOT / ".cache" / "first-hour"


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 if a peer is missing or an expectation of zot does not hold."""
    programs = chosen(arguments)
    if not shutil.which("tmux"):
        sys.exit("first-hour: tmux is not installed; install it with this system's package manager")
    installed = [program for program in programs if program.command]
    for line in (missing := not_installed(programs)):
        print(line, file=sys.stderr, flush=True)
    if not installed:
        return 1
    run = RUNS / time.strftime("%Y-%m-%dT%H-%M-%S")
    sizes = {size: run_size(size, installed, run / name_of(size)) for size in SIZES}
    page = run / "report.md"
    page.write_text(report(sizes), encoding="utf-8")
    for size, hours in sizes.items():
        print(f"\n{name_of(size)}\n{table(hours)}")
    print(f"\nscreens: {page.relative_to(ROOT)}")
    return 0 if not missing and all(map(holds, sizes.values())) else 1


def chosen(names: Sequence[str]) -> list[Program]:
    known = [program.name for program in PROGRAMS]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"first-hour: unknown program {unknown[0]}; expected {', '.join(known)}")
    return [program for program in PROGRAMS if not names or program.name in names]


def not_installed(programs: Sequence[Program]) -> list[str]:
    return [f"{program.name} is not installed: run `make peers`" for program in programs if not program.command]


def run_size(size: tuple[int, int], programs: Sequence[Program], directory: Path) -> Hours:
    directory.mkdir(parents=True)
    hours: dict[Program, list[Step]] = {}
    for program in programs:
        print(f"==> {program.title} at {name_of(size)}", flush=True)
        hours[program] = run_hour(program, size, directory / program.name)
    return hours


def holds(hours: Hours) -> bool:
    """The expectations of zot; those of its peers are for comparison."""
    return all(step.holds for program, steps in hours.items() if program.peer is None for step in steps)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
