"""What ``zot doctor`` says about hooks, plugins and prompt templates, without running any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zot.errors import ZotError
from zot.features.hooks.config import load
from zot.features.hooks.feature import untrusted_of
from zot.features.plugins.installed_plugins import in_use, load_all
from zot.features.templates.discovery import all_templates, places_in
from zot.features.trust import TrustStore


def guest_facts(home: Path, cwd: Path) -> Iterator[tuple[str, str]]:
    """One line each, for what there is."""
    try:
        sources = load(home, cwd, [])
        waiting = untrusted_of(TrustStore(home), sources)
        plugins = load_all(home)
    except ZotError:
        return  # the file is told of among the problems
    if sources:
        words = [
            f"{source.name} ({len(source.hooks)}{', not trusted' if source in waiting else ''})" for source in sources
        ]
        yield "hooks", ", ".join(words)
    if plugins:
        states = {
            plugin.name: "not used" if plugin.wrong else "on" if plugin.row.enabled else "off" for plugin in plugins
        }
        yield "plugins", ", ".join(f"{name} ({state})" for name, state in states.items())


def guest_problems(home: Path, cwd: Path) -> Iterator[str]:
    problems: list[str] = []
    load(home, cwd, problems)
    in_use(home, problems)
    all_templates(places_in(cwd, home), None, problems)
    yield from problems
