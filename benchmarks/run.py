"""``make bench``: the budgets, as ratios measured in one run. Exits 1 when one is missed.

P is the wall time of ``python -c pass`` in the same venv, S that of ``sh -c true``. ``--write`` puts the table
into the README.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import command_line, extensions, sessions, size  # noqa: E402
from benchmarks.measure import python_pass, shell_true  # noqa: E402
from benchmarks.row import Row  # noqa: E402

START, END = "<!-- bench -->", "<!-- /bench -->"


def main() -> int:
    p, s = python_pass(), shell_true()
    print(f"P = {p * 1000:.1f} ms (python -c pass), S = {s * 1000:.2f} ms (sh -c true)\n", flush=True)
    rows: list[Row] = []
    for group in (command_line.rows(p, s), sessions.rows(), extensions.rows(), size.rows()):
        for row in group:
            rows.append(row)
            what, measured, budget, verdict, note = row.cells()
            print(f"{verdict:6}  {what:52} {measured:>18}  {budget:>18}  {note}", flush=True)
    if "--write" in sys.argv:
        write_readme(markdown(rows, p, s))
    missed = [row for row in rows if not row.holds]
    print(f"\n{len(rows) - len(missed)} of {len(rows)} budgets hold")
    return 1 if missed else 0


def markdown(rows: Iterable[Row], p: float, s: float) -> str:
    lines = [
        f"P = {p * 1000:.1f} ms, S = {s * 1000:.2f} ms, 2 cores.",
        "",
        "| what | measured | budget |",
        "|---|---|---|",
    ]
    lines += [
        f"| {what} | {measured} | {budget} |" for what, measured, budget, *_ in (row.cells() for row in rows)
    ]
    return "\n".join(lines)


def write_readme(table: str) -> None:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{START}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
