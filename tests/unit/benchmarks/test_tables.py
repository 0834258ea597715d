"""The tables of the README and of the performance page, made of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.row import Row
from benchmarks.run import write_between
from benchmarks.tables import comparison, markdown

ROOT = Path(__file__).parents[3]

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


def test_tables_without_peers_are_one_table() -> None:
    table = "P = 12.0 ms, S = 0.70 ms, 2 cores.\n\n| what | measured | budget |\n| --- | --- | --- |\n"
    assert markdown([BUDGET], 0.012, 0.0007) == f"{table}| start | 2.5 P | ≤ 3 P |"


def test_peers_are_in_a_separate_table() -> None:
    assert len(markdown(ROWS, 0.012, 0.0007).splitlines()) == 5
    assert comparison(ROWS).splitlines() == [
        "|  | zot | other 1.0 |",
        "| --- | --- | --- |",
        "| first byte | 110 ms | 1,234 ms |",
        "| tool step | 4 ms | – |",
    ]
    assert comparison([BUDGET, ROWS[1]]) == ""  # zot beside nobody is no comparison


def test_table_update_changes_only_its_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for mark, original in (("bench", "docs/reference/performance.md"), ("peers", "README.md")):
        page.write_text((ROOT / original).read_text())
        before, _, rest = page.read_text().partition(f"<!-- {mark} -->\n")
        _, _, after = rest.partition(f"<!-- /{mark} -->")
        write_between(page, mark, f"| new {mark} |")
        assert page.read_text() == f"{before}<!-- {mark} -->\n| new {mark} |\n<!-- /{mark} -->{after}"


def test_page_without_section_is_reported_and_unchanged(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="no place"):
        write_between(page, "bench", "x")
    assert page.read_text() == "no marks"
