"""Theme files: partial overrides of a built-in palette. A bad value affects only its key; unknown keys are reported.
Overrides may be at the top level, in ``colors``, ``colors.dark`` or ``colors.light``; later ones win. Keys are
compared without case, ``_`` and ``-``; those that begin with ``$`` or ``_`` are ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.errors import closest_match
from zot.system.safe_open import TooLarge, read_whole
from zot.tui import colour
from zot.tui.colour import Background, Colour, Depth
from zot.tui.theme import (
    BACKGROUND_ROLES,
    DERIVED,
    GROUNDS,
    ROLES,
    SPINNER_FRAMES,
    SPINNER_INTERVAL_MS,
    SPINNER_MESSAGES,
    STYLE_WORDS,
    SYNTAX,
    Spinner,
    Theme,
    built_in,
)
from zot.tui.width import cells

LARGEST = 256 * 1024
MOST_FRAMES, WIDEST_FRAME, LONGEST_FRAME = 64, 4, 64
MOST_MESSAGES, LONGEST_MESSAGE = 500, 200
MOST_PROBLEMS = 50
INTERVALS = (20, 2000)

SHIPPED = Path(__file__).parent / "themes"

FILE_KEYS = ("name", "description", "colors", "vars", "base", "dark", "light")
SPINNER_KEYS = ("spinner_frames", "spinner_messages", "spinner_interval_ms")
OTHER_KEYS = (*SPINNER_KEYS, "syntax_base_style", "syntax")


class ThemeFile(msgspec.Struct, frozen=True):
    """The parsed file; ``problem`` is set if it cannot be used."""

    path: Path
    raw: dict[str, Any] = {}
    problem: str = ""

    @property
    def name(self) -> str:
        name = self.raw.get("name")
        return name if isinstance(name, str) and name.strip() else ""

    @property
    def description(self) -> str:
        text = self.raw.get("description")
        return text if isinstance(text, str) and text.strip() else str(self.path)


def read(path: Path) -> ThemeFile:
    """Never raises."""
    try:
        parsed: Any = msgspec.json.decode(read_whole(path, LARGEST))
    except TooLarge:
        return ThemeFile(path, problem=f"{path}: larger than {LARGEST // 1024} KiB")
    except OSError as error:
        return ThemeFile(path, problem=f"{path}: {error.strerror or error}")
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return ThemeFile(path, problem=f"{path}: not JSON: {error}")
    if not isinstance(parsed, dict):
        return ThemeFile(path, problem=f"{path}: expected a JSON object")
    return ThemeFile(path, cast("dict[str, Any]", parsed))


def shipped() -> list[Path]:
    """The themes included with zot, besides the built-in palettes."""
    return sorted(SHIPPED.glob("*.json"))


def apply(file: ThemeFile, background: Background, depth: Depth) -> tuple[Theme, list[str]]:
    """The theme for this background, and one line per key or value that could not be used."""
    return _Application(file, background, depth).run()


class _Application:
    def __init__(self, file: ThemeFile, background: Background, depth: Depth) -> None:
        base = file.raw.get("base")
        self._ground: Background = base if base in ("dark", "light") else background
        self._file = file
        self._depth: Depth = depth
        start = built_in(self._ground, depth)
        self._colours = dict(start.colours)
        self._syntax = dict(start.syntax)
        self._base_style = ""
        self._frames = SPINNER_FRAMES
        self._messages = SPINNER_MESSAGES
        self._interval = SPINNER_INTERVAL_MS
        self._variables = _object(file.raw.get("vars")) or {}
        self._problems: list[str] = []
        self._named: set[str] = set()

    def run(self) -> tuple[Theme, list[str]]:
        raw = self._file.raw
        colours = _object(raw.get("colors")) or {}
        sets = [{k: v for k, v in raw.items() if k not in FILE_KEYS}]
        sets.append({k: v for k, v in colours.items() if k not in ("dark", "light")})
        other = "light" if self._ground == "dark" else "dark"
        for holder in (raw, colours):
            section = _object(holder.get(self._ground))
            if section is None and self._ground not in colours and self._ground not in raw:
                section = _object(holder.get(other))
            sets.append(section or {})
        for overrides in sets:
            exact = {key: key for key in overrides if key in _READERS or key in _COLOUR_KEYS}
            aliases = {key: known for key in overrides if key not in exact and (known := _KNOWN.get(_bare(key)))}
            for key, known in (*aliases.items(), *exact.items()):  # if both are present, the table's spelling wins
                self._key(key, known, overrides[key])
            for key in overrides:
                if key not in exact and key not in aliases:
                    self._unknown(key, key, (*_KNOWN.values(), *FILE_KEYS))
        theme = Theme(
            self._colours,
            self._syntax,
            background=self._ground,
            depth=self._depth,
            spinner=Spinner(self._frames, self._messages, self._interval),
            name=self._file.name or self._file.path.stem,
            syntax_base=self._base_style,
        )
        return theme, self._problems

    def _key(self, key: str, known: str, value: Any) -> None:
        if known == "spinner" and (fields := _object(value)) is not None and fields.keys() & _SPINNER_PARTS:
            for name, part in fields.items():
                if name in _SPINNER_PARTS:
                    _READERS[f"spinner_{name}"](self, f"spinner.{name}", part)
                else:
                    self._unknown(f"spinner.{name}", name, _SPINNER_PARTS)
        elif known in _COLOUR_KEYS:
            parsed = colour.parse(value, self._variables)
            if parsed is None:
                self._wrong(key, value, "a colour")
            elif known in ("background", "thinking_max") and parsed == colour.DEFAULT:
                self._colours.pop(known, None)
            else:
                if known == "accent" and "code" not in self._named:
                    self._colours.pop("code", None)  # follow the accent again
                self._colours[known] = parsed
                self._named.add(known)
        else:
            _READERS[known](self, key, value)

    def _wrong(self, key: str, value: Any, wanted: str) -> None:
        if self._listing():
            shown = msgspec.json.encode(value).decode()[:60]
            self._problems.append(f"{self._file.path}: {key}: {shown} is not {wanted}; the key is ignored")

    def _listing(self) -> bool:
        """True until the limit of reported problems."""
        if len(self._problems) == MOST_PROBLEMS:
            self._problems.append(f"{self._file.path}: more problems than these {MOST_PROBLEMS}")
        return len(self._problems) < MOST_PROBLEMS

    def _unknown(self, place: str, key: str, known: Collection[str]) -> None:
        if key.startswith(("$", "_")) or not self._listing():
            return
        spellings = {_bare(name): name for name in known}
        close = closest_match(_bare(key), spellings)
        hint = f"did you mean {spellings[close]}?" if close else "`zot docs themes` lists them"
        self._problems.append(f"{self._file.path}: {place[:60]} is not a theme key; {hint}")

    def _read_frames(self, key: str, value: Any) -> None:
        if value == []:
            return
        frames = _strings(value)
        if frames is None or len(frames) > MOST_FRAMES or not all(map(_is_frame, frames)):
            self._wrong(key, value, f"a list of 1 to {MOST_FRAMES} strings of 1 to {WIDEST_FRAME} cells")
        else:
            self._frames = frames

    def _read_messages(self, key: str, value: Any) -> None:
        if value == []:
            return
        messages = _strings(value)
        if messages is None or len(messages) > MOST_MESSAGES or not all(map(_is_message, messages)):
            self._wrong(key, value, f"a list of 1 to {MOST_MESSAGES} phrases of at most {LONGEST_MESSAGE} characters")
        else:
            self._messages = tuple(message.replace("\n", " ") for message in messages)

    def _read_interval(self, key: str, value: Any) -> None:
        if isinstance(value, int) and not isinstance(value, bool):
            if value > 0:
                self._interval = min(max(value, INTERVALS[0]), INTERVALS[1])
        else:
            self._wrong(key, value, "a number of milliseconds")

    def _read_base_style(self, key: str, value: Any) -> None:
        from zot.tui.highlight import styles_of  # imports pygments, which only such a theme needs

        found = styles_of(value) if isinstance(value, str) else None
        if found is None:
            self._wrong(key, value, "the name of a highlighter style")
        else:
            self._base_style = value
            self._syntax |= found

    def _read_syntax(self, key: str, value: Any) -> None:
        fields = _object(value)
        if fields is None:
            self._wrong(key, value, "an object of styles")
            return
        for name, style in fields.items():
            known = _SYNTAX_KNOWN.get(_bare(name))
            if known is None:
                self._unknown(f"{key}.{name}", name, _SYNTAX_KNOWN.values())
            elif isinstance(style, str) and _is_style(style):
                self._syntax[known] = style
            else:
                self._wrong(f"{key}.{name}", style, "a style such as `bold #81a1c1`")


Reader = Callable[[_Application, str, Any], None]

_READERS: dict[str, Reader] = {
    "spinner_frames": _Application._read_frames,  # pyright: ignore[reportPrivateUsage]  # our own table of methods
    "spinner_messages": _Application._read_messages,  # pyright: ignore[reportPrivateUsage]
    "spinner_interval_ms": _Application._read_interval,  # pyright: ignore[reportPrivateUsage]
    "syntax_base_style": _Application._read_base_style,  # pyright: ignore[reportPrivateUsage]
    "syntax": _Application._read_syntax,  # pyright: ignore[reportPrivateUsage]
}
_SPINNER_PARTS = frozenset({"frames", "messages", "interval_ms"})


def _bare(key: str) -> str:
    return re.sub(r"[_-]", "", key.lower())


_COLOUR_KEYS = frozenset({role.key for role in ROLES} | DERIVED.keys())
_KNOWN = {_bare(key): key for key in (*_COLOUR_KEYS, *OTHER_KEYS)}
_SYNTAX_KNOWN = {_bare(role.key): role.key for role in SYNTAX} | {
    _bare(role.short): role.key for role in SYNTAX if role.short
}


def _object(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _strings(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    return tuple(items) if items and all(isinstance(item, str) for item in items) else None


def _is_frame(text: str) -> bool:
    return len(text) <= LONGEST_FRAME and 1 <= cells(text) <= WIDEST_FRAME


def _is_message(text: str) -> bool:
    return len(text) <= LONGEST_MESSAGE and bool(text.strip())


def _is_style(text: str) -> bool:
    words = text.split()
    return bool(words) and all(word in STYLE_WORDS or isinstance(colour.parse(word), Colour) for word in words)


_FAINT = frozenset({"muted", "quote", "border", "diff_context", "note_info", "user"})


def faint_roles(theme: Theme) -> list[str]:
    """One line per changed role that is hard to read: contrast below 4.5 to 1, hints and frames below 3 to 1."""
    plain = built_in(theme.background, theme.depth)
    own = theme.colour_of("background")
    ground = (own.approximate() if own else None) or GROUNDS[theme.background]
    found: list[str] = []
    for key in sorted(_COLOUR_KEYS - BACKGROUND_ROLES - {"thinking_max"}):
        behind = _behind(theme, key, ground)
        shown = theme.colour_of(key)
        if shown == plain.colour_of(key) and behind == _behind(plain, key, GROUNDS[theme.background]):
            continue
        rgb = shown.approximate() if shown else None
        wanted = 3.0 if key in _FAINT else 4.5
        if rgb is not None and (ratio := colour.contrast(rgb, behind)) < wanted:
            found.append(f"{key}: contrast {ratio:.1f} to 1; expected at least {wanted:g} to be readable")
    return found


def _behind(theme: Theme, key: str, ground: colour.Rgb) -> colour.Rgb:
    partner = {"user_bubble_fg": "user_bubble_bg", "selection_fg": "selection_bg"}.get(key)
    found = theme.colour_of(partner) if partner else None
    return (found.approximate() if found else None) or ground
