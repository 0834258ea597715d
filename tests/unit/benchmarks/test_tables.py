"""The README's tables, made of rows."""

from __future__ import annotations

from benchmarks.row import Row
from benchmarks.tables import markdown

BUDGET = Row("start", 2.5, 3, "P")
ROWS = [
    BUDGET,
    Row("first byte", 110, None, "ms", whose="zot"),
    Row("tool step", 4, None, "ms", whose="zot"),
    Row("first byte", 1234.5, None, "ms", whose="other 1.0"),
]


def test_a_row_for_comparison_cannot_be_missed() -> None:
    assert all(row.holds for row in ROWS[1:])
    assert ROWS[1].cells() == ("zot: first byte", "110 ms", "for comparison", "", "")


def test_a_budget_is_missed_when_it_is_passed() -> None:
    assert Row("start", 3.5, 3, "P").cells()[2:4] == ("≤ 3 P", "MISSED")
    assert Row("rate", 3.5, 3, "per s", at_least=True).cells()[2:4] == ("≥ 3 per s", "ok")


def test_without_peers_there_is_one_table() -> None:
    table = "P = 12.0 ms, S = 0.70 ms, 2 cores.\n\n| what | measured | budget |\n| --- | --- | --- |\n"
    assert markdown([BUDGET], 0.012, 0.0007) == f"{table}| start | 2.5 P | ≤ 3 P |"


def test_peers_stand_side_by_side_in_a_table_of_their_own() -> None:
    assert markdown(ROWS, 0.012, 0.0007).splitlines()[5:] == [
        "",
        "For comparison, measured in the same run:",
        "",
        "|  | zot | other 1.0 |",
        "| --- | --- | --- |",
        "| first byte | 110 ms | 1,234 ms |",
        "| tool step | 4 ms | – |",
    ]
