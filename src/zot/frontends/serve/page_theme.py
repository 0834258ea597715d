"""The colours of the page: those of the user's theme, for a light and a dark screen, as CSS colours."""

from __future__ import annotations

import os
from pathlib import Path

from zot.agent.settings import Settings
from zot.frontends.themes import Themes, wanted
from zot.tui import colour
from zot.tui.colour import Background, Rgb
from zot.tui.theme import DERIVED, GROUNDS, ROLES, SYNTAX, Theme, built_in

_TINTS = {"diff_add_bg": False, "diff_remove_bg": False, "diff_add_word_bg": True, "diff_remove_word_bg": True}


def page_theme(home: Path) -> dict[str, dict[str, str]]:
    """``light`` and ``dark``: a colour for each role, for syntax with ``syntax_`` before it. A role that the terminal
    would show in its own colour has none."""
    themes, value = Themes(home), wanted("", os.environ, Settings(home).values.theme)
    return {side: _colours(_theme(themes, value, side)) for side in ("light", "dark")}


def _theme(themes: Themes, value: str, side: Background) -> Theme:
    """A theme for one kind of screen only leaves the other one as built in."""
    found = themes.load(value, side, "true").theme
    return found if found.background == side else built_in(side, "true")


def _colours(theme: Theme) -> dict[str, str]:
    own = theme.colour_of("background")
    ground = (own.approximate() if own else None) or GROUNDS[theme.background]
    found = {"background": _css(ground)}
    for key in (*(role.key for role in ROLES), *DERIVED):
        shown = theme.colour_of(key)
        if (rgb := shown.approximate() if shown else None) is not None:
            found[key] = _css(rgb)
    for key, is_strong in _TINTS.items():
        base = theme.colour_of("diff_add" if "add" in key else "diff_remove")
        if key not in found and base is not None and (rgb := base.approximate()) is not None:
            tint = colour.tint(rgb, ground, theme.background, "true", strong=is_strong)
            if (mixed := tint.approximate() if tint else None) is not None:
                found[key] = _css(mixed)
    return found | _syntax(theme)


def _syntax(theme: Theme) -> dict[str, str]:
    found: dict[str, str] = {}
    for role in SYNTAX:
        style = theme.syntax.get(role.key) or theme.syntax.get(role.follows, "")
        parsed = [each for word in style.split() if (each := colour.parse(word)) is not None]
        if parsed and (rgb := parsed[-1].approximate()) is not None:
            found[f"syntax_{role.key}"] = _css(rgb)
    return found


def _css(rgb: Rgb) -> str:
    return "#" + bytes(rgb).hex()
