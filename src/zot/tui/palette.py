"""The built-in palettes: each role of a theme, what it is for, and its colour on a dark and on a light terminal.

The loader of theme files, the theme guide and the ``write-zot-themes`` skill all follow these tables.
"""

from __future__ import annotations

import msgspec


class Role(msgspec.Struct, frozen=True):
    """Values are written as in a theme file."""

    key: str
    dark: int | str | None
    light: int | str | None
    use: str


ROLES: tuple[Role, ...] = (
    Role("fg", 253, 236, "default text, tool name"),
    Role("muted", 244, 244, "hints, frames, gutters"),
    Role("accent", 111, 33, "prompt bar, headings, bullets, code, shell command"),
    Role("user", 180, 94, "reserved"),
    Role("user_bubble_bg", "#42454b", 254, "background of the user's messages"),
    Role("user_bubble_fg", 255, 235, "text of the user's messages"),
    Role("assistant", 117, 31, "banner, spinner phrase"),
    Role("tool", 114, 28, "success, added lines"),
    Role("tool_out", 245, 240, "tool output"),
    Role("error", 203, 160, "errors, removed lines"),
    Role("warning", 214, 166, "warnings"),
    Role("spinner", 183, 91, "the spinner's glyph"),
    Role("selection_bg", 24, 153, "selected row, background"),
    Role("selection_fg", 231, 232, "selected row, text"),
    Role("background", None, None, "painted behind the whole screen; absent = the terminal's own"),
    Role("thinking_max", None, None, "the highest reasoning level"),
    Role("diff_add_bg", None, None, "behind added lines; absent = a tint of `diff_add`"),
    Role("diff_remove_bg", None, None, "behind removed lines; absent = a tint of `diff_remove`"),
    Role("diff_add_word_bg", None, None, "behind added words; absent = a stronger tint"),
    Role("diff_remove_word_bg", None, None, "behind removed words; absent = a stronger tint"),
)

# Finer roles, each of which follows another while no theme names it.
DERIVED: dict[str, str] = {
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

BACKGROUND_ROLES = frozenset(
    {"user_bubble_bg", "selection_bg", "background"}
    | {"diff_add_bg", "diff_remove_bg", "diff_add_word_bg", "diff_remove_word_bg"}
)


# What a syntax style may say besides a colour, with its SGR code.
STYLE_WORDS = {"bold": "1", "italic": "3", "underline": "4"}


class SyntaxRole(msgspec.Struct, frozen=True):
    """``short`` is another spelling; ``follows`` is the role it takes its style from while it has none."""

    key: str
    short: str
    follows: str
    dark: str
    light: str


SYNTAX: tuple[SyntaxRole, ...] = (
    SyntaxRole("keyword", "", "", "bold #81a1c1", "bold #2a5b8c"),
    SyntaxRole("keyword_constant", "", "keyword", "", ""),
    SyntaxRole("keyword_declaration", "", "keyword", "", ""),
    SyntaxRole("keyword_namespace", "", "keyword", "", ""),
    SyntaxRole("keyword_reserved", "", "keyword", "", ""),
    SyntaxRole("keyword_type", "type", "keyword", "#88c0d0", "#0b6172"),
    SyntaxRole("name_builtin", "builtin", "", "#88c0d0", "#0b6172"),
    SyntaxRole("name_function", "function", "", "#8fbcbb", "#1a6466"),
    SyntaxRole("name_class", "class", "", "bold #a3be8c", "bold #3f6212"),
    SyntaxRole("name_decorator", "decorator", "", "#b48ead", "#7b3f77"),
    SyntaxRole("literal_string", "string", "", "#a3be8c", "#3f6212"),
    SyntaxRole("literal_string_escape", "string_escape", "literal_string", "#bf616a", "#a1323c"),
    SyntaxRole("literal_number", "number", "", "#d08770", "#9a3f1d"),
    SyntaxRole("comment", "", "", "italic #616e88", "italic #5f6672"),
    SyntaxRole("comment_preproc", "preproc", "comment", "#b48ead", "#7b3f77"),
    SyntaxRole("operator", "", "", "#eceff4", "#3b4252"),
    SyntaxRole("punctuation", "", "", "#d8dee9", "#434c5e"),
    SyntaxRole("text", "", "", "#e5e9f0", "#2e3440"),
)

SPINNER_FRAMES = ("⠋", "⠙", "⠚", "⠞", "⠖", "⠦", "⠴", "⠲", "⠳", "⠓")
SPINNER_INTERVAL_MS = 80
SPINNER_MESSAGES: tuple[str, ...] = ()  # a theme may have its own words for thinking
