"""Which details of a result outlive its event."""

from __future__ import annotations

from typing import Any

import pytest

from zot.core.tool import LONGEST_CHANGES, MOST_HUNKS, changes_of, hunks_of

HUNK = {"old_start": 3, "new_start": 4}


def test_only_line_numbers_are_kept() -> None:
    assert hunks_of({"diff": "-secret", "hunks": [{**HUNK, "note": "secret"}]}) == ((3, 4),)


@pytest.mark.parametrize(
    "details", [None, {}, {"hunks": 3}, {"hunks": ["a"]}, {"hunks": [{"old_start": "3", "new_start": 4}]}, {1: 2}]
)
def test_invalid_hunk_list_is_empty(details: Any) -> None:
    assert hunks_of(details) == ()


def test_too_many_hunks_are_not_stored() -> None:
    assert len(hunks_of({"hunks": [HUNK] * MOST_HUNKS})) == MOST_HUNKS
    assert hunks_of({"hunks": [HUNK] * (MOST_HUNKS + 1)}) == ()


def test_replaced_text_is_stored_if_content_lacks_it() -> None:
    assert changes_of({"changes": "@@ -1,1 +1,1 @@\n-a\n+b"}) == "@@ -1,1 +1,1 @@\n-a\n+b"
    assert changes_of({"changes": "x" * (LONGEST_CHANGES + 1)}) == changes_of({"changes": 3}) == changes_of(None) == ""
