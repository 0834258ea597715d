"""Finds themes (built-in, packaged, the user's, extensions') and selects one.
Order: ``--theme``, ``ZOT_THEME``, ``config.json``, detection. An unusable theme is a line in ``problems`` and
``logs/themes.log``, never an error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.tui import theme_file
from zot.tui.colour import Background, Depth
from zot.tui.theme import Theme, built_in

if TYPE_CHECKING:
    from zot.features.extensions.loader.discovery import DiscoveredExtension

AUTO = ("", "auto", "default", "system")
BUILT_IN = ("auto", "dark", "light")
_PRECEDENCE = {"explicit": 0, "project": 1, "global": 2}


class ThemeChoice(msgspec.Struct, frozen=True):
    """A row of the picker. ``value`` is stored in ``config.json``."""

    value: str
    label: str
    description: str
    path: Path | None = None


class Loaded(msgspec.Struct, frozen=True):
    """``path`` is the file to watch, None for a built-in palette."""

    theme: Theme
    problems: tuple[str, ...] = ()
    path: Path | None = None


class Themes:
    """``entries`` are the extensions of this run, ``contributed`` files of those that bring themes while they run; the
    directory is read each time."""

    def __init__(
        self,
        home: Path,
        entries: Sequence[DiscoveredExtension] = (),
        contributed: Callable[[], Iterable[tuple[str, Path]]] = tuple,
    ) -> None:
        self._home = home
        self._contributed = contributed
        self.entries: Sequence[DiscoveredExtension] = entries
        self._reported: set[str] = set()

    @property
    def directory(self) -> Path:
        return self._home / "themes"

    def choices(self) -> list[ThemeChoice]:
        """Rows of the picker: built-in, the user's files by name, extensions' by extension."""
        built = [
            ThemeChoice("auto", "auto", "follows the terminal's background"),
            ThemeChoice("dark", "dark", "built in"),
            ThemeChoice("light", "light", "built in"),
        ]
        own = [ThemeChoice(f.path.stem, f.path.stem, f.description, f.path) for f in self.user_files()]
        named = {choice.label for choice in own}
        shipped = [
            ThemeChoice(f.path.stem, f.path.stem, f.description, f.path)
            for f in map(theme_file.read, theme_file.shipped())
            if f.path.stem not in named  # the user's file replaces a built-in theme
        ]
        own = [*shipped, *own]
        return [*built, *own, *self._extension_choices({choice.label for choice in (*built, *own)})]

    def user_files(self) -> list[theme_file.ThemeFile]:
        try:
            names = sorted(name for name in os.listdir(self.directory) if name.endswith(".json"))
        except OSError:
            return []
        files = [theme_file.read(self.directory / name) for name in names if name[:-5] not in BUILT_IN]
        return [file for file in files if not file.problem]

    def _extension_choices(self, taken: set[str]) -> list[ThemeChoice]:
        found: list[tuple[str, ThemeChoice]] = []
        entries = sorted(self.entries, key=lambda entry: _PRECEDENCE[entry.scope])
        files = [(entry.manifest.name, path) for entry in entries for path in entry.manifest.themes]
        for extension, path in (*files, *self._contributed()):
            file = theme_file.read(path)
            if file.problem:
                continue
            label = file.name or str(path)
            if label in taken:
                label = f"ext:{extension}/{label}"
            taken.add(label)
            about = f"from extension {extension}: {file.description}"
            found.append((extension, ThemeChoice(str(path.absolute()), label, about, path)))
        return [choice for _, choice in sorted(found, key=lambda pair: pair[0])]

    def load(self, value: str, background: Background, depth: Depth) -> Loaded:
        """The theme of a stored value; detection and a problem if it cannot be used."""
        if value in AUTO:
            return Loaded(built_in(background, depth))
        if value in ("dark", "light"):
            return Loaded(built_in(value, depth))
        path = self._path_of(value)
        if path is None:
            return self._fallback(f'unknown theme "{value}"; using the detected one', background, depth)
        file = theme_file.read(path)
        if file.problem:
            return self._fallback(f"theme {file.problem}; using the detected one", background, depth, path)
        theme, problems = theme_file.apply(file, background, depth)
        return Loaded(theme, self._once(problems), path)

    def has(self, value: str) -> bool:
        """True if such a theme exists, usable or not."""
        return value in (*AUTO, "dark", "light") or self._path_of(value) is not None

    def _path_of(self, value: str) -> Path | None:
        for place in (self.directory, theme_file.SHIPPED):
            plain = place / f"{value}.json"
            if "/" not in value and plain.is_file():
                return plain
        named = next((choice.path for choice in self.choices() if choice.label == value), None)
        if named is not None:
            return named
        typed = Path(os.path.expanduser(value))
        return typed if typed.suffix == ".json" and typed.is_file() else None

    def _fallback(self, problem: str, background: Background, depth: Depth, path: Path | None = None) -> Loaded:
        return Loaded(built_in(background, depth), self._once([problem]), path)

    def _once(self, problems: Sequence[str]) -> tuple[str, ...]:
        """Each problem is reported once and logged."""
        fresh = tuple(problem for problem in problems if problem not in self._reported)
        self._reported.update(fresh)
        if fresh:
            import contextlib
            import time

            from zot.system.files import make_private_dir
            from zot.system.safe_open import open_to_append

            with contextlib.suppress(OSError):  # a log that cannot be written is ignored
                make_private_dir(self._home / "logs")
                stamp = time.strftime("%Y-%m-%d %H:%M:%S")
                with os.fdopen(open_to_append(self._home / "logs" / "themes.log"), "w", encoding="utf-8") as log:
                    log.writelines(f"{stamp} {line}\n" for line in fresh)
        return fresh


def theme_problems(home: Path, value: str) -> list[str]:
    """For ``zot doctor``: problems and low contrast of the chosen theme, and problems of the user's others."""
    themes = Themes(home)
    chosen = themes.load(value, "dark", "true")
    found = list(chosen.problems)
    for ground in ("dark", "light"):
        for file in themes.user_files():
            found += theme_file.apply(file, ground, "true")[1]
        if chosen.path is not None:
            made, problems = theme_file.apply(theme_file.read(chosen.path), ground, "true")
            faint = theme_file.faint_roles(made)
            found += [*problems, *(f"theme {value} on a {ground} terminal: {line}" for line in faint)]
    return list(dict.fromkeys(found))


def wanted(flag: str, environ: Mapping[str, str], stored: str) -> str:
    """The requested theme of a run."""
    return flag or environ.get("ZOT_THEME", "") or stored
