"""Keys that move, cut and put back; and that no sequence of keys breaks the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.frontends.terminal.editor.keyboard import THEME, Desk, Keyboard
from zot.frontends.terminal.editor.edit_keys import BY_KEY
from zot.tui.keys import Key, KeyDecoder
from zot.tui.text_buffer import Position, segmented
from zot.tui.width import cells

KEYS = st.one_of(
    st.sampled_from([Key(name) for name in [*BY_KEY, "alt+enter", "up", "down", "enter", "esc", "nonsense"]]),
    st.sampled_from([Key(c, c) for c in "ab_.漢👍\u0301\u200d🇩🇪/@\\"]),
    st.sampled_from([Key("paste", text) for text in ("x\r\ny", "long line " * 120, "a\nb\n" * 8, "/etc/passwd")]),
    st.just(Key("space", " ")),
)


@given(st.lists(KEYS, max_size=40), st.booleans(), st.integers(4, 30), st.integers(1, 5))
def test_any_keys_leave_cursor_in_text_and_view_in_frame(keys: list[Key], vi: bool, width: int, height: int) -> None:
    ui = Desk()
    ui.vi = vi
    board = Keyboard(ui, width + 3, height)
    for key in keys:
        board.key(key)
        buffer = board.editor.buffer
        assert 0 <= buffer.cursor.line < len(buffer.lines)
        assert 0 <= buffer.cursor.column <= len(buffer.line)
        assert all(list(line) == list(segmented(line)) for line in buffer.lines)
        view = board.editor.view(THEME, width + 3, height)
        assert 1 <= len(view.lines) <= height and 0 <= view.row < len(view.lines)
        assert view.column <= max(cells(view.lines[view.row]), 2)


@given(st.lists(KEYS.filter(lambda key: key.name not in ("enter", "ctrl+_", "ctrl+/")), max_size=30))
def test_undo_leads_back_to_the_empty_editor(keys: list[Key]) -> None:
    board = Keyboard()
    for key in keys:
        board.key(key)
    for _ in range(200):
        board.press("ctrl+_")
    assert board.text == ""


def test_words_include_underscores_and_non_ascii() -> None:
    """iface-127: alt+b and alt+f move by word; `_` and non-ASCII letters belong to words."""
    board = Keyboard().type("foo_1 größe.x")
    for expected in (12, 6, 0):
        board.press("alt+b")
        assert board.editor.buffer.cursor == Position(0, expected)
    for expected in (5, 11, 13):
        board.press("alt+right")
        assert board.editor.buffer.cursor == Position(0, expected)


def test_word_motion_crosses_line_ends() -> None:
    """iface-127: moving by word crosses the ends of lines."""
    board = Keyboard().type("one").press("alt+enter").type("two").press("home", "alt+left")
    assert board.editor.buffer.cursor == Position(0, 0)
    board.press("alt+f", "alt+f")
    assert board.editor.buffer.cursor == Position(1, 3)


@pytest.mark.parametrize("key", ["ctrl+w", "alt+backspace"])
def test_previous_word_is_cut_and_lines_join_at_line_start(key: str) -> None:
    """iface-128: ctrl+w and alt+backspace delete the previous word, and join lines at column 0."""
    board = Keyboard().type("one two").press("alt+enter").type("three four")
    assert board.press(key).text == "one two\nthree "
    assert board.press(key).text == "one two\n"
    assert board.press(key).text == "one two"
    assert board.press(key).text == "one "


def test_line_is_cut_to_either_end_and_pasted_back() -> None:
    """iface-129: ctrl+k and ctrl+u delete to the end and to the start of the line; ctrl+y puts it back."""
    board = Keyboard().type("left right").press("alt+b", "ctrl+k")
    assert board.text == "left "
    assert board.press("ctrl+u").text == ""
    assert board.press("ctrl+y").text == "left right"


def test_separate_cuts_are_stored_separately_and_rotated() -> None:
    board = Keyboard().type("a b").press("ctrl+w", "left", "right", "ctrl+w", "ctrl+y", "alt+y")
    assert board.text == "b"


@pytest.mark.parametrize(
    "sequence", ["\x1b[H", "\x1b[1~", "\x1b[7~", "\x1bOH", "\x01"], ids=["xterm", "vt", "rxvt", "ss3", "ctrl+a"]
)
def test_home_key_in_every_encoding_moves_to_line_start(sequence: str) -> None:
    """iface-130: home moves to the start of the line in every encoding a terminal sends."""
    board = Keyboard().type("text")
    board.press(*(key.name for key in KeyDecoder().feed(sequence.encode())))
    assert board.editor.buffer.cursor == Position(0, 0)


@pytest.mark.parametrize(
    "sequence", ["\x1b[F", "\x1b[4~", "\x1b[8~", "\x1bOF", "\x05"], ids=["xterm", "vt", "rxvt", "ss3", "ctrl+e"]
)
def test_end_key_in_every_encoding_moves_to_line_end(sequence: str) -> None:
    """iface-130: end moves to the end of the line in every encoding a terminal sends."""
    board = Keyboard().type("text").press("home")
    board.press(*(key.name for key in KeyDecoder().feed(sequence.encode())))
    assert board.editor.buffer.cursor == Position(0, 4)


@pytest.mark.parametrize("emoji", ["👍🏽", "👩‍💻", "🇩🇪", "e\u0301"])
def test_backspace_takes_a_whole_character(emoji: str) -> None:
    """iface-135: backspace removes an emoji with its modifier as one character."""
    assert Keyboard().type(f"a{emoji}").press("backspace").text == "a"


def test_cursor_is_right_after_wide_characters_and_wraps() -> None:
    """iface-136: the cursor's column is right behind wide characters and behind wrapped words."""
    assert Keyboard().type("漢字").cursor == (0, 6)
    board = Keyboard(width=13).type("hello brave new")
    assert board.screen == ["hello", "brave new"]
    assert board.cursor == (1, 11)


