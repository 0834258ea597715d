"""Favourite and recently used models, for the picker: ``model-picks.json`` in zot's home."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from zot.errors import ConfigError
from zot.system.json_store import JsonStore

_RECENT = 5


class ModelPicks(msgspec.Struct):
    """Each is ``provider`` and ``id`` joined by a newline, the newest first."""

    favourites: list[str] = []
    recent: list[str] = []


def read_picks(home: Path) -> ModelPicks:
    """Empty if the file cannot be read: it only sorts the list."""
    try:
        return _store(home).load()
    except (ConfigError, OSError):
        return ModelPicks()


def toggle_favourite(home: Path, value: str) -> ModelPicks:
    """Mark or unmark a favourite; raises ConfigError or OSError."""
    with _store(home).edit() as picks:
        if value in picks.favourites:
            picks.favourites.remove(value)
        else:
            picks.favourites.insert(0, value)
    return picks


def add_recent(home: Path, provider: str, model: str) -> None:
    """A failure is ignored: the list is a convenience."""
    with suppress(ConfigError, OSError), _store(home).edit() as picks:
        value = f"{provider}\n{model}"
        picks.recent = [value, *(other for other in picks.recent if other != value)][:_RECENT]


def _store(home: Path) -> JsonStore[ModelPicks]:
    return JsonStore(home / "model-picks.json", ModelPicks, "delete it to begin again")
