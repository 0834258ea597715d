"""Cell widths of text, and rows that never exceed their width."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.tui import width
from zot.tui.width import RESET, cells, cut, pad, visible, wrap

STYLES = ["\x1b[1m", "\x1b[38;5;111m", RESET, "\x1b]8;;https://example.org\x1b\\", "\x1b]8;;\x1b\\"]
# Whole clusters: a style in the middle of one is nobody's text.
CLUSTERS = ["a", "b", " ", "日", "本", "é", "e\u0301", "👩🏽‍💻", "🏳️‍🌈", "x", "-", "_", "。", "」"]
WORDS = st.lists(st.sampled_from(CLUSTERS), max_size=12).map("".join)
LINES = st.lists(st.one_of(WORDS, st.sampled_from(STYLES)), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("👩🏽‍💻", 2),
        ("\x1b[31mred\x1b[0m", 3),
        ("─│▌✓…", 5),
        ("\x1b]8;;https://e.org\x1b\\link\x1b]8;;\x1b\\", 4),
    ],
)
def test_a_text_takes_the_cells_a_terminal_gives_it(text: str, width: int) -> None:
    """iface-076: a text takes as many cells as a terminal gives it."""
    assert cells(text) == width


@given(LINES, st.integers(1, 20))
def test_property_wrapped_row_does_not_exceed_width(text: str, width: int) -> None:
    """iface-076: no row of a wrapped line exceeds the width."""
    assert all(cells(row) <= width for row in wrap(text, width))


@given(LINES, st.integers(2, 20))
def test_property_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    joined = "".join(visible(row) for row in wrap(text, width))
    assert re.sub(" ", "", joined) == re.sub(" ", "", visible(text))


@given(LINES, st.integers(1, 20))
def test_property_every_row_closes_its_styles(text: str, width: int) -> None:
    for row in wrap(text, width)[:-1]:
        after = row.rpartition(RESET)[2]
        assert not re.search(r"\x1b\[[1-9][0-9;]*m", after)


@given(LINES, st.integers(0, 20))
def test_property_a_cut_line_fits_and_a_padded_one_fills(text: str, width: int) -> None:
    """iface-279: a text cut to a width fits it, and a padded one fills it."""
    assert cells(cut(text, width)) <= width
    assert cells(pad(text, width)) == width


def test_a_cut_never_breaks_a_character() -> None:
    """iface-279: a cut never breaks a character in two."""
    assert cut("日本語", 4) == "日…"
    assert cut("ab👩🏽‍💻cd", 3) == "ab…"


def test_styles_are_opened_again_after_a_wrap() -> None:
    assert wrap("\x1b[1mone two\x1b[0m", 4) == ["\x1b[1mone\x1b[0m", "\x1b[1mtwo\x1b[0m"]


def test_continuation_rows_are_indented() -> None:
    assert wrap("• one two", 6, "  ") == ["• one", "  two"]


def test_word_longer_than_row_is_split_in_place() -> None:
    assert wrap("ab cdefghij", 5) == ["ab cd", "efghi", "j"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("日本語日本語。", ["日本語日本", "語。"]),
        ("日本語「日本」。」次", ["日本語「日", "本」。」次"]),
        ("日本語日本語！日本語日本、語", ["日本語日本", "語！日本語", "日本、語"]),
        ("ab 日本語日本語日本。", ["ab 日本語", "日本語日", "本。"]),
        ("。。。。。。。", ["。。。。。", "。。"]),  # nothing to carry
        ("日本語日本\x1b[1m語\x1b[0m。次", ["日本語日本\x1b[1m\x1b[0m", "\x1b[1m語\x1b[0m。次"]),
        ("\x1b[1m日本語日\x1b[0m本。次", ["\x1b[1m日本語日\x1b[0m", "本。次"]),
    ],
)
def test_no_row_begins_with_a_mark_that_closes_something(text: str, rows: list[str]) -> None:
    assert wrap(text, 10) == rows


def test_a_closing_mark_begins_a_row_that_has_no_room_for_more() -> None:
    assert wrap("日。本。", 2) == ["日", "。", "本", "。"]
    assert wrap("日本語日本。", 10, "        ") == ["日本語日本", "        。"]


def test_cjk_width_equals_unicode_tables() -> None:
    """Every character of the shortcut is two cells and its own cluster."""
    from wcwidth import iter_graphemes, wcswidth

    simple = re.compile(f"[{width.TWO_CELLS}]")
    wide = "".join(filter(simple.match, map(chr, range(0x3000, 0x10000))))
    assert len(wide) > 30_000
    assert list(iter_graphemes(wide)) == list(wide)
    assert {wcswidth(character) for character in wide} == {2}


def test_cjk_width_needs_no_tables() -> None:
    """The first such key of a session would wait for them."""
    code = "import sys; from zot.tui.width import cells; cells('漢字かな 한글、'); sys.exit('wcwidth' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_mark_on_a_wide_character_joins_it() -> None:
    assert cells("か\u3099漢") == 4


@pytest.mark.parametrize(
    "text",
    [
        "a🏽" * 30,
        "👩\u200d" * 30,
        "🇩🇪🇫🇷🇮" * 20,
        "1\ufe0f\u20e3" * 30,
        "❤\ufe0f" * 40,
        "x\u094b" * 40,
        "\u0600👨\u200d👩" * 20,
    ],
    ids=["tones", "joiners", "flags", "keycaps", "hearts", "vowel signs", "prefixes"],
)
def test_no_emoji_makes_a_row_wider_than_the_screen(text: str) -> None:
    """Attack: clusters whose parts are wider together, or alone, than measured."""
    for columns in (2, 3, 7, 10, 40):
        for indent in ("", "  "):
            assert all(cells(row) <= columns for row in wrap(text * 30, columns, indent))
        assert cells(cut(text * 30, columns)) <= columns
