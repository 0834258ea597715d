"""The ledger of a day: every row is in the file that has its name, also when that was taken away or the day ended."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from zot.features.budget import ledger
from zot.features.budget.ledger import Ledger, spent_on, spent_row
from zot.provider.messages import Usage


def add(book: Ledger, usd: float) -> None:
    book.append(spent_row(Usage(1, 2, cost_usd=usd), "p", "m", "s", "/here"))


def prices(book: Ledger, day: str) -> list[float]:
    return [row.usd for row in spent_on(book.root, day)]


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The day it is, for a test to change."""
    days = ["2026-03-01"]
    monkeypatch.setattr(ledger, "today", lambda: days[-1])
    return days


def test_two_ledgers_add_to_one_file(tmp_path: Path, day: list[str]) -> None:
    one, two = Ledger(tmp_path), Ledger(tmp_path)
    for number in range(1, 5):
        add(one if number % 2 else two, number)
    assert prices(one, day[0]) == [1, 2, 3, 4]


def test_a_file_that_was_deleted_is_made_again(tmp_path: Path, day: list[str]) -> None:
    book = Ledger(tmp_path)
    add(book, 1)
    shutil.rmtree(book.root)
    add(book, 2)
    assert prices(book, day[0]) == [2]


def test_new_day_starts_a_new_file(tmp_path: Path, day: list[str]) -> None:
    book = Ledger(tmp_path)
    add(book, 1)
    day.append("2026-03-02")
    add(book, 2)
    assert (prices(book, "2026-03-01"), prices(book, "2026-03-02")) == ([1], [2])


def test_a_torn_row_stays_alone(tmp_path: Path, day: list[str]) -> None:
    book = Ledger(tmp_path)
    add(book, 1)
    with (book.root / f"{day[0]}.jsonl").open("ab") as file:
        file.write(b'{"type":"spent","usd":')  # another process, and a full disk
    add(book, 2)
    assert prices(book, day[0]) == [1, 2]


def test_nothing_stays_open(tmp_path: Path, day: list[str]) -> None:
    before = set(os.listdir("/proc/self/fd"))
    book = Ledger(tmp_path)
    add(book, 1)
    day.append("2026-03-02")
    add(book, 2)
    book.close()
    book.close()
    assert set(os.listdir("/proc/self/fd")) == before
    add(book, 3)  # what is said after the end is written all the same
    assert prices(book, "2026-03-02") == [2, 3]
    book.close()
