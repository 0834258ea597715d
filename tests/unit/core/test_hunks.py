"""Which details of a result outlive its event."""

from __future__ import annotations

from typing import Any

import pytest

from zot.core.tool import MOST_HUNKS, hunks_of

HUNK = {"old_start": 3, "new_start": 4}


def test_only_line_numbers_are_kept() -> None:
    assert hunks_of({"diff": "-secret", "hunks": [{**HUNK, "note": "secret"}]}) == ((3, 4),)


@pytest.mark.parametrize(
    "details", [None, {}, {"hunks": 3}, {"hunks": ["a"]}, {"hunks": [{"old_start": "3", "new_start": 4}]}, {1: 2}]
)
def test_what_is_no_list_of_hunks_is_none(details: Any) -> None:
    assert hunks_of(details) == ()


def test_so_many_that_they_would_weigh_are_not_kept() -> None:
    assert len(hunks_of({"hunks": [HUNK] * MOST_HUNKS})) == MOST_HUNKS
    assert hunks_of({"hunks": [HUNK] * (MOST_HUNKS + 1)}) == ()
