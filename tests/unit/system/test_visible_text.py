"""Escaped text for a user's decision."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.system.visible_text import MARK, escape_invisible, escape_lines, has_invisible, spelled_start


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("ls -l 'ü' 漢字 🙂 — é", "ls -l 'ü' 漢字 🙂 — é"),
        ("a\x1b]0;$(touch X)\x07b", "a⟨ESC⟩]0;$(touch X)⟨BEL⟩b"),
        ("a\nb\r\nc\td", "a↩b⟨CR⟩↩c⇥d"),
        ("\x00\x08\x0b\x0c\x1c\x7f\x85\x9b", "⟨NUL⟩⟨BS⟩⟨VT⟩⟨FF⟩⟨U+001C⟩⟨DEL⟩⟨U+0085⟩⟨U+009B⟩"),
        ("\u202ea\u200bb\u2066c\ufeff", "⟨U+202E⟩a⟨U+200B⟩b⟨U+2066⟩c⟨U+FEFF⟩"),
        ("\ud800 \udc80", "⟨U+D800⟩ ⟨U+DC80⟩"),
        ("a\u00a0b\u3000c\u2028d", "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2028⟩d"),
        ("⟨ESC⟩ ↩ ⇥", "⟨U+27E8⟩ESC⟨U+27E9⟩ ⟨U+21A9⟩ ⟨U+21E5⟩"),
        ("e\u0301 x\u0338", "e\u0301 x\u0338"),
        ("/\u0338 \u0301", "/⟨U+0338⟩ ⟨U+0301⟩"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + "⟨U+0301⟩⟨U+0301⟩"),
        ("a" + " " * 70 + "b", "a⟨70 spaces⟩b"),
        ("a" + " " * 63 + "b", "a" + " " * 63 + "b"),
    ],
)
def test_escaping_drops_no_character(text: str, shown: str) -> None:
    assert escape_invisible(text) == shown


def test_every_character_that_leaves_no_trace_has_a_mark() -> None:
    """Controls, formats, surrogates, private and unassigned characters, all spaces but the space, and the fillers."""
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
    every = [chr(code) for code in (*range(0x3200), *range(0xA000, 0x20000), *range(0xE0000, 0xE0200)) if code != 32]
    text = "".join(character for character in every if unicodedata.category(character) in unseen)
    text += "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u180b\ufe0f\U000e0100"
    assert MARK.sub("", escape_invisible(text)) == "⇥↩"


@given(st.text(max_size=60), st.text(max_size=60))
def test_property_two_texts_that_differ_look_different(one: str, other: str) -> None:
    assert (escape_invisible(one) == escape_invisible(other)) == (one == other)
    assert escape_invisible(one).isprintable() or any(unicodedata.combining(c) for c in one)


@given(st.text(alphabet="a\t ⇥\u0301\r\x1b", max_size=40), st.text(alphabet="a\t ⇥\u0301\r\x1b", max_size=40))
def test_property_different_lines_look_different(one: str, other: str) -> None:
    assert (escape_lines(one) == escape_lines(other)) == (one == other)


def test_text_start_is_cut_between_marks_with_a_count() -> None:
    assert spelled_start("ls\nrm", 20) == "ls↩rm"
    assert spelled_start("abc\x1bdef", 8) == "abc… (4 more characters)"
    assert spelled_start("x" * 200, 10) == "x" * 9 + "… (191 more characters)"
    assert spelled_start("x" + " " * 500 + "rm", 20).endswith(" more characters)")


def test_line_breaks_and_tabs_are_nothing_hidden() -> None:
    assert not has_invisible("a\n\tb\r\nc")
    assert has_invisible("a\rb") and has_invisible("a\u200bb") and has_invisible(" " * 100)
