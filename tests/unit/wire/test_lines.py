"""Lines and views as extensions send them."""

from __future__ import annotations

import pytest

from zot.wire.lines import Span, is_cut, plain_lines, plain_text, to_line, to_lines, to_view


def test_strings_lose_escapes_controls_and_line_breaks() -> None:
    """ext2-050: of escapes only SGR survives, reset at the end; controls and bidirectional overrides are replaced."""
    assert plain_text(to_line("a\x1b[31mred\x1b[2Jb\x07c\u202ed\ne")) == "a\x1b[31mredb\ufffdc\ufffdd\ufffde\x1b[0m"
    assert plain_text(to_line([{"text": "x\x1b]0;title\x07y"}])) == "xy"


@pytest.mark.parametrize(
    ("link", "kept"),
    [("https://a.b/c", True), ("http://a", True), ("file:///p/x", True), ("javascript:x", False), ("ftp://a", False)],
)
def test_links_need_a_known_scheme(link: str, kept: bool) -> None:
    """ext2-050: `link` accepts https, http and file."""
    assert bool(to_line([{"text": "x", "link": link}])[0].link) is kept


def test_long_values_are_cut_and_reported() -> None:
    """ext2-052: 500 lines of 4,096 characters and 256 spans."""
    assert len(to_lines(["x"] * 501)) == 500 and is_cut(["x"] * 501)
    assert len(plain_text(to_line("x" * 5000))) == 4096 and is_cut(["x" * 5000])
    assert len(to_line([{"text": "x"}] * 300)) == 256 and is_cut([[{"text": "x"}] * 300])
    assert not is_cut(["x"] * 500)


def test_unknown_styles_are_ignored_and_wrong_shapes_are_text() -> None:
    """ext2-053: unknown style words are ignored; a wrong shape is drawn as its text."""
    assert to_line([{"text": "a", "style": "bold sparkling accent"}]) == (Span("a", "bold accent"),)
    assert to_line({"text": "alone", "fg": 7}) == (Span("alone"),)
    assert to_line(42) == (Span("42"),)
    assert to_line([None, 3, "x"]) == (Span("x"),)
    assert to_view(["no view"]) is None and to_view({"title": "t"}) is None


def test_only_one_fill_per_line_is_kept() -> None:
    """ext2-051: at most one `fill` of a line is honoured."""
    line = to_line([{"text": "-", "fill": True}, {"text": "=", "fill": True}])
    assert [span.fill for span in line] == [True, False]


def test_plain_text_of_a_view_has_title_and_all_lines() -> None:
    """ext2-054: front ends that cannot draw get the plain text."""
    view = to_view({"title": "t", "lines": ["short"], "expanded": [[{"text": "a", "style": "bold"}, "b"], "c"]})
    assert view is not None and plain_lines(view) == "t\nab\nc"
