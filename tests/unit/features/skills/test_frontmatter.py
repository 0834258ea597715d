"""The frontmatter of a SKILL.md: splitting and parsing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.features.skills.discovery import Frontmatter, parse, split


def test_frontmatter_ends_at_dashes_and_body_is_trimmed() -> None:
    """engine-233: the frontmatter ends at the next line of dashes, and the body is trimmed."""
    assert split("---\nname: a\n---\n\n  text\nmore\n\n") == ("name: a", "text\nmore")


def test_blank_lines_and_bom_before_frontmatter_are_allowed() -> None:
    """engine-233: blank lines and a byte order mark in front of the frontmatter are allowed."""
    assert split("\ufeff\n\n---\nname: a\n---\nbody") == ("name: a", "body")


def test_a_file_without_a_head_is_all_body() -> None:
    """engine-234: without frontmatter the whole text is the body."""
    assert split("# Title\n\ntext\n") == ("", "# Title\n\ntext")


def test_a_head_that_never_ends_is_body() -> None:
    """engine-233: an opening line of dashes that is never closed belongs to the body."""
    assert split("---\nname: a\ntext") == ("", "---\nname: a\ntext")


def test_an_empty_file_has_neither_head_nor_body() -> None:
    assert split("") == ("", "")


def test_dashes_in_the_body_stay_there() -> None:
    assert split("---\nname: a\n---\none\n---\ntwo")[1] == "one\n---\ntwo"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: plain words", "plain words"),
        ('description: "in double quotes"', "in double quotes"),
        ("description: 'in single quotes'", "in single quotes"),
        ("description: 'it''s'", "it's"),
        (r'description: "say \"hi\"\n"', 'say "hi"'),
        ("description: fix issue #12: again", "fix issue #12: again"),
        ("description:", ""),
        ('description: "', '"'),
        ("description: one\n  and two", "one and two"),
        ("description: >\n  one\n  two\n\n  three", "one two\nthree"),
        ("description: >-\n  one\n  two", "one two"),
        ("description: |\n  one\n    two\n", "one\n  two"),
        ("description: |\n  # not a comment\n  text", "# not a comment\ntext"),
    ],
)
def test_a_description_may_be_plain_quoted_or_a_block(line: str, value: str) -> None:
    """engine-233: a description may be plain, quoted, or a folded or literal block."""
    assert parse(line).description == value


@pytest.mark.parametrize(
    "text",
    [
        "allowed-tools: [read, bash]",
        "allowed_tools: [read, bash]",
        "allowed-tools: ['read', \"bash\"]",
        "allowed-tools: read, bash",
        "allowed-tools:\n  - read\n  - bash",
        "allowed-tools:\n- read\n- 'bash'",
        "allowed-tools: [read,\n  bash]",
    ],
)
def test_allowed_tools_may_be_inline_or_one_per_line(text: str) -> None:
    """engine-233: `allowed-tools` may be an inline list or one item per line."""
    assert parse(text).allowed_tools == ("read", "bash")


def test_a_comma_inside_quotes_does_not_split_an_item() -> None:
    assert parse('allowed-tools: ["a, b", c]').allowed_tools == ("a, b", "c")


def test_permissions_map_a_tool_to_its_patterns() -> None:
    """engine-233: `permissions` maps each tool to its patterns, in either list form."""
    head = "permissions:\n  bash: [git *, 'ls']\n  My_tool:\n    - x\n    - y\nname: z"
    assert parse(head).permissions == {"bash": ("git *", "ls"), "My_tool": ("x", "y")}


def test_comments_unknown_keys_and_nonsense_are_skipped() -> None:
    """engine-233: comments, unknown keys and lines that make no sense do not disturb the rest."""
    head = "# a comment\nlicense: MIT\nmetadata:\n  version: 1\n???\nname: right\n"
    assert parse(head) == Frontmatter(name="right")


def test_a_name_is_always_one_line() -> None:
    assert parse("name: >\n  two\n  words").name == "two words"


@given(st.text(alphabet="-ab: \n\t\r'\"[],#>|\ufeff\\"))
def test_property_any_text_splits_and_parses_without_an_error(text: str) -> None:
    head, body = split(text)
    parse(head)
    assert body == body.strip()
