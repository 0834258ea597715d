"""Which of several attempts counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import run
from benchmarks.row import Row


def figures(monkeypatch: pytest.MonkeyPatch, *attempts: tuple[float, float, float]) -> list[float]:
    """The resulting figures of attempts with these values (P, milliseconds, events lost)."""
    seen = iter(attempts)
    now: list[tuple[float, float, float]] = []

    def python_pass() -> float:
        now.append(next(seen))
        return now[-1][0]

    def rows(p: float, s: float) -> Iterator[Row]:
        yield Row("step", now[-1][1], 3, "ms")
        yield Row("lost", now[-1][2], 0, "events")

    monkeypatch.setattr(run, "python_pass", python_pass)
    monkeypatch.setattr(run, "shell_true", lambda: 0.001)
    monkeypatch.setattr(run, "GROUPS", {"group": rows})
    counted = [row.measured for row in run.measured("group")]
    assert len(now) == len(attempts)
    return counted


def test_group_within_budget_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures(monkeypatch, (0.011, 2, 0)) == [2, 0]


def test_missed_budget_is_measured_again_and_best_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures(monkeypatch, (0.017, 4, 0), (0.011, 2, 0)) == [2, 0]
    assert figures(monkeypatch, (0.011, 4, 0), (0.017, 2, 0)) == [4, 0]
    assert figures(monkeypatch, (0.017, 4, 0), (0.011, 5, 0), (0.012, 6, 0)) == [5, 0]


def test_forbidden_event_counts_even_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures(monkeypatch, (0.017, 2, 1), (0.011, 2, 0)) == [2, 1]
