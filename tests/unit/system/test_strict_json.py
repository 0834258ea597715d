"""Strict JSON: accepted and rejected input, and agreement of the quick and the exact parser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.system import strict_json

DEEPEST = b"[" * 64 + b"]" * 64


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"NaN", "NaN is not JSON"),
        (b'{"a":[-Infinity]}', "-Infinity is not JSON"),
        (b"1e400", "number out of range"),
        (b"[" + DEEPEST + b"]", "nested deeper than 64"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "nested deeper than 64"),
        (b'[{"a":' * 33 + b"1" + b"}]" * 33, "nested deeper than 64"),
        (b'["]",' + DEEPEST + b"]", "nested deeper than 64"),
        (b"[" * 200_000, "nested deeper than 64"),
        (b"[" * 200 + b"1", "not JSON"),
        (b"18446744073709551616", "integer beyond 64 bits"),
        (b'{"a":-9223372036854775809}', "integer beyond 64 bits"),
        (b"9" * 100_000, "integer beyond 64 bits"),
        (rb'"\ud800"', "lone surrogate"),
        (rb'"\udc00 and more"', "lone surrogate"),
        (rb'{"\ud83dx":1}', "lone surrogate"),
        (rb'"\ud83d\u0041"', "lone surrogate"),
        (b'{"a":1,"a":1}', "duplicate key 'a'"),
        (b'{"a" :1,"a":1}', "duplicate key 'a'"),
        (b'{"a"\t:1,"b":2,"a":3}', "duplicate key 'a'"),
        (rb'{"\u0061":1,"a":1}', "duplicate key 'a'"),
        (b'{"x":[{"b":1,"b":2}],"c":"\\":"}', "duplicate key 'b'"),
        (b'"\xff"', "invalid UTF-8 at byte 1"),
        (b'"\xed\xa0\x80"', "invalid UTF-8 at byte 1"),
        (b'\xef\xbb\xbf"a"', "not JSON"),
        (b'"a\x00"', "not JSON"),
        (b"", "not JSON"),
        (b"[1", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"'a'", "not JSON"),
    ],
)
def test_rejection_has_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        strict_json.loads(data)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"18446744073709551615", 2**64 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b'"18446744073709551616000"', "18446744073709551616000"),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"\\ud800"', r"\ud800"),
        (b'"' + b"[" * 100 + b'"', "[" * 100),
        (b'{"a": {"a": 1}}', {"a": {"a": 1}}),
        (b'[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
        (b'{"a":"{\\"b\\":1,\\"b\\":2}"}', {"a": '{"b":1,"b":2}'}),
        (b" [1.5, 1e3, -0, true, null] ", [1.5, 1000.0, 0, True, None]),
        (b"[" + b"[]," * 100 + b"[]]", [[]] * 101),
        (b'["\\"[[",' + b"[]," * 100 + b'"]]"]', ['"[[', *[[]] * 100, "]]"]),
    ],
)
def test_harmless_lookalikes_are_accepted(data: bytes, value: Any) -> None:
    assert strict_json.loads(data) == value


def test_sixty_four_levels_are_accepted() -> None:
    assert strict_json.loads(DEEPEST) == json.loads(DEEPEST)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.booleans())
def test_property_every_honest_value_survives(value: Any, ascii_only: bool, spaced: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=None if spaced else (",", ":"))
    assert strict_json.loads(text.encode()) == value


@given(st.text(alphabet='{}[]",:\\u d8ab01eE+-.', max_size=40))
def test_property_quick_check_accepts_no_more_than_exact(text: str) -> None:
    data = text.encode()
    try:
        expected = strict_json.exact(data)
    except ValueError:
        with pytest.raises(ValueError):
            strict_json.loads(data)
    else:
        assert strict_json.loads(data) == expected
