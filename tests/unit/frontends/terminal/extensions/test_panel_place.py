"""Where panels stand: inside the screen, whatever an extension says."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from zot.frontends.terminal.extensions.panel_place import ANCHORS, Box, PanelPlace, parse_place
from zot.frontends.terminal.extensions.panels import laid_over
from zot.tui.width import cells, visible, without_start

SIZES: list[Any] = [0, 1, 7, 40, 10_000, "0%", "50%", "100%", "999%", "x%", "50", -3, 1.5, None, True, []]


def test_boxes_are_clipped_to_the_screen() -> None:
    """ext2-083: no size, margin or anchor leads out of it."""
    for anchor, width, height, margin in itertools.product((*ANCHORS, "nowhere"), SIZES, SIZES, (0, 3, 500, -1, "x")):
        place = parse_place(
            {"mode": "overlay", "anchor": anchor, "width": width, "max_height": height, "margin": margin}
        )
        for columns, rows in ((20, 5), (80, 24), (200, 60)):
            box = place.box(columns, rows, 12)
            assert box.row >= 0 and box.row + box.height <= rows, (place, box)
            assert box.column >= 0 and box.column + box.width <= columns, (place, box)
            assert 1 <= place.most_rows(rows) <= rows


@pytest.mark.parametrize("value", [None, 3, "overlay", [], {}, {"mode": "window"}])
def test_what_is_not_understood_is_inline(value: Any) -> None:
    assert parse_place(value) == PanelPlace()


def test_anchors_are_where_they_say() -> None:
    fixed = {"mode": "overlay", "width": 20, "max_height": 5, "margin": 1}
    boxes = {anchor: parse_place({**fixed, "anchor": anchor}).box(80, 24, 9) for anchor in ANCHORS}
    assert boxes["top_left"] == Box(1, 1, 20, 5) and boxes["bottom_right"] == Box(18, 59, 20, 5)
    assert boxes["center"] == Box(9, 30, 20, 5) and boxes["right"].column == 59 and boxes["top"].row == 1


@pytest.mark.parametrize(
    "below", ["", "short", "x" * 40, "日本語日本語日本語日本語", "\x1b[31mred \x1b[1mbold\x1b[0m plain " + "y" * 20]
)
def test_a_row_over_another_keeps_the_columns(below: str) -> None:
    """ext2-083: wide characters at the edges and styles do not move what is right of an overlay."""
    for column, width in itertools.product(range(12), (3, 10)):
        row = laid_over(below, "日X", Box(0, column, width, 1))
        assert cells(row) == max(cells(below), column + width)
        assert visible(row)[: column + 2].rstrip() or column == 0 or not below


def test_the_rest_of_a_row_keeps_its_styles() -> None:
    row = without_start("\x1b[31mred\x1b[1mbold", 4)
    assert row == "\x1b[31m\x1b[1mold" and without_start("日本", 1) == " 本" and without_start("ab", 5) == ""
