"""Patterns of decorations: the same matches as ``re`` where it finds the longest, and never slow."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest

from zot.features.extensions.text_pattern import BadPattern, TextPattern, TookTooLong


def found(pattern: str, text: str, *, ignore_case: bool = False) -> list[str]:
    return [text[start:end] for start, end in TextPattern(pattern, ignore_case=ignore_case).matches(text)]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a+b", "xaaabab"),
        (r"\bfoo\b", "foo food afoo foo"),
        (r"\Boo", "oo foo"),
        ("(?:a|b)*c", "ababc abc x"),
        ("[a-c]{2,3}", "abcabcab"),
        ("[^a-c ]+", "abc def x"),
        (r"#\d+", "see #12 and #3"),
        ("^x|y$", "xxyy"),
        (r"[\w.]+@\w+", "me.too@here, you@there"),
        (r"x{2}", "xxxxx x{2}"),
        (r"a{,2}b", "aaab"),
        ("x{a}", "x{a}"),
        (r"[\]\-a]+", "]-a"),
        ("日本?", "日本 日"),
        ("a*?b", "aab"),
    ],
)
def test_matches_are_those_of_re(pattern: str, text: str) -> None:
    """ext2-087: the usual grammar works."""
    assert found(pattern, text) == [match.group() for match in re.finditer(pattern, text) if match.group()]


def test_the_longest_alternative_counts() -> None:
    """ext2-087: as in POSIX, not the first one."""
    assert found("ab|abc", "abcd") == ["abc"]


def test_case_is_ignored_on_request() -> None:
    assert found("ab[c-d]", "ABD abC", ignore_case=True) == ["ABD", "abC"] and found("ab", "AB") == []


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<!a)b", "(?P<n>a)", r"(a)\1", "(", "a)", "[a", "*a", "a{9,2}", "\\"])
def test_everything_else_is_refused(pattern: str) -> None:
    """ext2-087: look-around, back references and what is no pattern."""
    with pytest.raises(BadPattern):
        TextPattern(pattern)


@pytest.mark.parametrize("pattern", ["a" * 201, "((a{50}){50}){50}", "a{101}"])
def test_size_is_bounded(pattern: str) -> None:
    """ext2-087: at most 200 characters, and no explosion of repetitions."""
    with pytest.raises(BadPattern):
        TextPattern(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a*)*b", "(a|aa)+b", "(a|a|ab)*c", "a*a*a*a*a*b", "(.*.*)*x"])
def test_no_pattern_is_slow(pattern: str) -> None:
    """ext2-087: what takes `re` minutes ends at the deadline."""
    text, began = "a" * 65_536, time.thread_time()
    with suppress(TookTooLong):
        list(TextPattern(pattern).matches(text, began + 0.002))
    assert time.thread_time() - began < 0.05
