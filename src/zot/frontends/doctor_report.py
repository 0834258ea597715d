"""The report of ``zot doctor``, ``/doctor`` and ``zot report``.
It opens no connection, runs no key command and no untrusted program, and changes no setting."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from zot import __version__
from zot.agent import context_files
from zot.agent.features import FEATURES
from zot.agent.settings import Settings
from zot.agent.tool_set import unknown_tool_settings
from zot.agent.tools.workspace import Workspace
from zot.errors import ZotError
from zot.features.extensions.extension_check import (
    ExtensionCheck,
    Extensions,
    check_extensions,
    examine,
    running_findings,
)
from zot.features.extensions.registry import ExtensionStatus
from zot.frontends.console import run_loop
from zot.frontends.docs_index import check_index, index_path
from zot.frontends.themes import theme_problems
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.providers import Provider, credential_variables
from zot.system.files import find_program
from zot.system.installation import installation

_WRITTEN = ("sessions", "logs", "history", "extensions")


class DoctorReport(msgspec.Struct, frozen=True):
    ok: bool
    facts: dict[str, str]
    extensions: list[ExtensionCheck]
    notes: list[str]
    problems: list[str]

    @property
    def lines(self) -> list[str]:
        return [f"{label:12} {value}" for label, value in self.facts.items()]


def report(home: Path, cwd: Path, running: list[ExtensionStatus] | None = None) -> DoctorReport:
    """``running``: extensions of an open conversation, reported instead of starting others."""
    problems = [*home_problems(home)]
    usable = can_be_entered(home)  # otherwise each file in it would be reported as missing
    facts = dict(_facts(home, usable=usable))
    extensions = Extensions([], [], [])
    if not problems:
        try:
            findings = run_loop(examine(home, cwd, [])) if running is None else running_findings(home, cwd, running)
        except (ZotError, OSError) as error:
            extensions = Extensions([], [], [f"extensions: {error}"])
        else:
            extensions = check_extensions(home, cwd, findings)
    if usable:
        problems += [*_problems(home, cwd), *extensions.problems]
    return DoctorReport(not problems, facts, extensions.checked, extensions.notes, problems)


def _facts(home: Path, *, usable: bool) -> Iterator[tuple[str, str]]:
    yield "zot", f"{__version__}, Python {sys.version.split()[0]}"
    here = installation()
    yield "installed", f"{here.how}, {here.place}"
    yield "home", f"{home}{' (not created yet)' if usable and not home.is_dir() else ''}"
    yield "docs", str(index_path())
    yield "shell", find_program("bash") or find_program("sh") or "none: the bash tool does not work"
    from zot.system.jail.jail import detect_support

    machine = detect_support(find_program)
    what = {"full": "full (bubblewrap)", "reduced": "reduced (Landlock)", "": "none"}[machine.level]
    yield "jail", f"{what}{f': {machine.why}' if machine.why else ''}"
    yield "search", find_program("rg") or "built-in (ripgrep not found on PATH)"
    if not usable:
        return
    catalog = Catalog(home)
    yield "models", f"{len(catalog.rows())} known, {len(catalog.providers())} providers"
    yield "credentials", ", ".join(_credentials(catalog, AuthStore(home))) or "none"
    for row in FEATURES:
        yield from row.load().setup_facts(home, Path.cwd())
    credentials = credential_variables(catalog.providers().values())
    if withheld := Workspace(
        Path.cwd(), credentials=credentials, passthrough=Settings(home).values.env_passthrough
    ).removed_credentials():
        names = ", ".join(withheld)
        yield (
            "withheld",
            f"{names}: not passed to commands and extensions; allow one with env_passthrough",
        )


def _credentials(catalog: Catalog, store: AuthStore) -> Iterator[str]:
    """Providers with a credential and where it is; never the value."""
    for provider in catalog.providers().values():
        if variable := next((name for name in provider.env if os.environ.get(name)), ""):
            yield f"{provider.id} ({variable})"
        elif _stored(provider, store):
            yield f"{provider.id} (auth.json)"


def _stored(provider: Provider, store: AuthStore) -> bool:
    try:
        entry = store.shape(provider.id)
    except ZotError:
        return False  # reported once, with the problems
    return bool(entry.api_key or entry.oauth or entry.keyring)


def _problems(home: Path, cwd: Path) -> Iterator[str]:
    yield from Settings(home).problems
    yield from Settings(home).near_misses()
    yield from unknown_tool_settings(Settings(home))
    yield from Settings(home).unknown_providers(Catalog(home).providers())
    yield from Catalog(home).problems
    store = AuthStore(home)
    try:
        store.everything()
    except ZotError as error:
        yield str(error)
    yield from store.notices
    yield from context_files.load(cwd, home).problems
    for row in FEATURES:
        yield from row.load().setup_problems(home, cwd)
    yield from theme_problems(home, Settings(home).values.theme)
    yield from (f"documentation: {problem}" for problem in check_index())
    yield from (f"set aside: {path}" for path in sorted([*home.glob("*.bad*"), *home.glob("sessions/*/*.bad")]))


# --- the home directory


def home_problems(home: Path) -> Iterator[str]:
    """One line per problem, with its fix."""
    try:
        there = os.path.lexists(home)
        kind = home.is_dir()
    except OSError as error:
        yield f"cannot open {home}: {error.strerror}; change its owner, or set ZOT_HOME to another directory"
        return
    if not there:
        yield from _cannot_be_made(home)
        return
    if not kind:
        yield f"{home} (zot's home) is not a directory; move it away, or set ZOT_HOME to another directory"
        return
    if blocked := _blocked(home):
        yield f"{home} {blocked}: settings, sessions and logs cannot be saved; change its mode or set ZOT_HOME"
        return
    yield from (
        f"{place} {blocked}"
        for name in _WRITTEN
        if os.path.lexists(place := home / name)
        and (blocked := _blocked(place) if place.is_dir() else "is not a directory")
    )
    if (free := os.statvfs(home)).f_bavail * free.f_frsize < 1 << 20:
        yield f"the disk of {home} is full: sessions cannot be saved"


def can_be_entered(home: Path) -> bool:
    """True if the home exists or can be created."""
    try:
        os.stat(f"{home}/.")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _cannot_be_made(home: Path) -> Iterator[str]:
    there = next(parent for parent in home.parents if os.path.lexists(parent))
    if not there.is_dir() or not _may(there, os.W_OK | os.X_OK):
        yield f"cannot create {home}: {there} is not writable; set HOME or ZOT_HOME to your own directory"


def _blocked(place: Path) -> str:
    if _may(place, os.R_OK | os.W_OK | os.X_OK):
        return ""
    owner = place.stat().st_uid
    return "is not writable" if owner == os.geteuid() else f"belongs to another user ({_user(owner)})"


def _may(place: Path, mode: int) -> bool:
    """True if the effective user may write."""
    return os.access(place, mode, effective_ids=os.access in os.supports_effective_ids)


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"
