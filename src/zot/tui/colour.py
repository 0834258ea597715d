"""Colours: names in themes, SGR codes, contrast; the terminal's colour depth and background."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

Depth = Literal["none", "256", "true"]
Background = Literal["dark", "light"]

BACKGROUND_WAIT_S = 0.08  # settled rows wait this long for the terminal's answer, because they keep their colours

_HEX = re.compile(r"#?([0-9a-fA-F]{6})")
_SHORT_HEX = re.compile(r"#([0-9a-fA-F]{3})")
_ANSI_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ANSI_RGB = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
    *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255)),
    (255, 255, 255),
)
_BACKGROUND_REPLY = re.compile(r"\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_STEPS = (0, 95, 135, 175, 215, 255)

Rgb = tuple[int, int, int]


class Colour(msgspec.Struct, frozen=True):
    """``index``: an entry of the 256; ``rgb``: 24 bits; ``ansi``: a raw SGR code; neither: the terminal's default."""

    index: int | None = None
    rgb: Rgb | None = None
    ansi: int | None = None

    def sgr(self, depth: Depth, *, background: bool = False) -> str:
        """The parameters that select it; empty without colours."""
        if depth == "none":
            return ""
        if self.ansi is not None:
            has_background = 30 <= self.ansi <= 39 or 90 <= self.ansi <= 97
            return str(self.ansi + 10 if background and has_background else self.ansi)
        if self.rgb is not None and depth == "true":
            return f"{48 if background else 38};2;{self.rgb[0]};{self.rgb[1]};{self.rgb[2]}"
        index = self.index if self.rgb is None else nearest(self.rgb)
        if index is None:
            return "49" if background else "39"
        return f"{48 if background else 38};5;{index}"

    def approximate(self) -> Rgb | None:
        """Its RGB value in most terminals; None for the terminal's default."""
        if self.rgb is not None:
            return self.rgb
        if self.index is not None:
            return of_index(self.index)
        if self.ansi is not None:
            base = self.ansi - 10 if self.ansi in (*range(40, 48), *range(100, 108)) else self.ansi
            if 30 <= base <= 37:
                return _ANSI_RGB[base - 30]
            if 90 <= base <= 97:
                return _ANSI_RGB[base - 82]
        return None


DEFAULT = Colour()


def parse(value: Any, variables: Mapping[str, Any] | None = None) -> Colour | None:
    """Parse a colour of a theme; None if it is not one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Colour(index=value) if 0 <= value <= 255 else None
    if isinstance(value, str):
        return _named(value, variables or {})
    if isinstance(value, dict):
        return _object(cast("dict[str, Any]", value))
    return None


def _named(text: str, variables: Mapping[str, Any]) -> Colour | None:
    text = text.strip()
    if text.startswith("$"):
        return parse(variables.get(text[1:]))  # variables are not nested
    if match := _HEX.fullmatch(text):
        number = int(match.group(1), 16)
        return Colour(rgb=(number >> 16, number >> 8 & 255, number & 255))
    if match := _SHORT_HEX.fullmatch(text):
        red, green, blue = (int(digit * 2, 16) for digit in match.group(1))
        return Colour(rgb=(red, green, blue))
    word = re.sub(r"[\s_-]", "", text.lower())
    if word == "default":
        return DEFAULT
    if word in ("gray", "grey"):
        word = "brightblack"
    bright = word.startswith("bright")
    name = word.removeprefix("bright")
    return Colour(ansi=(90 if bright else 30) + _ANSI_NAMES.index(name)) if name in _ANSI_NAMES else None


def _object(fields: dict[str, Any]) -> Colour | None:
    mode = fields.get("mode")
    index = fields.get("index")
    if mode in (None, "256", "color256", "xterm256"):
        return parse(index)
    if mode == "ansi" and isinstance(index, int) and 0 < index < 110:
        return Colour(ansi=index)
    if mode in ("rgb", "truecolor"):
        channels = [fields.get(name) for name in ("r", "g", "b")]
        sound = [c for c in channels if isinstance(c, int) and not isinstance(c, bool) and 0 <= c <= 255]
        return Colour(rgb=(sound[0], sound[1], sound[2])) if len(sound) == 3 else None
    return None


def of_index(index: int) -> Rgb:
    if index < 16:
        return _ANSI_RGB[index]
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return grey, grey, grey
    index -= 16
    return _STEPS[index // 36], _STEPS[index // 6 % 6], _STEPS[index % 6]


def nearest(rgb: Rgb) -> int:
    """The closest of the 256 colours, except the terminal's own sixteen."""
    cube = [min(range(6), key=lambda i, c=c: abs(_STEPS[i] - c)) for c in rgb]
    candidates = [16 + 36 * cube[0] + 6 * cube[1] + cube[2], 232 + min(max((sum(rgb) // 3 - 3) // 10, 0), 23)]
    return min(candidates, key=lambda i: sum((a - b) ** 2 for a, b in zip(of_index(i), rgb, strict=True)))


def tint(rgb: Rgb, ground: Rgb, background: Background, depth: Depth, *, strong: bool = False) -> Colour:
    """A readable background in the tone of a colour; of the 256 colours the darkest or lightest in that tone."""
    pure = [max(channel - 0.7 * min(rgb), 0) for channel in rgb]
    if depth == "256":
        low, high = (0, 0x87 if strong else 0x5F) if background == "dark" else (0xAF if strong else 0xD7, 0xFF)
        red, green, blue = (high if channel >= 0.6 * max(pure) else low for channel in pure)
        return Colour(index=nearest((red, green, blue)))
    most = 0xA0 if background == "dark" else max(rgb)
    share = (0.5 if strong else 0.2) if background == "dark" else (0.36 if strong else 0.14)
    scale = most / max(max(pure), 1)
    red, green, blue = (
        round(share * channel * scale + (1 - share) * below) for channel, below in zip(pure, ground, strict=True)
    )
    return Colour(rgb=(min(red, 255), min(green, 255), min(blue, 255)))


def contrast(one: Rgb, other: Rgb) -> float:
    """The WCAG contrast ratio, 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(rgb: Rgb) -> float:
    red, green, blue = (c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def depth_of(environ: Mapping[str, str] = os.environ) -> Depth:
    """The terminal's colour depth; none under ``NO_COLOR`` or a dumb terminal."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return "none"
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "true"
    known = ("kitty", "ghostty", "alacritty", "wezterm", "foot", "direct")
    return "true" if any(word in environ.get("TERM", "") for word in known) else "256"


def background_in(body: str) -> Background | None:
    """The terminal's answer to OSC 11, if valid.
    It is requested with the first bytes, and the answer arrives among the keys: only the live region is drawn before
    it, and is repainted."""
    match = _BACKGROUND_REPLY.match(body)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue >= 0.5 else "dark"


def background_of(environ: Mapping[str, str] = os.environ) -> Background:
    """From ``COLORFGBG`` (``foreground;background`` in ANSI numbers; 7 and 9 to 15 are light), else dark."""
    last = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if last.isdigit() and (int(last) == 7 or 9 <= int(last) <= 15) else "dark"
