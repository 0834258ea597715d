"""What a run of the tasks came to: rates with how far they can be trusted, rows for people, JSON, the page's table.

The tasks are a sample, so a rate comes with the interval in which the true one lies in 95 of 100 cases (Wilson's, which
holds for small numbers too). It is computed over tasks, not attempts: repeating a task says nothing about other tasks.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import median

import msgspec

from evaluation.attempt import Attempt
from evaluation.task import GROUPS

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "docs" / "reference" / "evaluation.md"
_Z = 1.96
_MARKS = ("<!-- evaluation -->", "<!-- /evaluation -->")


class Results(msgspec.Struct, frozen=True):
    """``calls`` says whose tool calls they were: by the grammar, or by the server itself."""

    name: str
    model: str
    calls: str
    date: str
    machine: str
    commit: str
    attempts: list[Attempt]


class Share(msgspec.Struct, frozen=True):
    """``passed`` of ``tasks``; broken numbers come from repeated attempts."""

    passed: float
    tasks: int

    @property
    def rate(self) -> float:
        return self.passed / self.tasks if self.tasks else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        if not self.tasks:
            return 0.0, 1.0
        n, p = self.tasks, self.rate
        middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        reach = _Z / (1 + _Z**2 / n) * sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
        return max(0.0, middle - reach), min(1.0, middle + reach)


def share(attempts: Sequence[Attempt], group: str = "") -> Share:
    tried: dict[str, list[bool]] = {}
    for one in attempts:
        if not group or one.task.startswith(f"{group}/"):
            tried.setdefault(one.task, []).append(one.passed)
    return Share(sum(sum(passes) / len(passes) for passes in tried.values()), len(tried))


def line(one: Attempt) -> str:
    told = "" if one.passed else f"  {' '.join((one.why if one.ended == 'end_turn' else one.ended).split())[:70]}"
    word = "passed" if one.passed else "FAILED"
    return f"{word}  {one.task:34} {one.turns:3} turns {one.seconds:7.1f} s{told}"


def summary(results: Results) -> str:
    whole = share(results.attempts)
    low, high = whole.interval
    groups = "  ".join(f"{group} {_count(share(results.attempts, group))}" for group in GROUPS)
    return (
        f"{results.model}{f', {results.calls}' if results.calls else ''}: {_count(whole)} tasks passed, "
        f"{whole.rate:.0%} (95 %: {low:.0%} to {high:.0%})\n{groups}\n"
        f"median {_turns(results):g} turns, {_seconds(results):.1f} s; "
        f"together {sum(one.seconds for one in results.attempts):.0f} s; {results.machine}"
    )


def table(every: Sequence[Results]) -> str:
    rows = [
        f"| model | tool calls | {' | '.join(GROUPS)} | all | 95 % interval | turns | seconds | measured |",
        f"|---|---|{'--:|' * len(GROUPS)}--:|--:|--:|--:|---|",
        *(_row(results) for results in every),
    ]
    return "\n".join(rows)


def _row(results: Results) -> str:
    whole = share(results.attempts)
    low, high = whole.interval
    groups = " | ".join(_count(share(results.attempts, group)) for group in GROUPS)
    return (
        f"| {results.model} | {results.calls or 'its own'} | {groups} | {_count(whole)}, {whole.rate:.0%} | "
        f"{low:.0%} to {high:.0%} | {_turns(results):g} | {_seconds(results):.0f} | "
        f"{results.date}, {results.machine}, {results.commit} |"
    )


def _count(part: Share) -> str:
    return f"{part.passed:g}/{part.tasks}" if part.passed % 1 == 0 else f"{part.passed:.1f}/{part.tasks}"


def _turns(results: Results) -> float:
    return median([one.turns for one in results.attempts] or [0])


def _seconds(results: Results) -> float:
    return median([one.seconds for one in results.attempts] or [0.0])


def keep(results: Results, folder: Path = RESULTS) -> Path:
    """One file for each model and way of calling tools; the newest run of it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{results.name}.json"
    told = _without_places(msgspec.json.encode(results).decode())
    path.write_bytes(msgspec.json.format(told.encode(), indent=1) + b"\n")
    return path


def _without_places(text: str) -> str:
    """Tracebacks and answers name the checkout and the home it was made in, which concern nobody."""
    return text.replace(str(ROOT), "ZOT").replace(f"{Path.home()}/.", "~/.")


def kept(folder: Path = RESULTS) -> list[Results]:
    return [msgspec.json.decode(path.read_bytes(), type=Results) for path in sorted(folder.glob("*.json"))]


def write_page(every: Sequence[Results], page: Path = PAGE) -> None:
    text = page.read_text("utf-8")
    before, start, rest = text.partition(_MARKS[0])
    _, end, after = rest.partition(_MARKS[1])
    if not (start and end):
        raise SystemExit(f"evaluation: {page.name} has no place for the table: {' … '.join(_MARKS)}")
    page.write_text(f"{before}{start}\n{table(every)}\n{end}{after}", "utf-8")


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def machine() -> str:
    """Cores and memory: what the seconds depend on, and nothing that would name the machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores} cores ({platform.machine()}), {memory:.0f} GB"


def commit() -> str:
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "no commit"
