"""vi keys: each row is a text with ``|`` at the cursor, the keys, and the text afterwards."""

from __future__ import annotations

import pytest

from tests.unit.frontends.terminal.editor.keyboard import THEME, Desk, Keyboard
from zot.tui.text_buffer import Position


def vi_board(text: str) -> Keyboard:
    """In normal mode, on the character after the bar."""
    ui = Desk()
    ui.vi = True
    board = Keyboard(ui)
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
        # words without punctuation
        ("|one.two three", "W", "one.two |three"),
        ("one.two |three", "B", "|one.two three"),
        ("|one.two three", "E", "one.tw|o three"),
        ("|one.two three", "dW", "|three"),
        ("|a bc", "cwx", "x| bc"),
        ("a| bc", "cwx", "ax|bc"),
        ("|one two three", "c2wx", "x| three"),
        # text objects
        ("one t|wo three", "ciwsix", "one six| three"),
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ("one t|wo three", "yiwP", "one tw|otwo three"),
        ("a |b.c d", "diW", "a | d"),
        ("a |b.c d", "daW", "a |d"),
        ("one|  two", "diw", "one|two"),
        ("one t|wo three four", "d2aw", "one |four"),
        ('say "he|llo there" now', 'ci"bye', 'say "bye|" now'),
        ('say "he|llo there" now', 'da"', "say |now"),
        ('|say "hello" now', 'di"', 'say "|" now'),
        ('say "a \\"|b" now', 'di"', 'say "|" now'),
        ("it |'is' so", "di'", "it '|' so"),
        ("run `ma|ke` now", "ci`test", "run `test|` now"),
        ("f(a, g(b|), c)", "di(", "f(a, g(|), c)"),
        ("f(a, g(b|), c)", "d2i(", "f(|)"),
        ("f(a, g(|b), c)", "da)", "f(a, g|, c)"),
        ("f|(a)", "dib", "f(|)"),
        ("a[1|2]", "di[", "a[|]"),
        ("x {\n  a|b\n}", "ci{c", "x {\nc|\n}"),
        ("x {\n  a|b\n}", "daB", "x| "),
        ("a|b", "di(x", "|a"),
        ("on|e", "cizx", "o|n"),
        ("on|e", "dq", "on|e"),
        # to a character of the line
        ("|one two", "fo", "one tw|o"),
        ("|one two", "to", "one t|wo"),
        ("one tw|o", "Fe", "on|e two"),
        ("one tw|o", "Te", "one| two"),
        ("|a.b.c", "2f.", "a.b|.c"),
        ("|a.b.c", "3f.", "|a.b.c"),
        ("|a.b.c", "f.;", "a.b|.c"),
        ("|a.b.c", "f.;,", "a|.b.c"),
        ("|a.b.c", "t.;", "a.|b.c"),
        ("|a.b.c", "df.", "|b.c"),
        ("|a.b.c", "dt.", "|.b.c"),
        ("a.b.|c", "dF.", "a.b|c"),
        ("a.b.|c", "dT.", "a.b.|c"),
        ("|a.b.c", "f.d;", "a|c"),
        ("|one, two", "ct,six", "six|, two"),
        # again
        ("|one two three", "dw.", "|three"),
        ("|a b c d", "dw2.", "|d"),
        ("|abcd", "x..", "|d"),
        ("|ab", "~", "A|b"),
        ("|ab\n  cd", "J", "ab| cd"),
        # selecting
        ("|abcd", "vld", "|cd"),
        ("a|bcd", "vhd", "|cd"),
        ("|one two", "vey", "|one two"),
        ("|one two", "veyP", "on|eone two"),
        ("|one two", "vecsix", "six| two"),
        ("one t|wo three", "viwd", "one | three"),
        ("one |two three", "vawd", "one |three"),
        ("a\n|b\nc", "Vd", "a\n|c"),
        ("|a\nb\nc", "Vjd", "|c"),
        ("a|bcd", "vlohd", "|d"),
        ("|ab cd", "vf d", "|cd"),
        ("|abc", "vlrx", "|xxc"),
        ("|abc", "vl~", "AB|c"),
        ("|ab cd", "ylwviwp", "ab |a"),
        ("|a\nb\nc", "vjx", "|\nc"),
        ("|abc", "vvx", "|bc"),
        ("a|b\nc", "VD", "|c"),
    ],
)
def test_vi_commands_match_vi(before: str, keys: str, after: str) -> None:
    assert shown(vi_board(before).type(keys)) == after


def test_dot_repeats_typed_text() -> None:
    board = vi_board("|one two three").type("cwsix").press("esc").type("w.")
    assert board.text == "six six three"
    assert board.press("esc").type("w3.").text == "six six six"
    board = vi_board("|ab").type("A!").press("esc").type("..")
    assert board.text == "ab!!!"
    board = vi_board("one |two (x)").type("ciwa").press("backspace").type("b").press("esc").type("0.")
    assert board.text == "b b (x)"


def test_a_dot_repeats_no_undo_no_motion_and_no_yank() -> None:
    assert vi_board("|abcd").type("xuw0yw.").text == "bcd"
    assert vi_board("|abcd").type(".").text == "abcd"


def test_escape_ends_a_selection_and_a_half_typed_object() -> None:
    board = vi_board("|abc").type("vl")
    assert board.editor.escape() and board.type("x").text == "ac"
    board = vi_board("|abc").type("ci")
    assert board.editor.escape() and board.type("x").text == "bc"


def test_selection_is_visible() -> None:
    board = vi_board("one |two three").type("ve")
    assert "\x1b[7mtwo\x1b[0m" in board.editor.view(THEME, 40, 5).lines[0]
    board.press("esc")
    assert "\x1b[7m" not in board.editor.view(THEME, 40, 5).lines[0]


def test_a_selection_does_not_reach_earlier_prompts() -> None:
    board = vi_board("draft|")
    board.ui.kept.add("earlier")
    assert board.type("vk").text == "draft"


def test_chip_is_one_word_and_survives_moves() -> None:
    board = vi_board("|a b").type("A ").paste("x\n" * 20).press("esc").type("diw0P")
    assert board.text.startswith("[pasted text #1") and board.text.endswith("a b ")
    assert board.send().startswith("x\nx\n")


def test_vi_begins_in_insert_mode_and_escape_leaves_it() -> None:
    ui = Desk()
    ui.vi = True
    board = Keyboard(ui).type("hjkl")
    assert board.text == "hjkl"
    assert board.press("esc").type("x").text == "hjk"


def test_prompt_shows_the_mode() -> None:
    board = vi_board("te|xt")
    assert board.editor.view(THEME, 40, 5).lines[0].startswith(": ")
    board.type("i")
    assert board.editor.view(THEME, 40, 5).lines[0].startswith("▌ ")


def test_enter_sends_from_normal_mode_and_returns_to_insert() -> None:
    board = vi_board("wor|ds")
    assert board.send() == "words"
    assert board.type("x").text == "x"


def test_redo_repeats_undone_change() -> None:
    assert vi_board("|one two").type("dwu").press("ctrl+r").text == "two"


def test_k_on_the_first_row_reaches_the_history() -> None:
    board = vi_board("|")
    board.ui.kept.add("earlier")
    assert board.type("k").text == "earlier"


def test_escape_in_normal_mode_never_empties_the_editor() -> None:
    board = vi_board("dra|ft")
    assert not board.editor.escape()
    board.editor.set_aside()
    assert board.text == "draft"


def test_letters_are_typed_without_the_vi_setting() -> None:
    assert Keyboard().type("a").press("esc").type("x").text == "ax"
