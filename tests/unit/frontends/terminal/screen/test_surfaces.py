"""What extensions show beside the conversation, without a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from zot.frontends.terminal.screen.surfaces import Surfaces
from zot.tui.markdown import Painter
from zot.tui.theme import built_in
from zot.tui.width import cells, visible

PAINTER = Painter.of(built_in("dark", "none"))


def surfaces(*given: tuple[str, str, dict[str, Any]], stale: bool = False) -> Surfaces:
    made = Surfaces(lambda: PAINTER)
    for number, (kind, name, value) in enumerate(given):
        made.put(kind, f"x{number}", name, value, stale=stale)
    return made


def status(text: str, **more: Any) -> tuple[str, str, dict[str, Any]]:
    return "status", text, {"line": text, **more}


def test_status_items_stand_by_order_left_and_right() -> None:
    """ext2-078: §9.1: items stand left or right by `order`; what does not fit is cut from the highest order."""
    made = surfaces(status("b", order=200), status("a"), status("r", side="right"), status("first", order=-1))
    (row,) = made.bar(["  model"], "", [], 40)
    assert visible(row) == "  first  model  a  b" + " " * 19 + "r"
    (narrow,) = made.bar(["  model"], "", [], 20)
    assert visible(narrow).split() == ["first", "model", "a", "r"] and cells(narrow) == 20


@pytest.mark.parametrize("height", [9, 24, 60])
def test_all_together_take_a_third_of_the_screen(height: int) -> None:
    """ext2-078: surfaces take at most a third of the rows; the rest is cut with a mark, the newest last."""
    lines = {"lines": [f"row {number}" for number in range(12)]}
    made = surfaces(*(("widget", f"w{number}", lines) for number in range(4)), ("footer", "f", {"lines": ["foot"]}))
    blocks = made.blocks(80, height, quiet=True)
    assert sum(map(len, blocks.values())) <= height // 3
    assert blocks["footer"] == ["foot"] and "more rows of extensions" in "\n".join(blocks["above"])


def test_a_replaced_footer_keeps_mode_jail_and_the_extensions_name() -> None:
    """ext2-079: permission mode, jail mark and the name of the extension stay visible."""
    made = surfaces(("footer", "f", {"lines": ["mine"]}))
    rows = made.bar(["  model", "  runs everything - ~/x"], "runs everything jailed", ["mine"], 60)
    assert rows == ["mine", "  runs everything jailed [x0]"]
    added = surfaces(("footer", "f", {"lines": ["mine"], "replace": False}))
    assert added.bar(["  model"], "", ["mine"], 60) == ["  model", "mine"]


def test_the_last_contributed_is_shown_and_withdrawing_restores_the_one_before() -> None:
    """ext2-027: §4.2: of headers, footers, titles and the like the last one is shown."""
    made = surfaces(("title", "t", {"text": "one"}), ("title", "t", {"text": "two"}))
    assert made.title == "two"
    made.remove("title", "x1", "t")
    assert made.title == "one"


def test_widgets_stand_above_and_below_and_are_wrapped() -> None:
    """ext2-051: widgets are wrapped to the width; `place` says where they stand, `order` in which order."""
    late, early = {"lines": ["late"], "order": 9}, {"lines": ["early one two"], "order": 1}
    made = surfaces(("widget", "a", late), ("widget", "b", early), ("widget", "c", {"lines": ["u"], "place": "below"}))
    blocks = made.blocks(9, 60, quiet=False)
    assert blocks["above"] == ["early one", "two", "late"] and blocks["below"] == ["u"]


def test_borders_put_lines_into_the_corners() -> None:
    """ext2-086: the corners of a border stand in the rules of the editor."""
    made = surfaces(("border", "b", {"top_left": "plan", "bottom_right": [{"text": "NORMAL"}]}))
    assert made.rules(20) == ("── plan ────────────", "────────── NORMAL ──")


def test_stale_surfaces_are_dimmed() -> None:
    """ext2-027: surfaces of an ended process are drawn dimmed."""
    made = surfaces(("widget", "a", {"lines": ["old"]}), stale=True)
    assert made.blocks(20, 60, quiet=False)["above"] == ["\x1b[2mold\x1b[0m"]
