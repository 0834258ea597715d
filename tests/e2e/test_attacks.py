"""The quick rows of the attack table, each in its own process; ``make attack`` runs all of them."""

from __future__ import annotations

import pytest

from attack import page
from attack.runner import every_row, name_of, run_row
from attack.table import Attack

ROWS = every_row()


@pytest.mark.parametrize("row", [row for row in ROWS if row.quick], ids=name_of)
def test_attack_is_denied(row: Attack) -> None:
    assert run_row(row).happened == ""


def test_attack_rows_have_unique_names() -> None:
    names = [name_of(row) for row in ROWS]
    assert len(names) == len(set(names))


def test_the_page_of_the_documentation_names_every_row() -> None:
    assert page.PATH.read_text("utf-8") == page.page(), "run `make attack`, or `python -m attack --names`"


def test_a_row_that_raises_hangs_or_dies_counts_as_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table must be able to fail."""
    gone = Attack("nowhere", "a row that is not in the table", "refused", lambda scratch: "")
    assert run_row(gone).happened
    assert "did not end" in run_row(ROWS[0], limit_s=0.01).happened
