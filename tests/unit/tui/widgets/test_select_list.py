"""The filter of a list is edited like a line."""

from __future__ import annotations

import pytest

from zot.tui.keys import Key
from zot.tui.widgets.select_list import Choice, SelectList


@pytest.mark.parametrize(("key", "left"), [("ctrl+u", ""), ("ctrl+w", "one"), ("backspace", "one tw")])
def test_a_filter_can_be_taken_back(key: str, left: str) -> None:
    choices = SelectList([Choice("a", "one two"), Choice("b", "three")])
    for letter in "one two":
        choices.key(Key(letter, letter))
    assert choices.key(Key(key))
    assert choices.filter == left
    assert choices.chosen is not None


@pytest.mark.parametrize("keys", [["backspace"] * 3, ["ctrl+u"], ["ctrl+w"], ["down", "ctrl+u"]])
def test_without_its_filter_a_list_selects_what_was_selected_before(keys: list[str]) -> None:
    choices = SelectList([Choice("a", "one"), Choice("b", "one two"), Choice("c", "three")], selected="b")
    choices.key(Key("down"))
    for letter in "one":
        choices.key(Key(letter, letter))
    assert choices.chosen == Choice("a", "one")
    for key in keys:
        choices.key(Key(key))
    assert choices.filter == ""
    assert choices.chosen == Choice("c", "three")
