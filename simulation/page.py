"""The curve, as rows for the terminal and as the table of its page in the documentation."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from simulation.merges import Merged
from simulation.run import Outcome

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "concepts" / "swarm-scale.md"
_MARKS = ("<!-- simulation: begin -->", "<!-- simulation: end -->")


class Point(NamedTuple):
    """The same workers twice: with money for all of them, and with less."""

    free: Outcome
    short: Outcome


def line(point: Point) -> str:
    free, short = point
    return (
        f"{free.workers:6,} workers  {free.per_minute:8.1f} tasks/min  {_time(free.took_s):>8}  "
        f"429: {_share(free.refused, free.calls):>6}  lost attempts: {free.lost:4}  "
        f"wasted: {_share(free.wasted, free.spent):>6}  "
        f"over budget: {short.overspent:.3f} requests/worker ({_percent(short.spent / short.limit - 1)})  "
        f"cpu {free.cpu_s / free.workers * 1000:.1f} ms/worker"
    )


def told(merged: Merged) -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(merged.outcomes.items(), reverse=True))
    return f"{merged.workers} trees with overlapping changes: {outcomes} in {merged.took_s:.1f} s"


def problems(point: Point, merged: Merged | None = None) -> list[str]:
    """Laws that did not hold."""
    found: list[str] = []
    for run in point:
        if run.ends != {"1": run.workers}:
            found.append(f"{run.workers} workers: not every one ended once: {run.ends}")
        if run.finished.keys() - {"1"} or run.ended.get("done", 0) != run.finished.get("1", 0):
            found.append(f"{run.workers} workers: a task was finished more than once, or not told: {run.finished}")
        if run.overspent > 1:
            found.append(f"{run.workers} workers: overspent by {run.overspent:.2f} requests of each")
    if merged is not None and not (merged.kept and merged.complete):
        found.append("a merge lost something")
    return found


def write(points: Sequence[Point], merged: Merged, page: Path = PAGE) -> None:
    text = page.read_text("utf-8")
    before, start, rest = text.partition(_MARKS[0])
    _, end, after = rest.partition(_MARKS[1])
    if not (start and end):
        raise SystemExit(f"simulation: {page.name} has no place for the table: {' … '.join(_MARKS)}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    when = f"Simulated on {datetime.now(UTC):%Y-%m-%d} at commit {commit}. {told(merged)}."
    page.write_text(f"{before}{start}\n{table(points)}\n\n{when}\n{end}{after}", "utf-8")


def table(points: Sequence[Point]) -> str:
    rows = [
        "| workers | all done after | tasks a minute | refused (429) | lost attempts | wasted "
        "| over budget, requests a worker | of the budget | CPU a worker |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    return "\n".join([*rows, *map(_row, points)])


def _row(point: Point) -> str:
    free, short = point
    return (
        f"| {free.workers:,} | {_time(free.took_s)} | {free.per_minute:,.1f} | {_share(free.refused, free.calls)} | "
        f"{free.lost} | {_share(free.wasted, free.spent)} | {short.overspent:.3f} | "
        f"{_percent(short.spent / short.limit - 1)} | {free.cpu_s / free.workers * 1000:.1f} ms |"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def _percent(share: float) -> str:
    return f"{share:+.1%}"