def test_up_and_down_move_by_shown_rows() -> None:
    """iface-125: up and down move by the rows shown, not by the lines of the text."""
    board = Keyboard(width=13).type("0123456789abcdefghij").press("alt+enter").type("xy").press("up")
    assert board.cursor == (1, 4)
    board.press("up")
    assert board.cursor == (0, 4)
    board.press("down", "down")
    assert board.cursor == (2, 4)


def test_moving_over_a_short_row_keeps_the_column() -> None:
    board = Keyboard().type("a long first").press("alt+enter").type("b").press("alt+enter").type("a long third")
    board.press("up", "up")
    assert board.cursor == (0, 14)


def test_only_rows_around_the_cursor_are_shown_of_a_long_text() -> None:
    board = Keyboard(height=3)
    board.editor.set_text("\n".join(f"line {number}" for number in range(100)))
    assert board.screen == ["line 97", "line 98", "line 99"]
    board.press("up", "up")
    assert board.screen == ["line 97", "line 98", "line 99"]
    board.press("up")
    assert board.screen == ["line 96", "line 97", "line 98"]


@pytest.mark.parametrize("key", ["alt+enter", "shift+enter", "ctrl+j"])
def test_a_newline_is_typed_with_a_modifier(key: str) -> None:
    """iface-123: enter with a modifier inserts a newline, and enter alone then sends the text."""
    board = Keyboard().type("a").press(key).type("b")
    assert board.text == "a\nb"
    assert board.send() == "a\nb"


def test_a_backslash_before_enter_is_a_newline() -> None:
    board = Keyboard().type("a\\").press("enter").type("b")
    assert board.sent == [] and board.text == "a\nb"


def test_enter_on_an_empty_editor_does_nothing() -> None:
    """iface-124: enter sends nothing while the editor is empty or holds only white space."""
    board = Keyboard().press("enter", "alt+enter", "enter").type("  ").press("enter")
    assert board.sent == []


def test_trailing_newlines_are_not_sent() -> None:
    assert Keyboard().type("hi").press("alt+enter", "alt+enter").send() == "hi"


def test_cleared_text_is_restored_by_undo() -> None:
    board = Keyboard().type("precious")
    board.editor.clear()
    assert board.press("ctrl+_").text == "precious"


def test_control_sequences_in_text_are_escaped() -> None:
    board = Keyboard().paste("a\x1b]0;title\x07b\x1b[31mc\x07\u202ed")
    assert board.text == "abcd"
