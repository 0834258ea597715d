"""``zot doctor``: what this installation is, what it would use, and every diagnostic a run would give.

It opens no connection, runs no key command's program and changes nothing; exit 1 when something is wrong.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zot import __version__
from zot.agent import context_files
from zot.agent.cli.docs import check_index, index_path
from zot.agent.cli.lines import show
from zot.agent.settings import Settings
from zot.agent.skills.discover import discover
from zot.agent.themes import theme_problems
from zot.agent.tools.registry import unknown_extras
from zot.agent.tools.workspace import Workspace
from zot.errors import UsageError, ZotError
from zot.provider.auth.store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.providers import Provider, credential_variables
from zot.system.files import find_program, user_home, zot_home


def run(argv: list[str]) -> int:
    if argv:
        raise UsageError(f'zot doctor takes no arguments, got "{argv[0]}"')
    found = report(zot_home(), Path.cwd())
    for line in found.facts:
        show(line)
    show()
    for problem in found.problems:
        show(f"  ! {problem}")
    count = len(found.problems)
    show(f"{count} problem{'s' * (count != 1)}" if count else "nothing is wrong")
    return 1 if found.problems else 0


class Report(NamedTuple):
    facts: list[str]
    problems: list[str]


def report(home: Path, cwd: Path) -> Report:
    """Everything there is to say, one line each."""
    return Report([f"{label:12} {value}" for label, value in _facts(home)], list(_problems(home, cwd)))


def _facts(home: Path) -> Iterator[tuple[str, str]]:
    yield "zot", f"{__version__}, Python {sys.version.split()[0]}"
    yield "home", f"{home}{'' if home.is_dir() else ' (not created yet)'}"
    yield "docs", str(index_path())
    yield "shell", find_program("bash") or find_program("sh") or "none: the bash tool cannot work"
    yield "search", find_program("rg") or "built-in (ripgrep is not on PATH)"
    catalog = Catalog(home)
    yield "models", f"{len(catalog.rows())} known, {len(catalog.providers())} providers"
    yield "credentials", ", ".join(_credentials(catalog, AuthStore(home))) or "none"
    if withheld := _withheld(home, catalog):
        yield "withheld", f"{', '.join(withheld)}: programs zot starts do not get them, unless named in env_passthrough"


def _credentials(catalog: Catalog, store: AuthStore) -> Iterator[str]:
    """Which providers have one and where it is; never the value."""
    for provider in catalog.providers().values():
        if variable := next((name for name in provider.env if os.environ.get(name)), ""):
            yield f"{provider.id} ({variable})"
        elif _stored(provider, store):
            yield f"{provider.id} (auth.json)"


def _withheld(home: Path, catalog: Catalog) -> list[str]:
    credentials = credential_variables(catalog.providers().values())
    return Workspace(
        Path.cwd(), credentials=credentials, passthrough=Settings(home).values.env_passthrough
    ).removed_credentials()


def _stored(provider: Provider, store: AuthStore) -> bool:
    try:
        entry = store.entry(provider.id)
    except ZotError:
        return False  # reported once, among the problems
    return bool(entry.api_key or entry.oauth)


def _problems(home: Path, cwd: Path) -> Iterator[str]:
    yield from Settings(home).problems
    yield from Settings(home).near_misses()
    yield from unknown_extras(Settings(home))
    yield from Catalog(home).problems
    store = AuthStore(home)
    try:
        store.entry("anthropic")
    except ZotError as error:
        yield str(error)
    yield from store.notices
    yield from discover(cwd, home, user_home()).problems
    yield from context_files.load(cwd, home).problems
    yield from _extension_problems(home, cwd)
    yield from theme_problems(home, Settings(home).values.theme)
    yield from (f"documentation: {problem}" for problem in check_index())
    yield from (f"set aside: {path}" for path in _set_aside(home))


def _extension_problems(home: Path, cwd: Path) -> Iterator[str]:
    """What can be told without starting one; `zot ext doctor` starts them and tells the rest."""
    from zot.agent.extensions.loading.bundled_skills import skill_files
    from zot.agent.extensions.loading.discover import discover as find_extensions
    from zot.agent.extensions.loading.trust import TrustStore

    trust = TrustStore(home)
    try:
        found = find_extensions(explicit=(), cwd=cwd, home=home, scan=True, trust=trust, trust_project=False)
    except ZotError as error:
        yield str(error)
        return
    yield from (f"extension {problem.directory}: {problem.told}" for problem in found.problems)
    yield from found.notes
    yield from skill_files(found.entries)[1]
    path = os.environ.get("PATH", "")
    for entry in found.entries:
        try:
            if entry.manifest.has_process:
                entry.manifest.argv(path)
        except ZotError as error:
            yield f"extension {entry.manifest.directory}: {error}"


def _set_aside(home: Path) -> list[Path]:
    """Files that could not be read once and were kept: nothing is lost, but somebody should look."""
    return sorted([*home.glob("*.bad*"), *home.glob("sessions/*/*.bad")])
