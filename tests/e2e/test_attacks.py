"""Attacks on what zot opens, saves, runs and leaves behind; each is a row of the table ``make attack`` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import attack.files
import attack.sessions  # noqa: F401  its rows
from attack.table import TABLE, Attack

ROOMS = ("files", "sessions", "tools", "orphans")


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.run.__name__) for row in TABLE if row.room in ROOMS and row.quick]
)
def test_refused(row: Attack, tmp_path: Path) -> None:
    assert row.run(tmp_path) == ""
