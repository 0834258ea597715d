"""Path patterns: matches, and linear time for any pattern and path."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.agent.tools import ignore
from zot.agent.tools.ignore import Rules, regex_of, walk
from zot.frontends.file_index import _Listing  # pyright: ignore[reportPrivateUsage]

PIECES = ["*", "**", "/", "a", "b", "?", "[ab]", "[!a]", "**/"]


def matches(pattern: str, path: str) -> bool:
    return re.fullmatch(regex_of(pattern), path, re.DOTALL) is not None


def by_trying_everything(pattern: str, path: str) -> bool:
    """The same language, by an engine that goes back on every decision."""
    pieces = ["(?:.*/)?" if token is ignore._DIRECTORIES else token for token in ignore._tokens(pattern)]
    return re.fullmatch("".join(pieces), path, re.DOTALL) is not None


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.text("ab/c", max_size=10))
def test_property_linear_matcher_equals_backtracking(pieces: list[str], path: str) -> None:
    pattern = "".join(pieces)
    assert matches(pattern, path) == by_trying_everything(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*a" * 200 + "*b", "a" * 4000), ("**/a/" * 100 + "b", "a/" * 2000), ("**/*a*a*a*a*b/" * 20 + "c", "aaaa/" * 800)],
)
def test_a_pattern_made_to_freeze_is_matched_in_one_walk(pattern: str, path: str) -> None:
    """``*a*a*…*b`` in an ignore file or a glob must not freeze the terminal or RPC."""
    compiled = re.compile(regex_of(pattern), re.DOTALL)
    started = time.process_time()
    assert not compiled.fullmatch(path)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "line",
    ["{" + ",".join(["*a*a*a"] * 60) + "}" + "*a" * 100, "*" + "a" * 100 + "*b", "{" * 60 + "}" * 60, "[a-z]" * 25],
    ids=["braces", "letters", "nested braces", "classes"],
)
def test_hostile_ignore_file_is_matched_within_a_time_limit(line: str) -> None:
    """Attack: 250 KB of lines whose expressions take minutes to compile and seconds to match."""
    lines = [f"{line}{number}" for number in range(2_000)]
    started = time.process_time()
    rules = Rules("/p", lines[: (256 << 10) // len(line)])
    for name in ("a" * 255, "b"):
        rules.verdict(f"/p/{name}", False)
    assert time.process_time() - started < 4


@pytest.mark.parametrize("pattern", ["{a,b}" * 20, "x" * 2000, "[z-a]"])
def test_a_pattern_beyond_all_measure_is_refused(pattern: str) -> None:
    with pytest.raises(re.error):
        re.compile(regex_of(pattern))


@pytest.mark.parametrize("pattern", ["[z-a]", "x/[!9-0]*", "{a,[b-a]}"])
def test_reversed_range_is_a_clear_error(pattern: str) -> None:
    with pytest.raises(re.error, match=r"^in \[.*\] a range ends before it begins$"):
        regex_of(pattern)


def test_braces_expand_to_alternatives() -> None:
    assert all(matches("{a,b/{c,d}}/*.{py,pyi}", path) for path in ("a/x.py", "b/c/x.pyi", "b/d/.py"))
    assert not matches("{a,b}", "ab") and matches("{a", "{a") and matches("[{]a,b}", "{a,b}")


def deep(root: Path, levels: int = 1_500) -> None:
    """A file so many directories deep; the path to it is longer than a call may name at once."""
    here = os.getcwd()
    os.chdir(root)
    try:
        for _ in range(levels):
            os.mkdir("a")
            os.chdir("a")
        Path("deep.txt").touch()
    finally:
        os.chdir(here)


def test_a_tree_deeper_than_calls_can_be_is_walked(tmp_path: Path) -> None:
    """Attack: a clone of 1,500 nested directories."""
    deep(tmp_path)
    (tmp_path / "top.txt").touch()
    found = list(walk(str(tmp_path)))
    assert found == ["a/" * 1_500 + "deep.txt", "top.txt"]
    subprocess.run(["rm", "-rf", tmp_path / "a"], check=True)  # what cleans up here calls itself for each level


def test_the_directories_of_a_deep_path_are_listed_before_it() -> None:
    listing = _Listing()
    listing.add(b"a/" * 1_500 + b"deep.txt\0")
    assert len(listing.paths) == 1_501 and listing.paths[0] == "a/" and listing.paths[-1].endswith("deep.txt")
