"""Markdown as rows: the rendering, and equality of streamed and whole text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zot.tui import colour
from zot.tui.colour import contrast
from zot.tui.markdown import MarkdownStream, Painter, render
from zot.tui.theme import SYNTAX, built_in
from zot.tui.width import cells, visible

DARK = Painter.of(built_in("dark", "true"))
LIGHT = Painter.of(built_in("light", "true"))


def plain(text: str, width: int = 60) -> list[str]:
    return [visible(row).rstrip() for row in render(text, DARK, width)]


def streamed(text: str, sizes: list[int], width: int = 60) -> list[str]:
    stream, rows, position = MarkdownStream(), [], 0
    for size in sizes:
        stream.feed(text[position : position + size])
        position += size
        rows += stream.advance(DARK, width)
    stream.feed(text[position:])
    return [*rows, *stream.finish(DARK, width)]


SAMPLE = """# Title

Some *text* with `code` and a [link](https://example.org/a_b).
Second line.

- one
- two with more words than fit into one row of this rather narrow little window
  - nested
1. first

> quoted
> more

```python
def f(x):
    return x  # done
```

| a | b |
|---|--:|
| 1 | two words |

~~~
plain
~~~

---
end"""


@settings(max_examples=60)
@given(st.lists(st.integers(1, 30), max_size=60))
def test_property_streamed_rows_equal_finished_text(sizes: list[int]) -> None:
    """iface-084: a message split into any deltas has the rows of the finished text."""
    assert streamed(SAMPLE, sizes) == render(SAMPLE, DARK, 60)


BLOCKS = st.sampled_from(
    [
        "para one\n",
        "\n",
        "# head\n",
        "- item\n",
        "```\n",
        "~~~py\n",
        "x = 1\n",
        "| a | b |\n",
        "|--|--|\n",
        "> q\n",
        "**b",
        "`c",
        "\n\n",
    ]
)


@given(st.lists(BLOCKS, max_size=14).map("".join), st.integers(1, 7))
def test_property_any_text_streams_to_the_rows_it_ends_with(text: str, size: int) -> None:
    """iface-084: any text streams to the rows it has when finished."""
    pieces = [size] * (len(text) // size)
    assert [visible(row) for row in streamed(text, pieces)] == [visible(row) for row in render(text, DARK, 60)]


@given(st.text(alphabet="ab*_`~[]()#|-> \n日👩", max_size=80), st.integers(4, 30))
def test_property_no_row_exceeds_width(text: str, width: int) -> None:
    """iface-076: no row exceeds the width, also with wide characters and emoji."""
    if "|" not in text:  # a table has a narrowest width of its own
        assert all(cells(row) <= width for row in render(text, DARK, width))


def test_nothing_that_is_settled_is_rendered_again() -> None:
    """iface-086: rows that are settled are never drawn again."""
    stream = MarkdownStream()
    stream.feed("one\n\ntwo\n\nthree")
    first = stream.advance(DARK, 60)
    assert [visible(row) for row in first] == ["one", "", "two"]
    assert stream.advance(DARK, 60) == []
    assert [visible(row) for row in stream.live(DARK, 60)] == ["", "three"]


def test_an_unfinished_fence_is_code_while_it_streams() -> None:
    """iface-088: a code fence that is still open is drawn as code."""
    stream = MarkdownStream()
    stream.feed("```python\nreturn *x*")
    assert [visible(row) for row in stream.live(DARK, 60)] == ["return *x*"]
    assert "\x1b[1;38;2;129;161;193mreturn" in stream.live(DARK, 60)[0]


def test_a_long_open_fence_settles_line_by_line() -> None:
    stream = MarkdownStream()
    stream.feed("```python\n" + "".join(f"x = {i}\n" for i in range(100)))
    settled = stream.advance(DARK, 60)
    assert len(settled) > 70
    stream.feed("```\nafter")
    rest = stream.finish(DARK, 60)
    assert [visible(row) for row in [*settled, *rest]] == [*[f"x = {i}" for i in range(100)], "after"]


def test_wide_table_wraps_cells_and_aligns_pipes() -> None:
    """iface-089: a table too wide for the screen wraps its cells and aligns its pipes."""
    rows = plain("| name | what it is |\n|---|---|\n| a | " + "long words here " * 6 + "|", 40)
    assert all(len(row) <= 40 for row in rows)
    pipes = {tuple(i for i, c in enumerate(row) if c in "│├┼┤") for row in rows}
    assert len(pipes) == 1
    assert len(rows) > 4


def test_a_pipe_in_code_does_not_split_a_cell() -> None:
    assert "│ a|b │ c   │" in plain("| `a|b` | c |\n|---|---|\n| 1 | 2 |")


def test_inline_code_with_asterisks_is_unchanged() -> None:
    """iface-090: asterisks inside inline code stay as they are."""
    assert plain("see `a *b* **c**` ok") == ["see a *b* **c** ok"]


@pytest.mark.parametrize("text", ["snake_case_name", "a snake_case_name b", "__init__.py_x"])
def test_snake_case_is_never_italic(text: str) -> None:
    """iface-091: underscores inside a name never make it italic."""
    assert "\x1b[3m" not in "".join(render(text, DARK, 60))


def test_underscores_at_word_boundaries_emphasize() -> None:
    assert "\x1b[3m" in "".join(render("an _italic_ word", DARK, 60))
    assert plain("an _italic_ word") == ["an italic word"]


@pytest.mark.parametrize("painter", [DARK, LIGHT])
def test_highlighted_code_has_no_background(painter: Painter) -> None:
    """iface-092: highlighted code sets no background colour."""
    rows = render("```python\ndef f(): return 'x' # c\n```\n```diff\n+a\n-b\n```", painter, 60)
    assert not re.search(r"48;[25];|\x1b\[(?:\d;)?4[0-7]m", "".join(rows))


def test_code_on_a_light_theme_has_contrast_against_white() -> None:
    """iface-093: every code colour of the light theme has a contrast of at least 4.5 to 1 on white."""
    for role in SYNTAX:
        for word in role.light.split():
            parsed = colour.parse(word)
            rgb = parsed.approximate() if parsed else None
            if rgb is not None:
                assert contrast(rgb, (255, 255, 255)) >= 4.5, role.key
    code = LIGHT.theme.colour_of("code")
    assert code is not None
    assert contrast(code.approximate() or (0, 0, 0), (255, 255, 255)) >= 4.5


def test_hashes_of_a_heading_stay_and_bullets_become_dots() -> None:
    assert plain("## Head\n\n* one\n+ two") == ["## Head", "", "• one", "• two"]


def test_task_boxes_and_nested_items_hang() -> None:
    assert plain("- [x] done\n- [ ] open words that wrap", 16) == ["• ☑ done", "• ☐ open words", "    that wrap"]


def test_a_link_is_an_address_after_its_text_or_an_osc_8_link() -> None:
    text = "[page](https://e.org/x)"
    assert plain(text) == ["page (https://e.org/x)"]
    linked = render(text, Painter.of(DARK.theme, links=True), 60)
    assert "\x1b]8;;https://e.org/x\x1b\\" in linked[0]
    assert visible(linked[0]) == "page"


def test_a_quote_has_a_bar_on_each_row() -> None:
    assert plain("> one two three", 9) == ["┃ one two", "┃ three"]


def test_a_long_line_of_code_wraps_in_its_colours() -> None:
    rows = render("```python\nx = 'aaaaaaaaaaaaaaaaaaaaaa'\n```", DARK, 12)
    assert len(rows) > 2
    assert all("38;2;163;190;140" in row for row in rows[1:])
