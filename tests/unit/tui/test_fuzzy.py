"""Fuzzy matching: matches and their ranking."""

from __future__ import annotations

import pytest

from zot.tui.fuzzy import LONGEST, Pattern

COMMANDS = (
    "help",
    "sessions",
    "session",
    "settings",
    "skills",
    "reload-ext",
    "reasoning",
    "context",
    "exit",
    "compact",
)


def found(typed: str, texts: tuple[str, ...]) -> list[str]:
    pattern = Pattern(typed)
    ranked = [(rank, text) for text in texts if (rank := pattern.rank(text)) is not None]
    return [text for _, text in sorted(ranked)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("session", ["session", "sessions"]),
        ("ses", ["session", "sessions", "settings"]),
        ("ext", ["reload-ext", "context", "exit"]),
        ("rext", ["reload-ext"]),
        ("re", ["reasoning", "reload-ext"]),
        ("cmpt", ["compact"]),
        ("SKL", ["skills"]),
        ("xyz", []),
    ],
)
def test_whole_words_rank_before_prefixes_before_letters(typed: str, expected: list[str]) -> None:
    assert found(typed, COMMANDS) == expected


@pytest.mark.parametrize(
    ("typed", "text", "finds"),
    [
        ("opus46", "anthropic/claude-opus-4-6", True),
        ("opus46", "claude-opus-4-5-20251106", False),
        ("4.6 opus", "claude-opus-4-6", True),
        ("opus gpt", "claude-opus-4-6", False),
        ("", "anything", True),
        ("édi", "ÉDITION", True),
        ("oauth", "on the first day a question, much later the answer", False),
    ],
)
def test_words_match_in_any_order_ignoring_punctuation(typed: str, text: str, finds: bool) -> None:
    assert (Pattern(typed).rank(text) is not None) is finds


def test_description_matches_rank_after_text_matches() -> None:
    pattern = Pattern("theme")
    own, aside = pattern.rank("theme", "colours"), pattern.rank("settings", "the theme and more")
    assert own is not None and aside is not None and own < aside
    assert Pattern("tmr").rank("settings", "the theme and more") is None


def test_match_positions_are_returned() -> None:
    assert Pattern("sl").places("session list") == {0, 8}
    assert Pattern("list ses").places("session list") == {0, 1, 2, 8, 9, 10, 11}
    assert Pattern("x").places("session") == set()


def test_very_long_word_must_match_exactly() -> None:
    long = "a" * (LONGEST + 1)
    assert Pattern(long).rank(f"b{long}") is not None
    assert Pattern(long).rank("a b" * LONGEST) is None
