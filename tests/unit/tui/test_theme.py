"""Theme files: partial overrides, fallback, and bad values that cost only themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.tui import colour
from zot.tui.colour import Background, Colour, nearest, of_index
from zot.tui.highlight import Highlighter
from zot.tui.theme import ROLES, Theme, built_in
from zot.tui.theme_file import ThemeFile, apply, faint_roles, read


def applied(raw: dict[str, Any], ground: Background = "dark") -> tuple[Theme, list[str]]:
    return apply(ThemeFile(Path("t.json"), raw), ground, "true")


def theme(raw: dict[str, Any], ground: Background = "dark") -> Theme:
    return applied(raw, ground)[0]


@pytest.mark.parametrize("raw", [{"accent": 5}, {"colors": {"accent": 5}}, {"colors": {"dark": {"accent": 5}}}])
def test_overriding_one_colour_keeps_all_others(raw: dict[str, Any]) -> None:
    """iface-219: a theme that sets only `accent`, at any place, preserves all other colours."""
    made, plain = theme(raw), built_in("dark", "true")
    assert made.colour_of("accent") == Colour(index=5)
    others = [role.key for role in ROLES if role.key != "accent"]
    assert [made.colour_of(key) for key in others] == [plain.colour_of(key) for key in others]


def test_dark_only_theme_applies_on_light() -> None:
    """iface-220: a theme with only a dark section applies it on a light terminal too."""
    made = theme({"colors": {"dark": {"accent": 5}}}, "light")
    assert made.colour_of("accent") == Colour(index=5)
    assert made.colour_of("fg") == built_in("light").colour_of("fg")


def test_an_explicit_base_chooses_the_palette() -> None:
    """iface-220: `base` chooses the palette, whatever the terminal's background."""
    assert theme({"base": "light"}, "dark").colour_of("fg") == built_in("light").colour_of("fg")
    assert theme({"base": "auto"}, "dark").colour_of("fg") == built_in("dark").colour_of("fg")


def test_without_base_the_background_decides() -> None:
    """iface-221: without `base` the detected background chooses the palette."""
    assert theme({"accent": 5}, "light").colour_of("fg") == built_in("light").colour_of("fg")


def test_a_light_section_alone_applies_on_dark() -> None:
    """iface-293: a theme with only a light section applies it on a dark terminal too."""
    assert theme({"colors": {"light": {"accent": 9}}}, "dark").colour_of("accent") == Colour(index=9)


def test_the_section_of_the_background_wins_over_the_shared_sets() -> None:
    raw = {"accent": 1, "colors": {"accent": 2, "dark": {"accent": 3}, "light": {"accent": 4}}}
    assert theme(raw, "dark").colour_of("accent") == Colour(index=3)
    assert theme(raw, "light").colour_of("accent") == Colour(index=4)


def test_malformed_json_is_a_problem_and_nothing_more(tmp_path: Path) -> None:
    """iface-225: a malformed theme file is reported and otherwise harmless."""
    path = tmp_path / "bad.json"
    path.write_text("{ not json")
    assert "not JSON" in read(path).problem


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    path.write_text(json.dumps({"name": "x" * 300_000}))
    assert "256 KiB" in read(path).problem


def test_a_bad_value_affects_only_its_own_key() -> None:
    """iface-226: a bad value affects its own key and no other."""
    made, problems = applied({"accent": "nonsense", "error": 9, "muted": 999, "tool": True})
    plain = built_in("dark", "true")
    assert made.colour_of("accent") == plain.colour_of("accent")
    assert made.colour_of("error") == Colour(index=9)
    assert len(problems) == 3
    assert all("ignored" in problem for problem in problems)


def test_unknown_key_is_named_with_the_nearest() -> None:
    raw = {
        "acent": 1,
        "Colours": {},
        "qqqq": 1,
        "$schema": "x",
        "_note": "y",
        "colors": {"dark": {"user-buble-bg": 1}, "light": {"eror": 1}},
        "syntax": {"keywrd": "bold"},
        "spinner": {"frame": ["x"], "frames": ["a"]},
    }
    _, problems = applied(raw)
    told = [problem.partition(": ")[2] for problem in problems]
    assert sorted(told) == sorted(
        [
            "acent is not a theme key; did you mean accent?",
            "Colours is not a theme key; did you mean colors?",
            "qqqq is not a theme key; `zot docs themes` lists them",
            "syntax.keywrd is not a theme key; did you mean keyword?",
            "spinner.frame is not a theme key; did you mean frames?",
            "user-buble-bg is not a theme key; did you mean user_bubble_bg?",
        ]
    )


def test_spelling_is_compared_without_case_and_separators() -> None:
    """iface-227: `userBubbleBG` and `user_bubble_bg` are one key."""
    assert theme({"userBubbleBG": 7}).colour_of("user_bubble_bg") == Colour(index=7)
    assert theme({"user-bubble-bg": 7, "user_bubble_bg": 8}).colour_of("user_bubble_bg") == Colour(index=8)
    assert theme({"thinkingMax": 7}).colour_of("thinking_max") == Colour(index=7)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("#0f8", Colour(rgb=(0, 255, 136))),
        ("#00ff88", Colour(rgb=(0, 255, 136))),
        ("00ff88", Colour(rgb=(0, 255, 136))),
        (17, Colour(index=17)),
        ("red", Colour(ansi=31)),
        ("brightblue", Colour(ansi=94)),
        ("default", Colour()),
        ("$sea", Colour(index=42)),
        ({"index": 3}, Colour(index=3)),
        ({"mode": "xterm256", "index": 3}, Colour(index=3)),
        ({"mode": "ansi", "index": 100}, Colour(ansi=100)),
        ({"mode": "truecolor", "r": 1, "g": 2, "b": 3}, Colour(rgb=(1, 2, 3))),
    ],
)
def test_every_form_of_a_colour_works(value: Any, expected: Colour) -> None:
    """iface-228: hex, index, ANSI name, `default` and `$var` are all accepted as colours."""
    assert theme({"vars": {"sea": 42}, "accent": value}).colour_of("accent") == expected


