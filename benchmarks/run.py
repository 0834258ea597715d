"""``make bench``: the budgets, as ratios measured in one run. Exits 1 when one is missed.

P is the wall time of ``python -c pass`` in the same venv, S that of ``sh -c true``; both are measured again before
each group, because a machine is not equally fast all the time. For the same reason a group that missed a budget is
measured again, twice at most, and what was seen in the quietest minute counts, the one with the smallest P; of what
must never happen (a budget of 0), the worst. Name groups to run only those; ``--write`` puts the budgets of a whole run
into docs/reference/performance.md and zot beside its peers into the README.
"""

from __future__ import annotations

import compileall
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import (  # noqa: E402
    agents,
    changes,
    command_line,
    editors,
    embedding,
    extensions,
    hooks,
    jail,
    local_model,
    mcp,
    models,
    page,
    peers,
    recordings,
    resolving,
    rpc,
    rules,
    second_edition,
    serve,
    sessions,
    size,
    swarm,
    telemetry,
    terminal,
    web,
)
from benchmarks.measure import python_pass, shell_true  # noqa: E402
from benchmarks.row import Row  # noqa: E402
from benchmarks.tables import comparison, markdown  # noqa: E402

ATTEMPTS = 3

GROUPS: dict[str, Callable[[float, float], Iterator[Row]]] = {
    "command-line": command_line.rows,
    "resolving": lambda p, s: resolving.rows(),
    "models": lambda p, s: models.rows(p),
    "sessions": lambda p, s: sessions.rows(),
    "changes": lambda p, s: changes.rows(),
    "jail": lambda p, s: jail.rows(),
    "recordings": lambda p, s: recordings.rows(),
    "rpc": rpc.rows,
    "extensions": lambda p, s: extensions.rows(),
    "second-edition": lambda p, s: second_edition.rows(),
    "rules": lambda p, s: rules.rows(),
    "hooks": lambda p, s: hooks.rows(),
    "mcp": lambda p, s: mcp.rows(),
    "editors": lambda p, s: editors.rows(p),
    "serve": lambda p, s: serve.rows(),
    "page": lambda p, s: page.rows(),
    "agents": lambda p, s: agents.rows(),
    "swarm": lambda p, s: swarm.rows(),
    "telemetry": lambda p, s: telemetry.rows(),
    "terminal": lambda p, s: terminal.rows(p),
    "embedding": lambda p, s: embedding.rows(),
    "web": lambda p, s: web.rows(),
    "local-model": lambda p, s: local_model.rows(),
    "peers": lambda p, s: peers.rows(p),
    "size": lambda p, s: size.rows(),
}


def main() -> int:
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    if unknown := [name for name in wanted if name not in GROUPS]:
        sys.exit(f"bench: no group {unknown[0]}; there are {', '.join(GROUPS)}")
    compileall.compile_dir(ROOT / "src", quiet=1)  # what was just edited is not to be compiled at each start
    rows = [row for name in wanted or GROUPS for row in measured(name)]
    if "--write" in sys.argv and not wanted:
        page = ROOT / "docs" / "reference" / "performance.md"
        write_between(page, "bench", markdown(rows, python_pass(), shell_true()))
        if peers_table := comparison(rows):  # those of the last run that had peers stay otherwise
            write_between(ROOT / "README.md", "peers", peers_table)
    budgets = [row for row in rows if row.budget is not None]
    missed = [row for row in budgets if not row.holds]
    print(f"\n{len(budgets) - len(missed)} of {len(budgets)} budgets hold")
    return 1 if missed else 0


class Attempt(NamedTuple):
    p: float
    rows: list[Row]


def measured(name: str) -> list[Row]:
    attempts = [once(name)]
    while len(attempts) < ATTEMPTS and not all(row.holds for row in attempts[-1].rows):
        print("        measured again:", flush=True)
        attempts.append(once(name))
    quietest = min(attempts, key=lambda attempt: attempt.p)
    if len(attempts) > 1:
        print(f"        what counts is the minute with P = {quietest.p * 1000:.1f} ms", flush=True)
    return [worst(row, attempts) if row.budget == 0 else row for row in quietest.rows]


def worst(row: Row, attempts: list[Attempt]) -> Row:
    """What must never happen counts even if it happened once."""
    same = [other for attempt in attempts for other in attempt.rows if other.what == row.what]
    return max(same, key=lambda other: other.measured)


def once(name: str) -> Attempt:
    p, s = python_pass(), shell_true()
    print(f"{name}: P = {p * 1000:.1f} ms (python -c pass), S = {s * 1000:.2f} ms (sh -c true)", flush=True)
    rows: list[Row] = []
    for row in GROUPS[name](p, s):
        rows.append(row)
        what, figure, budget, verdict, note = row.cells()
        print(f"{verdict:6}  {what:52} {figure:>18}  {budget:>18}  {note}", flush=True)
    return Attempt(p, rows)


def write_between(page: Path, mark: str, table: str) -> None:
    """Replace what stands between ``<!-- mark -->`` and ``<!-- /mark -->``; a page without them is left alone."""
    text = page.read_text(encoding="utf-8")
    before, start, rest = text.partition(f"<!-- {mark} -->")
    _, end, after = rest.partition(f"<!-- /{mark} -->")
    if not (start and end):
        sys.exit(f"bench: {page.name} has no place for the table: <!-- {mark} --> … <!-- /{mark} -->")
    page.write_text(f"{before}{start}\n{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
