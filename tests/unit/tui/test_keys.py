"""Bytes to keys: every encoding of a key, nothing typed by accident, nothing lost."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.tui.keys import Key, KeyDecoder


def names(data: bytes) -> list[str]:
    decoder = KeyDecoder()
    return [key.name for key in [*decoder.feed(data), *decoder.flush()]]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"a", "a"),
        (b" ", "space"),
        (b"\r", "enter"),
        (b"\x1b\r", "alt+enter"),
        (b"\x1b[13;2u", "shift+enter"),
        (b"\x1b[27;2;13~", "shift+enter"),
        (b"\x1b[99;5u", "ctrl+c"),
        (b"\x1b[99;133u", "ctrl+c"),  # with num lock on
        (b"\x1b[97;129u", "a"),
        (b"\x03", "ctrl+c"),
        (b"\x1b[A", "up"),
        (b"\x1bOA", "up"),
        (b"\x1b[1;3D", "alt+left"),
        (b"\x1b\x1b[D", "alt+left"),
        (b"\x1bb", "alt+b"),
        (b"\x1b\x7f", "alt+backspace"),
        (b"\x1b[Z", "shift+tab"),
        (b"\x1f", "ctrl+_"),
        (b"\x1b[3~", "delete"),
        (b"\x1b[27u", "esc"),
        ("é".encode(), "é"),
    ],
)
def test_a_key_has_one_name_in_every_encoding(data: bytes, name: str) -> None:
    assert names(data) == [name]


@pytest.mark.parametrize("data", [b"\x1b[1~", b"\x1b[7~", b"\x1b[H", b"\x1bOH"])
def test_home_works_in_xterm_rxvt_vt_and_ss3_encodings(data: bytes) -> None:
    """iface-130: home is recognised in xterm, rxvt, VT and SS3 encodings."""
    assert names(data) == ["home"]


@pytest.mark.parametrize("data", [b"\x1b[4~", b"\x1b[8~", b"\x1b[F", b"\x1bOF"])
def test_end_works_in_xterm_rxvt_vt_and_ss3_encodings(data: bytes) -> None:
    """iface-130: end is recognised in xterm, rxvt, VT and SS3 encodings."""
    assert names(data) == ["end"]


def test_lone_escape_is_decoded_after_50_ms_and_is_no_arrow() -> None:
    """iface-131: a lone escape is known within 100 ms, and an arrow key is never taken for one."""
    decoder = KeyDecoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.waiting <= 0.1
    assert decoder.flush() == [Key("esc")]
    assert decoder.feed(b"\x1b") == []
    assert [key.name for key in decoder.feed(b"[A")] == ["up"]


@pytest.mark.parametrize("end", [b"\x1b\\", b"\x07"])
def test_a_reply_of_the_terminal_is_not_typed(end: bytes) -> None:
    """iface-132: a late reply of the terminal, even in two pieces, types nothing."""
    decoder = KeyDecoder()
    keys = [*decoder.feed(b"x\x1b]11;rgb:ffff/ff"), *decoder.feed(b"ff/ffff" + end + b"y")]
    assert [key.name for key in keys] == ["x", "reply", "y"]
    assert keys[1].text == "]11;rgb:ffff/ffff/ffff"


@pytest.mark.parametrize(
    "data", [b"\x1b[99;99;99z", b"\x1b[?1;2c", b"\x1bP1$r0m\x1b\\", b"\x1bOz", b"\x1b[<0;1;2M", b"\x1b[I"]
)
def test_an_unknown_sequence_inserts_nothing(data: bytes) -> None:
    """iface-133: an unknown escape sequence types nothing."""
    assert [name for name in names(data + b"z") if name != "reply"] == ["z"]


def test_invalid_utf8_does_not_lose_the_next_key() -> None:
    """iface-134: invalid UTF-8 does not swallow the next key."""
    assert names(b"\xff\xc3\x28a") == ["\ufffd", "\ufffd", "(", "a"]


def test_a_paste_is_one_key_with_its_text_even_in_pieces() -> None:
    decoder = KeyDecoder()
    keys = [*decoder.feed(b"\x1b[200~one\ntw"), *decoder.feed(b"o\x1b[A\x1b[20"), *decoder.feed(b"1~x")]
    assert keys == [Key("paste", "one\ntwo\x1b[A"), Key("x", "x")]


def test_a_paste_whose_end_never_comes_ends_after_a_second() -> None:
    decoder = KeyDecoder()
    assert decoder.feed(b"\x1b[200~half") == []
    assert decoder.waiting == 1.0
    assert decoder.flush() == [Key("paste", "half")]
    assert decoder.feed(b"a") == [Key("a", "a")]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_property_pieces_make_the_same_keys_as_the_whole(data: bytes, places: list[int]) -> None:
    whole, pieces = KeyDecoder(), KeyDecoder()
    cuts = sorted({0, len(data), *(place for place in places if place < len(data))})
    expected = [*whole.feed(data), *whole.flush()]
    got = [key for a, b in itertools.pairwise(cuts) for key in pieces.feed(data[a:b])]
    assert [*got, *pieces.flush()] == expected


@given(st.binary(max_size=200))
def test_property_no_key_carries_a_control_character_as_text(data: bytes) -> None:
    decoder = KeyDecoder()
    for key in [*decoder.feed(data), *decoder.flush()]:
        if key.printable:
            assert key.text.isprintable() or key.text == "\ufffd" or ord(key.text) >= 0xA0


def test_thousand_escapes_are_decoded_and_next_key_works() -> None:
    """Recursive decoding would fail, and fail again at every later key."""
    decoder = KeyDecoder()
    keys = decoder.feed(b"\x1b" * 1000) + decoder.flush()
    assert [key.name for key in keys] == ["esc"] * 1000
    assert [key.name for key in decoder.feed(b"a")] == ["a"]
    assert [key.name for key in decoder.feed(b"\x1b" * 500 + b"[A")][-1] == "alt+up"


@pytest.mark.parametrize(
    "sequence",
    [b"\x1b[" + b"9" * 5000 + b"u", b"\x1b[97:99999999999;2u", b"\x1b[97:" + b"9" * 5000 + b";2u", b"\x1b[97:7;2u"],
)
def test_a_number_no_terminal_sends_costs_no_other_key(sequence: bytes) -> None:
    decoder = KeyDecoder()
    assert [key.name for key in decoder.feed(sequence + b"b")][-1] == "b"


def test_a_sequence_that_another_breaks_off_is_dropped_alone() -> None:
    assert names(b"\x1b[1;\x1b[A") == ["up"]
    assert names(b"\x1b]11;rgb\x1b[B") == ["down"]
    assert names(b"\x1b[1;\x1b[1;\x1b[1;x") == []


def test_an_old_mouse_report_is_swallowed_wherever_it_is_cut() -> None:
    report = b"\x1b[M !!"
    for cut in range(1, len(report)):
        decoder = KeyDecoder()
        assert decoder.feed(report[:cut]) + decoder.feed(report[cut:]) + decoder.feed(b"a") == [Key("a", "a")]


def test_keys_by_the_thousand_are_the_same_as_one_by_one() -> None:
    data = b"\x01a\x1b[A\x1b[200~x\x1b[201~\x1b[M !!\x1b]11;rgb:0/0/0\x07\x1bOP" * 500
    one_by_one = KeyDecoder()
    assert KeyDecoder().feed(data) == [key for byte in data for key in one_by_one.feed(bytes([byte]))]
