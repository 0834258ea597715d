"""``make bench AGAINST=CHECKOUT``: the rows of this build beside those of another, measured in turn.

Each build runs its own benchmarks in its own venv, group by group and several times, with the same P and S; of each
row the best counts, because noise only ever adds. A row that is worse by more than TOLERANCE fails, unless it exists
in one build only. A busy machine can still make one look worse: measure the group again before believing it.
"""

from __future__ import annotations

import argparse
import compileall
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measure import python_pass, shell_true  # noqa: E402
from benchmarks.row import Row  # noqa: E402

GROUPS = ("command-line", "sessions", "rpc", "extensions", "terminal", "embedding", "size")  # peers are nobody's build
ROUNDS = 3
TOLERANCE = 0.03

# Given to the build's own interpreter, in its own checkout; an older one knows nothing of this module.
_MEASURE = """
import json, sys
sys.path.insert(0, "")
from benchmarks.run import GROUPS
for row in GROUPS[sys.argv[1]](float(sys.argv[2]), float(sys.argv[3])):
    fields = ("what", "measured", "budget", "unit", "at_least")
    print(json.dumps({name: getattr(row, name) for name in fields}), flush=True)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout with a .venv of its own")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"some of {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    if unknown := [name for name in asked.groups if name not in GROUPS]:
        parser.error(f"no group {unknown[0]}; there are {', '.join(GROUPS)}")
    builds = (asked.other.resolve(), ROOT)
    for build in builds:
        compileall.compile_dir(build / "src", quiet=1)
    p, s = python_pass(), shell_true()
    print(f"P = {p * 1000:.1f} ms, S = {s * 1000:.2f} ms, best of {asked.rounds}; before is {builds[0]}")
    worse = [name for name in asked.groups or GROUPS if compared(name, builds, p, s, asked.rounds)]
    return 1 if worse else 0


def compared(group: str, builds: Sequence[Path], p: float, s: float, rounds: int) -> bool:
    """Print a group; whether a row of it got worse."""
    seen: tuple[list[Row], ...] = ([], [])
    for _ in range(rounds):
        for build, rows in zip(builds, seen, strict=True):
            rows += measured(build, group, p, s)
    before, after = map(best, seen)
    print(f"\n{group}", flush=True)
    for what in before | after:
        print(line(before.get(what), after.get(what)), flush=True)
    return any(is_worse(before[what], after[what]) for what in before.keys() & after.keys())


def measured(build: Path, group: str, p: float, s: float) -> list[Row]:
    argv = [str(build / ".venv/bin/python"), "-c", _MEASURE, group, str(p), str(s)]
    done = subprocess.run(argv, cwd=build, stdout=subprocess.PIPE, check=True, text=True)
    return [Row(**json.loads(row)) for row in done.stdout.splitlines()]


def best(rows: Iterable[Row]) -> dict[str, Row]:
    """The best of each row, by its name; of what must never happen (a budget of 0), the worst."""
    found: dict[str, Row] = {}
    for row in rows:
        known = found.setdefault(row.what, row)
        wants_more = row.at_least != (row.budget == 0)
        if (row.measured > known.measured) == wants_more:
            found[row.what] = row
    return found


def ratio(before: Row, after: Row) -> float:
    """How much worse the second is: 1 is the same, 2 twice as slow or half as many."""
    new, old = (before, after) if after.at_least else (after, before)
    if old.measured > 0 < new.measured:
        return new.measured / old.measured
    # Nothing at all, or a difference of two runs that is smaller than their noise.
    return float("inf") if after.budget == 0 and new.measured > 0 else 1.0


def is_worse(before: Row, after: Row) -> bool:
    return ratio(before, after) > 1 + TOLERANCE


def line(before: Row | None, after: Row | None) -> str:
    row = after or before
    assert row is not None
    figures = f"{before.figure if before else '–':>18} {after.figure if after else '–':>18}"
    if before is None or after is None:
        return f"{'':6}  {row.what:72} {figures}"
    verdict = "WORSE" if is_worse(before, after) else "ok"
    return f"{verdict:6}  {row.what:72} {figures} {ratio(before, after):7.3f}"


if __name__ == "__main__":
    sys.exit(main())
