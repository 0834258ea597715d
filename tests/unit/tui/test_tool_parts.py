"""The parts of a tool call on the screen: partial JSON, diffs, its line and its folding."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.tui import diff
from zot.tui.diff import changed_words
from zot.tui.highlight import Highlighter
from zot.tui.theme import built_in
from zot.tui.tool_call_rows import CallHead, call_rows, folded, head_row, string_fields
from zot.tui.width import cells, visible

THEME = built_in("dark", "256")


def field(text: str, key: str) -> str | None:
    return next((f.value for f in string_fields(text) if f.key == key), None)


def test_partial_json_shows_the_text_before_an_incomplete_escape() -> None:
    """iface-108: text before an unfinished escape is shown while the JSON is still arriving."""
    assert field('{"content":"abc\\u00', "content") == "abc"
    assert field('{"content":"abc\\', "content") == "abc"


def test_surrogate_pairs_are_combined_and_half_of_one_waits() -> None:
    """iface-108: surrogate pairs are joined, and half of one waits for its other half."""
    assert field('{"content":"a\\ud83d\\ude00', "content") == "a😀"
    assert field('{"content":"a\\ud83d', "content") == "a"


def test_a_key_name_inside_another_value_is_only_text() -> None:
    """iface-108: the name of a key inside another value is taken for text."""
    assert field('{"note":"\\"path\\": \\"wrong\\"","path":"right', "path") == "right"


@given(st.text(max_size=30), st.text(max_size=30), st.integers(0, 100))
def test_property_any_prefix_gives_a_prefix_of_the_value(path: str, content: str, cut: int) -> None:
    whole = json.dumps({"path": path, "content": content})
    for found in string_fields(whole[: cut * len(whole) // 100]):
        value = {"path": path, "content": content}.get(found.key, "")
        assert value.encode("utf-16", "surrogatepass").startswith(found.value.encode("utf-16", "surrogatepass"))


def test_a_numbered_diff_counts_each_side() -> None:
    """iface-102: a numbered diff counts old and new lines separately and restarts at each hunk."""
    rows = [" a", "-b", "+B", "+C", " d", "...", "-x", " y"]
    lines = diff.numbered(rows, [(40, 40), (90, 91)])
    assert [(line.sign, line.number) for line in lines] == [
        *[(" ", 40), ("-", 41), ("+", 41), ("+", 42), (" ", 43), ("", 0)],
        *[("-", 90), (" ", 91)],
    ]


def test_added_rows_are_green_and_removed_rows_red() -> None:
    """iface-102: added rows are green and removed rows red, with their line numbers."""
    rows = diff.render(diff.numbered(["-b", "+B"], [(7, 7)]), THEME, Highlighter(THEME), "", 30)
    assert rows[0].startswith("\x1b[38;5;203m\x1b[48;5;52m-  7 ")
    assert rows[1].startswith("\x1b[38;5;114m\x1b[48;5;22m+  7 ")


@pytest.mark.parametrize("background", ["dark", "light"])
@pytest.mark.parametrize("depth", ["256", "true"])
def test_changed_words_have_stronger_tint_and_code_colours_stay(background: Any, depth: Any) -> None:
    theme = built_in(background, depth)
    lines = diff.numbered(["-x = foo(1)", "+x = bar(1)"], [(7, 7)])
    removed, added = diff.render(lines, theme, Highlighter(theme), "python", 60)
    for row, word, role in ((removed, "foo", "diff_remove"), (added, "bar", "diff_add")):
        assert f"{theme.tint(role, strong=True)}{word}\x1b[0m" in row
        assert row.count(theme.tint(role, strong=True)) == 1 and row.count(theme.tint(role)) > 3
        assert Highlighter(theme).lines("1", "python")[0].removesuffix("1\x1b[0m") in row
    assert len({theme.tint(role, strong=strong) for role in ("diff_add", "diff_remove") for strong in (0, 1)}) == 4


def test_without_colours_changed_words_are_underlined() -> None:
    theme = built_in("dark", "none")
    removed, added = diff.render(diff.numbered(["-a b c", "+a X c"], [(7, 7)]), theme, Highlighter(theme), "", 60)
    assert (removed, added) == ("-  7 a \x1b[1;4mb\x1b[0m c", "+  7 a \x1b[1;4mX\x1b[0m c")


def test_lines_that_have_little_in_common_are_other_lines() -> None:
    assert changed_words("-+", ["return 1", "import everything"]) == {}
    assert changed_words(" +-", ["a b c d", "a b c d", "a b c e"]) == {}, "what was added is not what was removed"
    assert changed_words("-+", ["a b", "a b " + "c" * 3000]) == {}


@given(
    st.lists(st.tuples(st.sampled_from("+- "), st.text(alphabet="ab日é (", max_size=30)), max_size=12),
    st.integers(9, 50),
)
def test_property_a_rendered_diff_is_the_diff(rows: list[tuple[str, str]], width: int) -> None:
    lines = diff.numbered([sign + text for sign, text in rows], [(1, 1)])
    shown = diff.render(lines, THEME, Highlighter(THEME), "", width)
    assert all(cells(row) <= width for row in shown)
    assert "".join(visible(row)[5:] for row in shown) == "".join(text for _, text in rows)


def test_a_unified_diff_is_numbered_from_its_hunk_headers() -> None:
    lines = diff.unified("--- a\n+++ b\n@@ -10,2 +20,2 @@\n ctx\n-old\n+new\n")
    assert lines is not None
    assert [(line.sign, line.number) for line in lines[3:]] == [(" ", 20), ("-", 11), ("+", 21)]
    assert diff.unified("no diff\n+ at all") is None


@given(st.text(alphabet="ab日é ", max_size=60), st.text(alphabet="ab日 ", max_size=30), st.integers(1, 100))
def test_property_a_call_is_one_row_that_fits_and_is_not_padded(subject: str, told: str, width: int) -> None:
    """iface-106: a call's row is within the width, for any content, and ends with its text."""
    head = CallHead("done", "Ran", subject, ((told, "muted"),) if told else (), "ext", (3, 1))
    row = head_row(THEME, head, width)
    assert cells(row) <= width
    assert width < 60 or "(+3 \N{MINUS SIGN}1)" in visible(row)


