"""The built-in skill about themes: it lists every key and form, and its example is a theme."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from tests.unit.features.skills.example_files import blocks, example_files, skill_text

NAME = "write-zot-themes"
TEXT = " ".join(skill_text(NAME).split())

ROLES = {
    "fg": ("253", "236"),
    "muted": ("244", "244"),
    "accent": ("111", "33"),
    "user": ("180", "94"),
    "user_bubble_bg": ("`#42454b`", "254"),
    "user_bubble_fg": ("255", "235"),
    "assistant": ("117", "31"),
    "tool": ("114", "28"),
    "tool_out": ("245", "240"),
    "error": ("203", "160"),
    "warning": ("214", "166"),
    "spinner": ("183", "91"),
    "selection_bg": ("24", "153"),
    "selection_fg": ("231", "232"),
}
DERIVED = {
    "diff_add": "tool",
    "diff_remove": "error",
    "diff_context": "muted",
    "heading": "accent",
    "link": "accent",
    "code": "accent",
    "quote": "muted",
    "border": "muted",
    "tool_name": "fg",
    "prompt": "accent",
    "note_info": "muted",
    "note_success": "tool",
    "note_warn": "warning",
    "note_error": "error",
    "ctx_warn": "warning",
    "ctx_high": "error",
}
SYNTAX = [
    *(
        "keyword",
        "keyword_constant",
        "keyword_declaration",
        "keyword_namespace",
        "keyword_reserved",
        "keyword_type",
    ),
    *("name_builtin", "name_function", "name_class", "name_decorator"),
    *("literal_string", "literal_string_escape", "literal_number"),
    *("comment", "comment_preproc", "operator", "punctuation", "text"),
]
OTHER = ["background", "thinking_max", "spinner_frames", "spinner_messages", "spinner_interval_ms"]

POINTS: dict[str, list[str]] = {
    "when to use it": ["Use this when the user wants other colours"],
    "value forms": [
        "xterm colour 0 to 255",
        "six hex digits, `#` optional",
        '{"mode":"256","index":111}',
        "`color256`, `xterm256`",
        '{"mode":"ansi","index":94}',
        '{"mode":"rgb","r":136,"g":192,"b":208}',
        "`truecolor`",
        '"default"',
        "`vars`",
        "`#rrggbb` colour and the words `bold`, `italic`, `underline`",
    ],
    "fallback": [
        "Start from the built-in palette of the terminal's background",
        "Apply the top-level set, then the `colors` set.",
        "if only the other section exists, that one is used",
        '"base": "dark"',
    ],
    "where to put the file": ["`$ZOT_HOME/themes/<name>.json`"],
    "how to preview": ["`/settings`", "`zot --theme NAME`", "`ZOT_THEME=NAME`", "esc restores"],
    "contrast": ["4.5 to 1", "On dark take light", "on light take dark", "`user_bubble_fg` on `user_bubble_bg`"],
    "packaging": [
        "**without `exec`**",
        "`theme.json`, or `themes/theme.json`",
        "`zot ext install ./harbour-theme`",
    ],
}


@pytest.mark.parametrize("point", POINTS)
def test_skill_covers_the_point(point: str) -> None:
    """iface-314: the skill's text covers each required point."""
    assert [words for words in POINTS[point] if words not in TEXT] == []


def test_role_table_lists_every_role_with_builtin_colours() -> None:
    """iface-314: the table of roles lists all of them with their built-in colours, dark and light."""
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) \| .+ \|$", skill_text(NAME), re.MULTILINE)
    assert {key: (dark, light) for key, dark, light in rows if dark != "none"} == ROLES


def test_derived_key_is_listed_beside_its_source() -> None:
    """iface-314: every derived key is listed beside the key it follows."""
    assert dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|$", skill_text(NAME), re.MULTILINE)).items() >= DERIVED.items()


@pytest.mark.parametrize("key", [*SYNTAX, *OTHER])
def test_every_other_key_has_a_row(key: str) -> None:
    """iface-314: every remaining key has its own row."""
    assert f"| `{key}` |" in TEXT


def test_every_json_example_parses() -> None:
    """iface-314: every JSON example in it parses."""
    examples = [msgspec.json.decode(block, type=dict[str, Any]) for block in blocks(NAME, "json")]
    assert examples and all(examples)


def test_the_example_theme_uses_only_keys_that_exist() -> None:
    """iface-314: the example theme uses only known keys."""
    theme = msgspec.json.decode(example_files(NAME)["themes/harbour.json"], type=dict[str, Any])
    assert set(theme) <= {"name", "description", "colors", *OTHER}
    assert set(theme["colors"]) == {"dark", "light"}
    for section in theme["colors"].values():
        assert set(section) <= {*ROLES, *DERIVED, "syntax"}
        assert set(section["syntax"]) <= set(SYNTAX)


@pytest.mark.parametrize(("section", "behind"), [("dark", "#1e1e1e"), ("light", "#fafafa")])
def test_the_example_theme_takes_its_own_advice_about_contrast(section: str, behind: str) -> None:
    theme = msgspec.json.decode(example_files(NAME)["themes/harbour.json"], type=dict[str, Any])
    colors = theme["colors"][section]
    for key in ("fg", "muted", "accent", "tool", "error", "warning"):
        assert contrast(colors[key], behind) >= 4.5, key
    assert contrast(colors["user_bubble_fg"], colors["user_bubble_bg"]) >= 4.5
    assert contrast(colors["selection_fg"], colors["selection_bg"]) >= 4.5
    for style in colors["syntax"].values():
        assert contrast(style.split()[-1], behind) >= 4.5, style


def contrast(one: str | int, other: str | int) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(color: str | int) -> float:
    red, green, blue = (
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in channels(color))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def channels(color: str | int) -> tuple[int, int, int]:
    if isinstance(color, str):
        return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
    if color >= 232:
        grey = 8 + 10 * (color - 232)
        return grey, grey, grey
    steps = (0, 95, 135, 175, 215, 255)
    return steps[(color - 16) // 36], steps[(color - 16) // 6 % 6], steps[(color - 16) % 6]
