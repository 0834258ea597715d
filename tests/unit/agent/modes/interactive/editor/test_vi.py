"""vi keys: each row is a text with ``|`` at the cursor, the keys, and the text afterwards."""

from __future__ import annotations

import pytest

from tests.unit.agent.modes.interactive.editor.keyboard import THEME, Desk, Keyboard
from zot.tui.text_buffer import Position


def vi_board(text: str) -> Keyboard:
    """In normal mode, on the character after the bar."""
    desk = Desk()
    desk.vi = True
    board = Keyboard(desk)
    board.editor.set_text(text.replace("|", ""))
    before = text.partition("|")[0]
    board.press("esc")
    board.editor.buffer.move(Position(before.count("\n"), len(before.rpartition("\n")[2])))
    return board


def shown(board: Keyboard) -> str:
    lines = [list(line) for line in board.editor.buffer.lines]
    line, column = board.editor.buffer.cursor
    lines[line].insert(column, "|")
    return "\n".join("".join(parts) for parts in lines)


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("one |two", "h", "one| two"),
        ("one |two", "l", "one t|wo"),
        ("one tw|o", "l", "one tw|o"),
        ("|one two.three", "w", "one |two.three"),
        ("one |two.three", "w", "one two|.three"),
        ("one two.|three", "2b", "one |two.three"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("  one t|wo", "0", "|  one two"),
        ("  one t|wo", "^", "  |one two"),
        ("o|ne two", "$", "one tw|o"),
        ("a\nb\n|c", "gg", "|a\nb\nc"),
        ("|a\nb\nc", "G", "a\nb\n|c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("|a\nb\nc", "2j", "a\nb\n|c"),
        ("a\nb\n|c", "k", "a\n|b\nc"),
        ("one |two three", "dw", "one |three"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("one |two", "d$", "one| "),
        ("one |two", "db", "|two"),
        ("|one two", "de", "| two"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("|a\nb\nc", "2dd", "|c"),
        ("a\n|b", "dd", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("a\n|b\nc", "dG", "|a"),
        ("|abc", "x", "|bc"),
        ("|abc", "2x", "|c"),
        ("ab|c", "X", "a|c"),
        ("one |two", "D", "one| "),
        ("|one two", "cwsix", "six| two"),
        ("one |two", "Csix", "one six|"),
        ("a|bc", "sxy", "axy|c"),
        ("a\n|b\nc", "ccnew", "a\nnew|\nc"),
        ("|one two", "ywP", "one| one two"),
        ("|ab", "ylp", "a|ab"),
        ("|a\nb", "yyp", "a\n|a\nb"),
        ("a\n|b", "yyp", "a\nb\n|b"),
        ("a\n|b", "ddP", "|b\na"),
        ("|one two", "dwu", "|one two"),
        ("a|b", "rx", "a|x"),
        ("|abc", "2rx", "x|xc"),
        ("o|ne", "iX", "oX|ne"),
        ("o|ne", "aX", "onX|e"),
        ("  o|ne", "IX", "  X|one"),
        ("o|ne", "AX", "oneX|"),
        ("a\n|b", "oX", "a\nb\nX|"),
        ("a\n|b", "OX", "a\nX|\nb"),
        ("|👍🏽漢", "x", "|漢"),
        ("|abc", "dzx", "|bc"),
    ],
)
def test_vi_does_what_vi_does(before: str, keys: str, after: str) -> None:
    assert shown(vi_board(before).type(keys)) == after


def test_it_begins_by_typing_and_escape_ends_that() -> None:
    desk = Desk()
    desk.vi = True
    board = Keyboard(desk).type("hjkl")
    assert board.text == "hjkl"
    assert board.press("esc").type("x").text == "hjk"


def test_the_prompt_tells_the_mode() -> None:
    board = vi_board("te|xt")
    assert board.editor.view(THEME, 40, 5).lines[0].startswith(": ")
    board.type("i")
    assert board.editor.view(THEME, 40, 5).lines[0].startswith("▌ ")


def test_enter_sends_from_normal_mode_and_the_next_prompt_is_typed() -> None:
    board = vi_board("wor|ds")
    assert board.send() == "words"
    assert board.type("x").text == "x"


def test_redo_does_again_what_was_undone() -> None:
    assert vi_board("|one two").type("dwu").press("ctrl+r").text == "two"


def test_k_on_the_first_row_reaches_the_history() -> None:
    board = vi_board("|")
    board.desk.kept.add("earlier")
    assert board.type("k").text == "earlier"


def test_escape_in_normal_mode_never_empties_the_editor() -> None:
    board = vi_board("dra|ft")
    assert not board.editor.escape()
    board.editor.set_aside()
    assert board.text == "draft"


def test_without_the_setting_letters_are_letters() -> None:
    assert Keyboard().type("a").press("esc").type("x").text == "ax"