def test_subject_is_shortened_before_the_outcome() -> None:
    row = visible(head_row(THEME, CallHead("failed", "Ran", "make " + "x" * 200, (("exit 2", "error"),)), 60))
    assert row.startswith("✖ Ran make xxx") and row.endswith("… · exit 2") and cells(row) == 58


def test_a_body_is_indented_by_spaces_alone() -> None:
    assert [visible(row) for row in call_rows(THEME, CallHead("done", "Ran", "ls"), ["a", "", "b"], 40)] == [
        *["● Ran ls", "    a", "", "    b"]
    ]


@pytest.mark.parametrize(("count", "shown"), [(12, 12), (13, 11), (100, 11)])
def test_long_body_shows_first_rows_and_hidden_count(count: int, shown: int) -> None:
    """iface-099: a long body shows some rows and the number of hidden ones."""
    rows = folded(THEME, [f"row {i}" for i in range(count)], 10)
    assert len(rows) == shown
    if count > 12:
        assert visible(rows[-1]) == f"… {count - 10} more rows · ctrl+o shows all"


def test_last_rows_are_shown_if_the_end_matters() -> None:
    """iface-099: where the end matters the last rows are shown and the first hidden."""
    rows = folded(THEME, [f"row {i}" for i in range(40)], 10, tail=True)
    assert "30 earlier" in visible(rows[0])
    assert rows[-1] == "row 39"


@given(st.text(alphabet="ab日 \u0301", max_size=80), st.integers(2, 30), st.integers(0, 5))
def test_property_a_broken_line_is_the_line(text: str, width: int, styled: int) -> None:
    from zot.tui.width import broken

    line = f"{text[:styled]}\x1b[1m{text[styled:]}\x1b[0m"
    rows = broken(line, width)
    assert "".join(map(visible, rows)) == text
    assert all(cells(row) <= width for row in rows)


def test_a_change_at_the_end_of_a_long_line_is_seen() -> None:
    rows = diff.render(diff.numbered([f"-{'x' * 90}a", f"+{'x' * 90}b"], [(7, 7)]), THEME, Highlighter(THEME), "", 60)
    assert [visible(row)[:5] for row in rows] == ["-  7 ", "-  ↪ ", "+  7 ", "+  ↪ "]
    assert visible(rows[1]).endswith("a") and visible(rows[3]).endswith("b")


def test_a_difference_in_a_code_block_has_the_colours_of_an_edit() -> None:
    removed, added = Highlighter(THEME).lines("- old\n+ new", "diff")
    assert removed.startswith(THEME.sgr("diff_remove")) and added.startswith(THEME.sgr("diff_add"))


@pytest.mark.parametrize("row", ["no sign", "\tx", "9", "é"])
def test_invalid_edit_rows_are_shown_unchanged(row: str) -> None:
    """Attack: a session whose result of `edit` is arbitrary text must not end the screen."""
    theme = built_in()
    for lines in (diff.unnumbered([row]), diff.numbered([row], [(1, 1)])):
        [shown] = diff.render(lines, theme, Highlighter(theme), "python", 40)
        assert visible(shown) == row.expandtabs(4)


def test_hunk_without_valid_start_is_ignored() -> None:
    """Attack: a line number of 5,000 digits in a tool's output."""
    assert diff.unified("--- a\n+++ b\n@@ -" + "9" * 5000 + " +1 @@\n+x") is None
