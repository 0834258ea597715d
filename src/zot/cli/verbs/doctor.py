"""``zot doctor``: what this installation is, what it would use, and every diagnostic a run would give.

It opens no connection, runs no key command's program and nothing that is not trusted, and changes no setting; exit 1
when something is wrong. ``--json`` says the same to a program.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from zot import __version__
from zot.agent import context_files
from zot.agent.settings import Settings
from zot.agent.tools.registry import unknown_extras
from zot.agent.tools.workspace import Workspace
from zot.cli.arguments import parse
from zot.cli.output import show
from zot.cli.verb_table import options
from zot.cli.verbs.docs import check_index, index_path
from zot.cli.verbs.home_check import can_be_entered, home_problems
from zot.errors import ZotError
from zot.features.extensions.extension_check import Checked, Extensions, check_extensions
from zot.features.extensions.registry import ExtensionStatus
from zot.features.hooks.guest_check import guest_facts, guest_problems
from zot.features.mcp.mcp_check import mcp_problems, mcp_words
from zot.features.skills.discovery import discover
from zot.frontends.terminal.themes import theme_problems
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.providers import Provider, credential_variables
from zot.system.files import find_program, home_place, user_home
from zot.system.installation import installation


def run(argv: list[str]) -> int:
    arguments = parse(argv, options("doctor"), most=0)
    found = report(home_place(), Path.cwd())
    if arguments.has("--json"):
        print(json.dumps(msgspec.to_builtins(found)))  # in ASCII: a path need not be UTF-8
        return 1 if found.problems else 0
    for line in found.lines:
        show(line)
    show()
    for title, lines in (("extensions", [item.line for item in found.extensions]), ("notes", found.notes)):
        if lines:
            show(f"{title}:")
            for line in lines:
                show(f"  {line}")
            show()
    for problem in found.problems:
        show(f"  ! {problem}")
    count = len(found.problems)
    show(f"{count} problem{'s' * (count != 1)}" if count else "nothing is wrong")
    return 1 if found.problems else 0


class Report(msgspec.Struct, frozen=True):
    ok: bool
    facts: dict[str, str]
    extensions: list[Checked]
    notes: list[str]
    problems: list[str]

    @property
    def lines(self) -> list[str]:
        return [f"{label:12} {value}" for label, value in self.facts.items()]


def report(home: Path, cwd: Path, running: list[ExtensionStatus] | None = None) -> Report:
    """Everything there is to say, one line each; ``running`` are the extensions of a conversation that asks."""
    problems = [*home_problems(home)]
    usable = can_be_entered(home)  # else each file in it would be told to be missing
    facts = dict(_facts(home, usable=usable))
    extensions = Extensions([], [], []) if problems else check_extensions(home, cwd, running)
    if usable:
        problems += [*_problems(home, cwd), *extensions.problems]
    return Report(not problems, facts, extensions.checked, extensions.notes, problems)


def _facts(home: Path, *, usable: bool) -> Iterator[tuple[str, str]]:
    yield "zot", f"{__version__}, Python {sys.version.split()[0]}"
    here = installation()
    yield "installed", f"{here.how}, {here.place}"
    yield "home", f"{home}{' (not created yet)' if usable and not home.is_dir() else ''}"
    yield "docs", str(index_path())
    yield "shell", find_program("bash") or find_program("sh") or "none: the bash tool cannot work"
    yield "jail", _jail()
    yield "search", find_program("rg") or "built-in (ripgrep is not on PATH)"
    if not usable:
        return
    catalog = Catalog(home)
    yield "models", f"{len(catalog.rows())} known, {len(catalog.providers())} providers"
    yield "credentials", ", ".join(_credentials(catalog, AuthStore(home))) or "none"
    if servers := mcp_words(home, Path.cwd()):
        yield "mcp", servers
    yield from guest_facts(home, Path.cwd())
    if withheld := _withheld(home, catalog):
        names = ", ".join(withheld)
        yield (
            "withheld",
            f"{names}: commands and extensions do not get them, unless named in env_passthrough",
        )


def _jail() -> str:
    """What this machine can hold, tried out now."""
    from zot.system.jail.jail import look

    machine = look(find_program)
    what = {"full": "full (bubblewrap)", "reduced": "reduced (Landlock)", "": "none"}[machine.level]
    return f"{what}{f': {machine.why}' if machine.why else ''}"


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
        entry = store.shape(provider.id)
    except ZotError:
        return False  # reported once, among the problems
    return bool(entry.api_key or entry.oauth or entry.keyring)


def _problems(home: Path, cwd: Path) -> Iterator[str]:
    yield from Settings(home).problems
    yield from Settings(home).near_misses()
    yield from unknown_extras(Settings(home))
    yield from Catalog(home).problems
    store = AuthStore(home)
    try:
        store.everything()
    except ZotError as error:
        yield str(error)
    yield from store.notices
    yield from discover(cwd, home, user_home()).problems
    yield from context_files.load(cwd, home).problems
    yield from mcp_problems(home, cwd)
    yield from guest_problems(home, cwd)
    yield from theme_problems(home, Settings(home).values.theme)
    yield from (f"documentation: {problem}" for problem in check_index())
    yield from (f"set aside: {path}" for path in _set_aside(home))


def _set_aside(home: Path) -> list[Path]:
    """Files that could not be read once and were kept: nothing is lost, but somebody should look."""
    return sorted([*home.glob("*.bad*"), *home.glob("sessions/*/*.bad")])
