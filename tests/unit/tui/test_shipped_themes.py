"""The built-in themes are readable on their terminals."""

from __future__ import annotations

from pathlib import Path

import pytest

from zot.tui import theme_file
from zot.tui.colour import Background, Rgb, contrast, nearest, of_index
from zot.tui.theme import BACKGROUND_ROLES, DERIVED, ROLES, Theme, built_in
from zot.tui.theme_file import GROUNDS, apply, read, shipped

NAMES = ("catppuccin", "colour-blind-dark", "colour-blind-light", "gruvbox", "nord", "terminal")
FAINT = {"muted", "quote", "border", "diff_context", "note_info", "user", "comment"}
TEXTS = sorted(({role.key for role in ROLES} | DERIVED.keys()) - BACKGROUND_ROLES)


def grounds_of(path: Path) -> list[Background]:
    base = read(path).raw.get("base")
    return [base] if base in ("dark", "light") else ["dark", "light"]


EACH = [pytest.param(path, ground, id=f"{path.stem}-{ground}") for path in shipped() for ground in grounds_of(path)]


def test_there_are_six_beside_the_built_in_palettes() -> None:
    assert tuple(path.stem for path in shipped()) == NAMES
    assert all(read(path).name == path.stem and not read(path).problem for path in shipped())


@pytest.mark.parametrize(("path", "ground"), EACH)
def test_every_key_and_value_is_understood(path: Path, ground: Background) -> None:
    assert apply(read(path), ground, "true")[1] == []


def shades(theme: Theme, role: str) -> list[Rgb]:
    """As shown with true colour and with 256 colours; none if the terminal decides."""
    colour = theme.colour_of(role)
    rgb = colour.approximate() if colour is not None else None
    if colour is None or rgb is None:
        return []
    return [rgb] if colour.rgb is None else [rgb, of_index(nearest(rgb))]


def behind(theme: Theme, role: str) -> list[Rgb]:
    ground = {"user_bubble_fg": "user_bubble_bg", "selection_fg": "selection_bg"}.get(role)
    return (shades(theme, ground) if ground else []) or [GROUNDS[theme.background]]


@pytest.mark.parametrize(("path", "ground"), EACH)
def test_every_role_can_be_read_on_its_ground(path: Path, ground: Background) -> None:
    """4.5 to 1, hints and frames 3 to 1; where the terminal chooses the colours, 3 to 1 with xterm's."""
    theme, _ = apply(read(path), ground, "true")
    hard: list[str] = []
    for role in TEXTS:
        wanted = 3.0 if role in FAINT or path.stem == "terminal" else 4.5
        for shade in shades(theme, role):
            worst = min(contrast(shade, other) for other in behind(theme, role))
            if worst < wanted:
                hard.append(f"{role} {shade}: {worst:.2f}")
    assert hard == []
    assert path.stem == "terminal" or theme_file.faint_roles(theme) == []


@pytest.mark.parametrize(("path", "ground"), EACH)
def test_code_has_enough_contrast(path: Path, ground: Background) -> None:
    theme, _ = apply(read(path), ground, "true")
    hard: list[str] = []
    for role, style in theme.syntax.items():
        wanted = 3.0 if role in FAINT or path.stem == "terminal" else 4.5
        colour = next((c for word in style.split() if (c := theme_file.colour.parse(word)) is not None), None)
        rgb = colour.approximate() if colour is not None else None
        if rgb is not None and contrast(rgb, GROUNDS[ground]) < wanted:
            hard.append(f"{role} {style}: {contrast(rgb, GROUNDS[ground]):.2f}")
    assert hard == []


@pytest.mark.parametrize("ground", ["dark", "light"])
def test_the_built_in_palettes_can_be_read(ground: Background) -> None:
    theme = built_in(ground, "true")
    for role in ("fg", "user_bubble_fg", "selection_fg", "tool", "error"):
        assert min(contrast(shade, other) for shade in shades(theme, role) for other in behind(theme, role)) >= 4.5


# How colours look to people without one kind of cone (Viénot, Brettel and Mollon 1999), on linear light.
CONES = {
    "protanopia": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deuteranopia": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}


def seen(rgb: Rgb, matrix: tuple[tuple[float, float, float], ...]) -> tuple[float, ...]:
    linear = [(channel / 255) ** 2.2 for channel in rgb]
    mixed = (sum(weight * value for weight, value in zip(row, linear, strict=True)) for row in matrix)
    return tuple(max(value, 0.0) ** (1 / 2.2) * 255 for value in mixed)


@pytest.mark.parametrize("kind", CONES)
@pytest.mark.parametrize("ground", ["dark", "light"])
@pytest.mark.parametrize("pair", [("tool", "error"), ("diff_add", "diff_remove"), ("note_success", "note_error")])
def test_good_and_bad_differ_for_colour_blind_users(kind: str, ground: Background, pair: tuple[str, str]) -> None:
    (path,) = [path for path in shipped() if path.stem == f"colour-blind-{ground}"]
    theme, _ = apply(read(path), ground, "true")
    good, bad = (seen(shades(theme, role)[0], CONES[kind]) for role in pair)
    assert sum((a - b) ** 2 for a, b in zip(good, bad, strict=True)) ** 0.5 > 90


def test_the_terminals_own_palette_is_used_and_nothing_else() -> None:
    (path,) = [path for path in shipped() if path.stem == "terminal"]
    for ground in GROUNDS:
        theme, _ = apply(read(path), ground, "true")
        written = "".join(theme.sgr(role) for role in (*TEXTS, *BACKGROUND_ROLES))
        assert "38;" not in written and "48;" not in written
