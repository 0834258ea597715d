"""A theme gives the SGR of a role; the tables of roles and built-in palettes are here.
Painted texts can be joined but not nested. Without colours (``NO_COLOR``) bold and reverse remain."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from zot.tui import colour
from zot.tui.colour import Background, Colour, Depth
from zot.tui.width import RESET, cells, pad, visible


class Role(msgspec.Struct, frozen=True):
    """Values have the format of a theme file."""

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

# Finer roles; each follows another unless a theme sets it.
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


# Attributes of a syntax style besides a colour, with SGR codes.
STYLE_WORDS = {"bold": "1", "italic": "3", "underline": "4"}


class SyntaxRole(msgspec.Struct, frozen=True):
    """``short`` is another spelling; ``follows`` is the role whose style it uses by default."""

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
SPINNER_MESSAGES: tuple[str, ...] = ()  # a theme may replace the words for thinking


GROUNDS: dict[Background, colour.Rgb] = {"dark": (0x1E, 0x1E, 0x1E), "light": (0xFA, 0xFA, 0xFA)}


class Spinner(msgspec.Struct, frozen=True):
    frames: tuple[str, ...] = SPINNER_FRAMES
    messages: tuple[str, ...] = SPINNER_MESSAGES
    interval_ms: int = SPINNER_INTERVAL_MS


class Theme:
    """``colours`` by role, ``syntax`` by syntax role as style strings (``bold #81a1c1``)."""

    def __init__(
        self,
        colours: Mapping[str, Colour],
        syntax: Mapping[str, str],
        *,
        background: Background = "dark",
        depth: Depth = "256",
        spinner: Spinner | None = None,
        name: str = "",
        syntax_base: str = "",
    ) -> None:
        self.colours = dict(colours)
        self.syntax = dict(syntax)
        self.background: Background = background
        self.depth: Depth = depth
        self.spinner = spinner or Spinner()
        self.name = name or background
        self.syntax_base = syntax_base
        self._sgr: dict[tuple[str, bool], str] = {}

    def colour_of(self, role: str) -> Colour | None:
        """Its colour, or that of the role it follows."""
        while role not in self.colours and role in DERIVED:
            role = DERIVED[role]
        return self.colours.get(role)

    def sgr(self, role: str, *, bold: bool = False) -> str:
        """The opening sequence of a role; empty if it has none."""
        key = (role, bold)
        if key not in self._sgr:
            found = self.colour_of(role)
            codes = ["1"] if bold else []
            if found is not None and (code := found.sgr(self.depth, background=role in BACKGROUND_ROLES)):
                codes.append(code)
            self._sgr[key] = f"\x1b[{';'.join(codes)}m" if codes else ""
        return self._sgr[key]

    def tint(self, role: str, *, strong: bool = False) -> str:
        """The SGR of a background for a role: its ``…_bg`` role, a tint of its colour, or nothing."""
        own = f"{role}_word_bg" if strong else f"{role}_bg"
        if self.colours.get(own) is not None:
            return self.sgr(own)
        key = (own, strong)
        if key not in self._sgr:
            found = self.colour_of(role)
            if self.depth == "none" or found is None or found.ansi is not None or (rgb := found.approximate()) is None:
                made = None
            else:
                own = self.colour_of("background")
                ground = (own.approximate() if own else None) or GROUNDS[self.background]
                made = colour.tint(rgb, ground, self.background, self.depth, strong=strong)
            self._sgr[key] = f"\x1b[{made.sgr(self.depth, background=True)}m" if made is not None else ""
        return self._sgr[key]

    def paint(self, role: str, text: str, *, bold: bool = False) -> str:
        """Paint a text without styles in the colour of a role."""
        opening = self.sgr(role, bold=bold)
        return f"{opening}{text}{RESET}" if opening and text else text

    def on(self, ground: str, role: str, text: str, width: int) -> str:
        """Paint a text on a background role, filled to the width."""
        opening = self.sgr(ground) + self.sgr(role)
        if not opening:
            opening = "\x1b[7m" if ground == "selection_bg" else ""
        row = pad(visible(text), width)
        return f"{opening}{row}{RESET}" if opening else row

    def grounded(self, row: str, width: int) -> str:
        """A whole row on the theme's background; unchanged if that is the terminal's."""
        ground = self.sgr("background")
        if not ground:
            return row
        # Filled by erasing, not by spaces, which a narrower window would wrap; erasing after a full row
        # would remove its last cell.
        fill = "\x1b[K" if cells(row) < width else ""
        return f"{ground}{row.replace(RESET, RESET + ground)}{fill}{RESET}"

    def selected(self, text: str, width: int) -> str:
        """The selected row of a list."""
        return self.on("selection_bg", "selection_fg", text, width)


def built_in(background: Background = "dark", depth: Depth = "256") -> Theme:
    """The base palette."""
    values = {role.key: getattr(role, background) for role in ROLES}
    colours = {key: parsed for key, value in values.items() if (parsed := colour.parse(value)) is not None}
    if background == "light":  # the accent is too faint there for code
        colours["code"] = Colour(index=25)
    syntax = {role.key: style for role in SYNTAX if (style := getattr(role, background))}
    return Theme(colours, syntax, background=background, depth=depth)