def test_rgb_as_an_object_and_as_hex_are_the_same() -> None:
    """iface-294: an RGB object and its hex form give the same colour."""
    one = theme({"accent": {"mode": "rgb", "r": 1, "g": 2, "b": 3}})
    assert one.colour_of("accent") == theme({"accent": "#010203"}).colour_of("accent")


def test_spinner_keys_are_used_and_empty_ones_change_nothing() -> None:
    """iface-229: the spinner's frames, messages and interval are used, and empty ones change nothing."""
    made = theme({"spinner_frames": ["a", "bb"], "spinner_messages": ["hm"], "spinner_interval_ms": 5})
    assert (made.spinner.frames, made.spinner.messages, made.spinner.interval_ms) == (("a", "bb"), ("hm",), 20)
    same = theme({"spinner_frames": [], "spinner_messages": [], "spinner_interval_ms": 0})
    assert same.spinner == built_in("dark").spinner
    coloured = theme({"spinner": 183})
    assert coloured.spinner == built_in("dark").spinner
    assert coloured.colour_of("spinner") == Colour(index=183)
    assert theme({"spinner": {"frames": ["x"]}}).spinner.frames == ("x",)


def test_syntax_overrides_change_code_and_constants() -> None:
    """iface-230: `syntax` changes the colours of code, and constants follow keywords."""
    made = theme({"syntax": {"name_function": "underline #010203", "keyword": "#040506", "string": "#070809"}})
    (row,) = Highlighter(made).lines("def f(): return None, 'x'", "python")
    assert "\x1b[4;38;2;1;2;3mf" in row
    assert "\x1b[38;2;4;5;6mNone" in row
    assert "38;2;7;8;9m'x'" in row or "38;2;7;8;9mx" in row


def test_a_base_style_of_the_highlighter_can_be_named() -> None:
    made, problems = applied({"syntax_base_style": "monokai"})
    assert problems == []
    assert made.syntax["keyword"] != built_in("dark").syntax["keyword"]
    assert applied({"syntax_base_style": "no-such-style"})[1]


def test_derived_keys_follow_until_they_are_named() -> None:
    assert theme({"tool": 5}).colour_of("diff_add") == Colour(index=5)
    assert theme({"tool": 5, "diff_add": 6}).colour_of("diff_add") == Colour(index=6)
    assert theme({"accent": 5}, "light").colour_of("code") == Colour(index=5)


def test_no_color_removes_colours_and_selection_stays_visible() -> None:
    """iface-235: `NO_COLOR` removes all colours, and a selected row is still visible."""
    made = built_in("dark", colour.depth_of({"NO_COLOR": "1", "TERM": "xterm"}))
    assert made.paint("accent", "x") == "x"
    assert made.paint("accent", "x", bold=True) == "\x1b[1mx\x1b[0m"
    assert made.selected("row", 5) == "\x1b[7mrow  \x1b[0m"


def test_rgb_is_reduced_to_256_colours_if_needed() -> None:
    assert Colour(rgb=(95, 135, 255)).sgr("256") == "38;5;69"
    assert colour.depth_of({"TERM": "xterm-256color"}) == "256"
    assert colour.depth_of({"TERM": "xterm", "COLORTERM": "truecolor"}) == "true"


@given(st.integers(16, 255))
def test_property_an_entry_of_the_256_is_nearest_to_itself(index: int) -> None:
    assert of_index(nearest(of_index(index))) == of_index(index)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda c: (
            st.lists(c, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["accent", "colors", "dark", "syntax", "spinner", "vars", "keyword", "spinner_frames", "base"]
                ),
                c,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_property_no_theme_file_can_raise(value: Any) -> None:
    """iface-225: no theme file, whatever it holds, raises."""
    apply(ThemeFile(Path("t.json"), value if isinstance(value, dict) else {"accent": value}), "dark", "256")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("]11;rgb:ffff/ffff/ffff", "light"),
        ("]11;rgb:0/0/0", "dark"),
        ("]11;rgb:1e1e/1e1e/1e1e", "dark"),
        ("]11;rgba:ff/ff/ff/ff", "light"),
        ("]10;rgb:ff/ff/ff", None),
    ],
)
def test_the_background_is_read_from_the_terminals_reply(body: str, found: str | None) -> None:
    assert colour.background_in(body) == found


def test_without_a_reply_colorfgbg_decides_and_else_it_is_dark() -> None:
    """iface-237: without a reply `COLORFGBG` decides, and failing that the background is dark."""
    assert colour.background_of({"COLORFGBG": "0;15"}) == "light"
    assert colour.background_of({"COLORFGBG": "15;0"}) == "dark"
    assert colour.background_of({}) == "dark"
    assert colour.BACKGROUND_WAIT_S <= 0.1


def test_faint_colours_are_named() -> None:
    assert any(line.startswith("fg:") for line in faint_roles(theme({"fg": 234})))
    assert not any(line.startswith("fg:") for line in faint_roles(built_in("dark")))
