"""A plan and a report in words, the same for the terminal and for scripts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

from zot.features.checkpoints.diff import figures
from zot.features.checkpoints.points import Point
from zot.features.checkpoints.restore_plan import Item, Plan, Report

Done = Literal["restored", "removed", "recreated", "overwritten"]

DONE: dict[str, Done] = {
    **{"restore": "restored", "remove": "removed"},
    **{"recreate": "recreated", "changed": "overwritten"},
}


def shown_path(path: str, cwd: str) -> str:
    """Relative where it lies in the project."""
    return os.path.relpath(path, cwd) if path.startswith(f"{cwd.rstrip('/')}/") else path


def changed(point: Point) -> str:
    """What a prompt changed: ``2 files changed +4 −1``, or that nobody knows."""
    if point.files:
        return figures(point.files)
    return "not known what its commands changed" if point.blind else ""


def plan_lines(found: Plan, cwd: str, *, overwrite: bool = False, troubles_first: bool = False) -> list[str]:
    """What going back would do to each file; those that need nothing are left out."""

    def line(item: Item) -> str:
        name = shown_path(item.path, cwd)
        if item.verdict == "lost":
            return f"cannot go back  {name}: {item.why}"
        if item.verdict == "changed":
            return f"{'overwrite' if overwrite else 'leave alone':<14}  {name}: {item.why}"
        return f"{item.verdict:<14}  {name}"

    order = {"restore": 0, "recreate": 1, "remove": 2, "changed": 3, "lost": 4}
    items = sorted((item for item in found.items if item.verdict != "same"), key=lambda item: order[item.verdict])
    blind = [f"{'not known':<14}  {reason}" for reason in found.blind]
    if troubles_first:
        items.sort(key=lambda item: order[item.verdict] < 3)
        return [*blind, *map(line, items)]
    return [*map(line, items), *blind]


def report_line(report: Report, left: Sequence[Item], shown: Callable[[str], str]) -> str:
    """``2 restored, 1 removed; a.py: …``; what was left alone is named."""
    counts: dict[str, int] = {}
    for item in report.done:
        counts[DONE[item.verdict]] = counts.get(DONE[item.verdict], 0) + 1
    done = ", ".join(f"{number} {word}" for word, number in counts.items())
    parts = [f"{_files(len(report.done))}: {done}" if done else "no file changed"]
    parts += [f"{shown(item.path)} left alone: {item.why}" for item in left]
    parts += [f"{shown(path)} not changed: {reason}" for path, reason in report.failed]
    return "; ".join(parts)


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"
