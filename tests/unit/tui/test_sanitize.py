from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.tui.sanitize import Sanitizer, one_line, sanitize

HOSTILE = [
    ("clipboard write", "a\x1b]52;c;ZXZpbA==\x07b", "ab"),
    ("clipboard write, ST", "a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"),
    ("clear screen", "a\x1b[2Jb", "ab"),
    ("erase scrollback", "a\x1b[3Jb", "ab"),
    ("cursor move", "a\x1b[10;10Hb", "ab"),
    ("8-bit CSI", "a\x9b2Jb", "ab"),
    ("8-bit OSC", "a\x9d0;title\x9cb", "ab"),
    ("8-bit DCS", "a\x90q#0\x9cb", "ab"),
    ("title", "a\x1b]0;evil\x07b", "ab"),
    ("reset", "a\x1bcb", "ab"),
    ("alternate screen", "a\x1b[?1049hb", "ab"),
    ("application program command", "a\x1b_Gf=100;AAAA\x1b\\b", "ab"),
    ("bidi override", "a\u202eb", "ab"),
    ("bidi isolate", "a\u2067b", "ab"),
    ("backspace", "abc\x08\x08\x08xyz", "abcxyz"),
    ("bare carriage return", "safe\rEVIL", "safeEVIL"),
    ("unterminated OSC", "a\x1b]52;c;AAAA", "a]52;c;AAAA"),
]


@pytest.mark.parametrize(("name", "text", "clean"), HOSTILE, ids=[row[0] for row in HOSTILE])
def test_a_sequence_that_acts_on_the_terminal_is_removed(name: str, text: str, clean: str) -> None:
    assert sanitize(text) == clean


def test_colour_tabs_newlines_and_crlf_pass() -> None:
    text = "\x1b[1;31mred\x1b[0m\tx\r\ny\n"
    assert sanitize(text) == text


def test_an_8_bit_sgr_is_rewritten_in_7_bits() -> None:
    assert sanitize("\x9b31mred") == "\x1b[31mred"


@pytest.mark.parametrize(("name", "text", "clean"), HOSTILE, ids=[row[0] for row in HOSTILE])
def test_a_sequence_split_at_any_place_is_removed_all_the_same(name: str, text: str, clean: str) -> None:
    for cut in range(len(text) + 1):
        stream = Sanitizer()
        seen = stream.feed(text[:cut]) + stream.feed(text[cut:])
        assert not _acts(seen), (cut, seen)
        assert seen + stream.close() == clean, cut


@given(st.lists(st.text(alphabet="a\x1b[]P;0m2J\x07\\\x9b\x9d\x9c\r\n\u202e", max_size=8), max_size=6))
def test_property_stream_passes_no_active_control(parts: list[str]) -> None:
    stream = Sanitizer()
    out = "".join(stream.feed(part) for part in parts) + stream.close()
    assert not _acts(out)


def test_one_line_folds_newlines_and_drops_colours() -> None:
    assert one_line("a\n  b\x1b[31mc\x1b[0m\x1b[2J") == "a bc"


def _acts(text: str) -> bool:
    """Whether anything but SGR, tab and line ends remains that a terminal would execute."""
    rest = re.sub(r"\x1b\[[0-9;:]*m", "", text).replace("\r\n", "")
    return bool(re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", rest))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\x1b[8mhidden", "hidden"),
        ("\x1b[1;8;31mx", "\x1b[1;31mx"),
        ("\x1b[08mx", "x"),
        ("\x1b[38;5;8mgrey\x1b[48;2;8;8;8mx", "\x1b[38;5;8mgrey\x1b[48;2;8;8;8mx"),
        ("\x1b[38;5;8;8mx", "\x1b[38;5;8mx"),
    ],
)
def test_hidden_style_is_removed_and_colour_passes(text: str, clean: str) -> None:
    assert sanitize(text) == clean


def test_open_style_ends_with_the_stream() -> None:
    stream = Sanitizer()
    assert stream.feed("\x1b[7mre") + stream.feed("versed") + stream.close() == "\x1b[7mreversed\x1b[0m"
    assert stream.feed("\x1b[1mx\x1b[0m") + stream.close() == "\x1b[1mx\x1b[0m"
    assert stream.feed("plain") + stream.close() == "plain"
