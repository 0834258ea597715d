"""The filter of a list is edited like a line."""

from __future__ import annotations

import pytest

from zot.tui.keys import Key
from zot.tui.theme import Spinner as Frames
from zot.tui.theme import built_in
from zot.tui.widgets import Choice, SelectList, Stat, StatusBar, duration, spinner_glyph, tokens
from zot.tui.width import cells, visible


@pytest.mark.parametrize(("key", "left"), [("ctrl+u", ""), ("ctrl+w", "one"), ("backspace", "one tw")])
def test_a_filter_can_be_taken_back(key: str, left: str) -> None:
    choices = SelectList([Choice("a", "one two"), Choice("b", "three")])
    for letter in "one two":
        choices.key(Key(letter, letter))
    assert choices.key(Key(key))
    assert choices.filter == left
    assert choices.chosen is not None


@pytest.mark.parametrize("keys", [["backspace"] * 3, ["ctrl+u"], ["ctrl+w"], ["down", "ctrl+u"]])
def test_cleared_filter_restores_selection(keys: list[str]) -> None:
    choices = SelectList([Choice("a", "one"), Choice("b", "one two"), Choice("c", "three")], selected="b")
    choices.key(Key("down"))
    for letter in "one":
        choices.key(Key(letter, letter))
    assert choices.chosen == Choice("a", "one")
    for key in keys:
        choices.key(Key(key))
    assert choices.filter == ""
    assert choices.chosen == Choice("c", "three")


THEME = built_in("dark")


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (950, "950"),
        (1234, "1.2k"),
        (9_999, "9.9k"),
        (35_400, "35k"),
        (1_100_000, "1.1M"),
        (12_000_000, "12M"),
    ],
)
def test_token_counts_are_short(count: int, shown: str) -> None:
    """iface-110: 1234 tokens are shown as 1.2k, 35,400 as 35k and 1,100,000 as 1.1M."""
    assert tokens(count) == shown


def test_a_bar_that_fits_has_two_lines() -> None:
    bar = StatusBar(model="(p) m", stats=(Stat("↑1"), Stat("↓2")), place="~/x")
    assert [visible(row) for row in bar.lines(THEME, 60)] == ["  (p) m  ↑1 ↓2", "  ~/x"]


def test_too_wide_bar_splits_into_lines() -> None:
    """iface-116: a status bar too wide for the terminal is split into lines."""
    bar = StatusBar(model="(provider) model", stats=(Stat("↑100k"), Stat("$1.234")), place="~/x")
    rows = [visible(row) for row in bar.lines(THEME, 24)]
    assert rows == ["  (provider) model", "  ↑100k $1.234", "  ~/x"]
    assert all(cells(row) <= 8 for row in bar.lines(THEME, 8))


def test_tags_are_before_the_directory() -> None:
    bar = StatusBar(model="m", tags=("yolo mode disabled", "jailed"), place="~/x")
    assert visible(bar.lines(THEME, 60)[1]) == "  yolo mode disabled jailed - ~/x"


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0s"), (59.9, "59s"), (133, "2m13s"), (3720, "1h02m")])
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_frames_of_unequal_width_do_not_shift_the_line() -> None:
    """iface-229: frames of unequal width do not shift the text behind them."""
    theme = built_in("dark")
    theme.spinner = Frames(("a", "bbb"), ("hm",), 1)
    assert {cells(spinner_glyph(theme, step / 1000)) for step in range(200)} == {3}
    assert len({spinner_glyph(theme, step / 1000) for step in range(200)}) == 2
