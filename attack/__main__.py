"""``python -m attack [--quick] [--area AREA] [--json FILE] [--write]``: run the attacks and print the results."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from attack import page
from attack.runner import ROOT, Result, every_row, run_here, run_row, summary


def main() -> int:
    options = _options()
    if options.names:
        page.PATH.write_text(page.page(), "utf-8")
        return 0
    if options.one:
        return run_here(options.one, options.of, Path(options.scratch))
    rows = [row for row in every_row() if row.quick or not options.quick]
    rows = [row for row in rows if options.area in ("", row.area)]
    results: list[Result] = []
    for row in rows:
        result = run_row(row)
        results.append(result)
        word = "refused" if not result.happened else "NOT REFUSED"
        print(f"{row.area:13} {word:11} {result.seconds:5.1f} s  {row.what} (expected: {row.expect})", flush=True)
        if result.happened:
            print("".join(f"    {line}\n" for line in result.happened.splitlines()[-40:]), end="", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps([_as_json(result) for result in results], indent=2) + "\n", "utf-8")
    if options.write:
        page.write(results, f"{summary(results)}, {time.strftime('%Y-%m-%d', time.gmtime())}, commit {_commit()}")
    print(summary(results))
    return 0 if results and all(not result.happened for result in results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="attack", description="Runs attacks that must fail and prints the results.")
    parser.add_argument("--quick", action="store_true", help="only the rows `make test` runs")
    parser.add_argument("--area", default="", help="only the rows of one area")
    parser.add_argument("--json", default="", metavar="FILE", help="also write the results there")
    parser.add_argument("--write", action="store_true", help="write docs/concepts/attacks.md; for full runs")
    parser.add_argument("--names", action="store_true", help="only update the rows of that page")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    parser.add_argument("--of", default="", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write and (options.quick or options.area):
        parser.error("--write is for a full run")
    return options


def _as_json(result: Result) -> dict[str, object]:
    row = result.row
    fields = {"area": row.area, "what": row.what, "expect": row.expect, "quick": row.quick}
    return {**fields, "refused": not result.happened, "happened": result.happened, "seconds": round(result.seconds, 2)}


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
