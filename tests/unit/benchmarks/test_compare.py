"""Comparing two builds: the rows that count and the ones that got worse."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.row import Row


def step(ms: float) -> Row:
    return Row("step", ms, 3, "ms")


def rate(per_s: float) -> Row:
    return Row("rate", per_s, 100, "per s", at_least=True)


def lost(events: float) -> Row:
    return Row("lost", events, 0, "events")


def test_best_row_counts_but_worst_for_forbidden_events() -> None:
    rows = [step(2), rate(150), lost(0), step(1.5), rate(170), lost(1), step(1.7), rate(160), lost(0)]
    assert compare.best(rows) == {"step": step(1.5), "rate": rate(170), "lost": lost(1)}


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (step(2), step(2.05), False),
        (step(2), step(2.1), True),
        (step(2), step(1), False),
        (rate(200), rate(196), False),
        (rate(200), rate(190), True),
        (rate(200), rate(400), False),
        (lost(0), lost(0), False),
        (lost(0), lost(1), True),
    ],
)
def test_three_per_cent_is_the_limit_in_the_direction_of_the_row(before: Row, after: Row, worse: bool) -> None:
    assert compare.is_worse(before, after) is worse


def test_a_row_only_one_build_has_is_shown_and_never_worse() -> None:
    assert compare.line(None, step(2)).split() == ["step", "–", "2", "ms"]
    assert compare.line(step(2), None).split() == ["step", "2", "ms", "–"]
    assert compare.line(step(2), step(3)).split() == ["WORSE", "step", "2", "ms", "3", "ms", "1.500"]


def test_each_build_is_measured_by_its_own_benchmarks_in_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = build(tmp_path / "old", [2.0, 1.0]), build(tmp_path / "new", [1.5, 2.0])
    assert compare.compared("group", (old, new), 0.01, 0.001, rounds=2)
    assert capsys.readouterr().out.splitlines()[2].split() == ["WORSE", "step", "1", "ms", "1.5", "ms", "1.500"]
    assert json.loads((tmp_path / "order").read_text()) == ["old", "new", "old", "new"]


def build(root: Path, figures: list[float]) -> Path:
    """A checkout whose benchmarks see these figures, one after the other."""
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    (root / "benchmarks").mkdir()
    (root / "benchmarks/run.py").write_text(
        f"""
import json
from pathlib import Path
from types import SimpleNamespace

order = Path("../order")
before = json.loads(order.read_text()) if order.exists() else []
order.write_text(json.dumps([*before, {root.name!r}]))
figure = {figures!r}[before.count({root.name!r})]
row = SimpleNamespace(what="step", measured=figure, budget=3, unit="ms", at_least=False)
GROUPS = {{"group": lambda p, s: [row]}}
"""
    )
    return root
