"""Rows as tables: the budgets of docs/reference/performance.md, and the README's table of zot beside its peers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.row import Row


def markdown(rows: Sequence[Row], p: float, s: float) -> str:
    return "\n".join([f"P = {p * 1000:.1f} ms, S = {s * 1000:.2f} ms, 2 cores.", "", *budgets(rows)])


def comparison(rows: Sequence[Row]) -> str:
    """Empty when no peer was measured."""
    compared = [row for row in rows if row.budget is None]
    return "\n".join(side_by_side(compared)) if len({row.whose for row in compared}) > 1 else ""


def budgets(rows: Iterable[Row]) -> list[str]:
    cells = (row.cells() for row in rows if row.budget is not None)
    return _table(["what", "measured", "budget"], (list(cell[:3]) for cell in cells))


def side_by_side(rows: Sequence[Row]) -> list[str]:
    """A line for each thing measured, a column for each program; a dash where a program has no such thing."""
    programs = list(dict.fromkeys(row.whose for row in rows))
    figures = {(row.what, row.whose): row.figure for row in rows}
    things = dict.fromkeys(row.what for row in rows)
    return _table(["", *programs], ([what, *(figures.get((what, who), "–") for who in programs)] for what in things))


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines)]
