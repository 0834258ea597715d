"""``--list-models``: known models and which are usable now, from files only; no network, no credential."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

from zot.provider.catalog import EXTENSION_MODELS, Catalog
from zot.provider.model import Model
from zot.system.files import zot_home

# title, width in cells, right-aligned; the last column takes the rest.
_COLUMNS = (
    ("provider", 10, False),
    ("model", 30, False),
    ("context", 8, True),
    ("max-out", 8, True),
    ("reasoning", 9, False),
    ("source", 11, False),
    ("price", 10, False),
    ("key", 3, False),
    ("name", 0, False),
)


def run() -> int:
    """Print the table; a terminal gets truncated fields, a pipe whole ones. Always returns 0."""
    home = zot_home()
    catalog = listed_catalog(home)
    rows = newest_first(catalog.rows())
    sys.stdout.write(model_table(rows, usable_providers(catalog, home), cut=sys.stdout.isatty()))
    if catalog.problems:
        from zot.frontends.console import print_notice

        for problem in catalog.problems:
            print_notice(problem)
    return 0


def listed_catalog(home: Path) -> Catalog:
    """With the models of extensions from the last run; nothing is started."""
    catalog = Catalog(home)
    if (home / EXTENSION_MODELS).exists():
        from zot.features.extensions.loader.known_providers import join_known_providers

        join_known_providers(catalog, home, Path.cwd())
    return catalog


def usable_providers(catalog: Catalog, home: Path) -> set[str]:
    """Providers with a credential or without need of one; runs no key command."""
    from zot.agent.settings import Settings
    from zot.provider.auth.auth_store import AuthStore
    from zot.provider.auth.credential_lookup import has_credential

    store, commands = AuthStore(home), Settings(home).values.api_key_command
    rows = catalog.providers().values()
    return {row.id for row in rows if not row.needs_key or has_credential(row, store, os.environ, commands)}


def newest_first(rows: list[Model]) -> list[Model]:
    """The models of each provider by age; the order of providers stays."""
    from zot.agent.model_lookup import version_key

    order = {provider: place for place, provider in enumerate(dict.fromkeys(row.provider for row in rows))}
    by_age = sorted(rows, key=lambda row: version_key(row.id), reverse=True)
    return sorted(by_age, key=lambda row: order[row.provider])


def model_table(rows: list[Model], usable: Collection[str] = (), *, cut: bool) -> str:
    """Header and one line per model."""
    lines = [[title for title, _, _ in _COLUMNS], *(_fields(row, usable) for row in rows)]
    return "".join(_line(fields, cut) + "\n" for fields in lines)


def shown_source(row: Model) -> str:
    """A cached row is shown as live: it is from an earlier run."""
    return "live" if row.source == "cache" else row.source


def _fields(row: Model, usable: Collection[str]) -> list[str]:
    mark = "✓" if row.reasoning else ""
    limits = [str(row.context_window), str(row.max_output)]
    price = f"{row.price_input:g}/{row.price_output:g}" if row.price_input or row.price_output else ""
    key = "✓" if row.provider in usable else ""
    return [row.provider, row.id, *limits, mark, shown_source(row), price, key, row.name or row.id]


def _line(fields: list[str], cut: bool) -> str:
    cells = [  # names come from servers and files: control characters must not reach the terminal
        fit("".join(c if c.isprintable() else "�" for c in text), width, right=right, cut=cut)
        for text, (_, width, right) in zip(fields, _COLUMNS, strict=True)
    ]
    return "  ".join(cells).rstrip()


def fit(text: str, width: int, *, right: bool = False, cut: bool = True) -> str:
    """Pad ``text`` to ``width`` terminal cells; a longer one is truncated between characters and ends in ``…``."""
    size = sum(map(_cells, text))
    if width and cut and size > width:
        text, size = _head(text, width - 1)
        text, size = text + "…", size + 1
    padding = " " * max(0, width - size)
    return padding + text if right else text + padding


def _head(text: str, room: int) -> tuple[str, int]:
    """The longest prefix that fits; combining marks stay with their character."""
    size = 0
    for index, character in enumerate(text):
        size += _cells(character)
        if size > room:
            return text[:index], size - _cells(character)
    return text, size


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata

    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
