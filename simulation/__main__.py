"""``python -m simulation``: 1,000 workers on a clock that jumps, and the share of them that merges real trees.

``--curve`` does it for 1 to 10,000, ``--write`` puts the curve on its page. Exit status 1 when a law did not hold.
"""

from __future__ import annotations

import argparse
import sys

from simulation import page
from simulation.merges import merge_share
from simulation.page import Point
from simulation.run import simulate

CURVE = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)


def main() -> int:
    options = _options()
    points: list[Point] = []
    found: list[str] = []
    for workers in CURVE if options.curve else (options.workers,):
        same = {"seed": options.seed, "most": options.most}
        point = Point(simulate(workers, budget=0.0, **same), simulate(workers, **same))
        print(page.line(point), flush=True)
        points.append(point)
        found += page.problems(point)
    merged = merge_share(options.trees, seed=options.seed)
    print(page.told(merged))
    found += page.problems(points[-1], merged)
    for problem in dict.fromkeys(found):
        print(f"simulation: {problem}", file=sys.stderr)
    if options.write and not found:
        page.write(points, merged)
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--most", type=int, default=0, help="at work at the same time (default: all)")
    parser.add_argument("--trees", type=int, default=24, help="workers with a real tree that is merged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--curve", action="store_true", help="1 to 10,000 workers")
    parser.add_argument("--write", action="store_true", help="write the curve into docs/concepts/swarm-scale.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
