"""Lines of extensions in the user's theme."""

from __future__ import annotations

from pathlib import Path

from zot.frontends.terminal.screen.line_art import LineArt
from zot.tui.markdown import Painter
from zot.tui.theme import Theme, built_in
from zot.tui.width import cells, visible
from zot.wire.lines import to_line, to_view

DARK = built_in("dark", "true")


def art(theme: Theme = DARK, *, project: Path | None = None) -> LineArt:
    return LineArt(Painter.of(theme, links=True, project=project))


def test_roles_take_the_colours_of_the_theme() -> None:
    """ext2-049: a role is drawn in the user's theme; without colours only attributes remain."""
    line = to_line(
        [{"text": "a", "style": "bold accent"}, {"text": "b", "fg": "error"}, {"text": "c", "fg": "#102030"}]
    )
    row = art().row(line, 20)
    assert DARK.sgr("accent") in row and DARK.sgr("error") in row and "\x1b[38;2;16;32;48m" in row
    plain = art(built_in("dark", "none")).row(to_line([{"text": "a", "style": "bold muted", "fg": "#102030"}]), 20)
    assert plain == "\x1b[1m\x1b[2ma\x1b[0m"


def test_every_role_and_attribute_is_known_to_the_theme() -> None:
    """ext2-049: each role of the protocol has a colour in every built-in theme."""
    from zot.wire.lines import ATTRIBUTES, ROLES

    for theme in (DARK, built_in("light", "256")):
        for word in (*ROLES, *ATTRIBUTES):
            assert art(theme).row(to_line([{"text": "x", "style": word}]), 5).startswith("\x1b["), word


def test_fill_fills_the_row_at_any_width() -> None:
    """ext2-051: `fill` repeats its text to fill the row; a longer line is cut, or wrapped."""
    line = to_line([{"text": "left"}, {"text": "·-", "fill": True}, {"text": "right"}])
    assert visible(art().row(line, 16)) == "left·-·-·-·right"
    assert visible(art().row(line, 7)) == "left·…" or cells(art().row(line, 7)) == 7
    assert [visible(row) for row in art().rows(to_line("one two three"), 7)] == ["one two", "three"]
    assert all(cells(art().row(line, width)) <= width for width in range(1, 40))


def test_a_file_link_must_be_inside_the_project(tmp_path: Path) -> None:
    """ext2-050: `link` accepts a file only inside the project."""
    inside, outside = f"file://{tmp_path}/a.py", "file:///etc/passwd"
    drawn = art(project=tmp_path)
    assert inside in drawn.row(to_line([{"text": "x", "link": inside}]), 9)
    assert outside not in drawn.row(to_line([{"text": "x", "link": outside}]), 9)
    assert f"file://{tmp_path}/../x" not in drawn.row(to_line([{"text": "x", "link": f"file://{tmp_path}/../x"}]), 9)
    assert "https://a.b" in drawn.row(to_line([{"text": "x", "link": "https://a.b"}]), 9)


def test_hidden_text_cannot_be_drawn() -> None:
    """ext2-050: an SGR that hides text does not pass."""
    assert "\x1b[8m" not in art().row(to_line("\x1b[8msecret"), 20)


def test_a_view_is_folded_or_expanded_and_may_be_markdown() -> None:
    """ext2-054: `lines` is the folded form, `expanded` the whole, `markdown` is rendered."""
    view = to_view({"title": "T", "lines": ["folded"], "expanded": ["one", "two"]})
    assert view is not None
    assert [visible(row) for row in art().view(view, 20)] == ["T", "folded"]
    assert [visible(row) for row in art().view(view, 20, expanded=True)] == ["T", "one", "two"]
    marked = to_view({"lines": ["**bold** text"], "markdown": True})
    assert marked is not None and [visible(row) for row in art().view(marked, 20)] == ["bold text"]
