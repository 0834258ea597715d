"""``python -m fuzz [--cases N] [--seconds S] [--seed K] [--reader NAME]``: a million cases over all readers.

Two processes work; the findings are kept in ``fuzz/corpus``, where a test finds them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count

from fuzz.run import BATCH, READERS, Finding, batch, keep

_MOST_KEPT = 20  # of one reader in one run: what is broken once is broken a thousand times


def main() -> int:
    options = _options()
    names = [name for name in READERS if options.reader in ("", name)]
    if not names:
        print(f"there is no reader {options.reader!r}; there are: {', '.join(READERS)}", file=sys.stderr)
        return 2
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"{options.cases:,} cases, {len(names)} readers, seed {seed}, {options.jobs} processes", flush=True)
    began = time.monotonic()
    cases, spent, findings = _run(names, seed, options.cases, options.seconds, options.jobs)
    seconds = time.monotonic() - began
    for name in names:
        rate = cases[name] / spent[name] if spent[name] else 0
        print(f"{name:40} {cases[name]:9,} cases  {rate:9,.0f} a second  {len(findings[name])} findings")
    for name in names:
        for finding in findings[name][:_MOST_KEPT]:
            print(f"\n{finding.reader}: {finding.data!r}\n  kept as {keep(finding)}\n  {finding.text.strip()}")
    total, found = sum(cases.values()), sum(map(len, findings.values()))
    print(f"\n{total:,} cases over {len(names)} readers in {seconds:.0f} s, seed {seed}: {found} findings")
    return 1 if found else 0


def _run(
    names: list[str], seed: int, wanted: int, limit: float, jobs: int
) -> tuple[Counter[str], dict[str, float], dict[str, list[Finding]]]:
    cases: Counter[str] = Counter()
    spent = dict.fromkeys(names, 0.0)
    findings: dict[str, list[Finding]] = {name: [] for name in names}
    end = time.monotonic() + limit
    turns = ((name, number) for number in count() for name in names)
    left = -(-wanted // BATCH)
    with ProcessPoolExecutor(jobs) as pool:
        running: dict[Future[tuple[int, float, list[Finding]]], str] = {}
        while running or (left > 0 and time.monotonic() < end):
            while left > 0 and len(running) < 3 * jobs and time.monotonic() < end:
                name, number = next(turns)
                running[pool.submit(batch, name, seed, number)] = name
                left -= 1
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(done)
                ran, seconds, found = done.result()
                cases[name] += ran
                spent[name] += seconds
                if len(findings[name]) < 1000:
                    findings[name] += found
    return cases, spent, findings


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description="Feeds every reader with what nobody would write.")
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long, whatever is left")
    parser.add_argument("--seed", type=int, default=None, help="by chance unless given")
    parser.add_argument("--reader", default="", help="only this one")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
