"""Which extensions a run has, in load order, without starting any: explicit paths, the project's, the user's own.

Precedence never depends on timing. What is not trusted counts as absent and hides nothing; nothing in a project hides
a guard of the user's own; a project's bundle, which needs no trust, hides only what runs no process either. What was
known as a guard stays one when its manifest is damaged or gone. Nothing is written here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from zot.agent.extensions.loading.guards_file import known_guards
from zot.agent.extensions.loading.manifest import FILE, Manifest, looks_like_guard, read_manifest
from zot.agent.extensions.loading.trust import TrustStore
from zot.errors import ExtensionError

STAGING = ".installing-"  # where `zot ext install` builds: never an extension
Scope = Literal["explicit", "project", "global"]


class Entry(msgspec.Struct, frozen=True):
    manifest: Manifest
    scope: Scope
    data_dir: Path
    """Where the extension keeps state; the host creates it (0700) before the start."""
    was_guard: bool = False
    """It was a guard when it was last seen, whatever its manifest says of that."""


class LoadProblem(msgspec.Struct, frozen=True):
    directory: Path
    reason: str
    guard: bool = False
    """A declared guard that cannot be loaded: the host fails closed."""
    fix: str = ""

    @property
    def told(self) -> str:
        return f"{self.reason}; tool calls are refused: {self.fix}" if self.guard else self.reason


class Discovery(msgspec.Struct):
    entries: list[Entry] = []
    """In load order."""
    problems: list[LoadProblem] = []
    notes: list[str] = []
    """Skipped, shadowed, untrusted: one visible line each."""
    quiet: list[str] = []
    """What is normal and only ``doctor`` tells: disabled extensions, and copies hidden by the project's."""
    new_guards: list[str] = []
    """The user's own directories that turned out to be guards."""
    former_guards: list[str] = []
    """Those remembered as guards that no longer are."""


class _Found(msgspec.Struct):
    """A directory with a manifest file; ``manifest`` is None when it cannot be used."""

    directory: Path
    manifest: Manifest | None
    reason: str = ""
    trusted: bool = True
    was_guard: bool = False

    @property
    def declares_guard(self) -> bool:
        """By its manifest, or by what is known of one whose manifest cannot be used."""
        if self.manifest is None:
            return self.was_guard or looks_like_guard(self.directory)
        return self.manifest.guard

    @property
    def is_active_guard(self) -> bool:
        """A guard that is not disabled; one whose manifest cannot be used counts, for nothing says that it is."""
        return self.declares_guard and (self.manifest is None or self.manifest.enabled)

    @property
    def runs(self) -> bool:
        """Whether it starts a process; one whose manifest cannot be used might."""
        return self.manifest is None or self.manifest.has_process


def discover(
    *, explicit: Sequence[Path], cwd: Path, home: Path, scan: bool, trust: TrustStore, trust_project: bool
) -> Discovery:
    """Everything a run loads; ``scan`` is False under ``--no-ext``.

    ConfigError when trust.json or guards.json cannot be read.
    """
    result = Discovery()
    chosen = _explicit(explicit, result)
    project = _project(cwd, trust, trust_project, result) if scan else []
    own = _not_hidden(_own(home, result), project, result) if scan else []
    chosen += _enabled(project, "project", cwd, home, result)
    chosen += _enabled(own, "global", cwd, home, result)
    result.entries = _unique(chosen, result)
    return result


def project_dir(cwd: Path) -> Path:
    return cwd / ".zot" / "extensions"


def global_dir(home: Path) -> Path:
    return home / "extensions"


def candidates(parent: Path) -> list[Path]:
    """Directories, and links to directories, that hold a manifest; sorted by name. A missing parent has none."""
    try:
        names = sorted(os.listdir(parent))
    except OSError:
        return []
    paths = [Path(os.path.abspath(parent)) / name for name in names if not name.startswith(STAGING)]
    return [path for path in paths if path.is_dir() and os.path.lexists(path / FILE)]


def data_dir(manifest: Manifest, scope: Scope, cwd: Path, home: Path) -> Path:
    """Where an extension keeps state: beside its manifest, but never in a project, whose files are what was trusted."""
    if scope != "project":
        return manifest.directory
    from hashlib import sha256  # only projects with extensions pay for it

    project = sha256(os.fsencode(os.path.realpath(cwd))).hexdigest()[:16]
    return home / "data" / project / manifest.name


def _explicit(paths: Sequence[Path], result: Discovery) -> list[Entry]:
    entries: list[Entry] = []
    for path in paths:
        directory = Path(os.path.abspath(path))
        found = _find(directory)
        if found.manifest is None:
            reason = found.reason if directory.is_dir() else "no such directory"
            fix = f"repair {directory / FILE}, or leave out --ext"
            result.problems.append(LoadProblem(directory, reason, found.declares_guard, fix))
        elif not found.manifest.enabled:
            result.notes.append(f"extension {found.manifest.name} is disabled and was skipped: {directory}")
        else:
            entries.append(Entry(found.manifest, "explicit", directory))
    return entries


def _project(cwd: Path, trust: TrustStore, trust_project: bool, result: Discovery) -> list[_Found]:
    """The project's extensions that count: the trusted ones, and bundles, which run nothing."""
    counted: list[_Found] = []
    for directory in candidates(project_dir(cwd)):
        found = _find(directory)
        if found.manifest is None and (record := trust.record(directory)):
            found.was_guard = record.guard
        found.trusted = trust_project or trust.is_trusted(directory)
        if found.trusted or not found.runs:
            counted.append(found)
        else:
            _report_untrusted(found, trust, result)
    _report_vanished(cwd, trust, result)
    return counted


def _report_untrusted(found: _Found, trust: TrustStore, result: Discovery) -> None:
    record = trust.record(found.directory)
    fix = f"look at it, then run `zot ext trust {found.directory}`"
    if record and record.guard:
        changes = ", ".join(trust.changed(found.directory))
        result.problems.append(LoadProblem(found.directory, f"a trusted guard has changed ({changes})", True, fix))
    elif found.manifest is None:
        result.problems.append(LoadProblem(found.directory, found.reason))
    elif found.manifest.enabled:
        why = "has changed since you trusted it" if record else "is not trusted"
        name = found.manifest.name
        result.notes.append(f"project extension {name} {why} and was skipped; {fix} (or pass --trust-project)")


def _report_vanished(cwd: Path, trust: TrustStore, result: Discovery) -> None:
    """Deleting a guard from a project must not go unseen."""
    if not (trust.path.exists() and project_dir(cwd).is_dir()):
        return
    for directory, record in trust.below(project_dir(cwd)).items():
        if record.guard and not os.path.lexists(directory / FILE):
            result.notes.append(f"the guard {record.name} is gone from {directory}; `zot ext untrust` forgets it")


def _own(home: Path, result: Discovery) -> list[_Found]:
    """The user's own, among them guards that were seen before and have lost their manifest or their directory."""
    known = known_guards(home)
    present = candidates(global_dir(home))
    lost = known.difference(directory.name for directory in present)
    directories = [*present, *(Path(os.path.abspath(global_dir(home))) / name for name in sorted(lost))]
    found = [_find(directory) for directory in directories]
    for item in found:
        item.was_guard = item.directory.name in known
        if item.is_active_guard and not item.was_guard:
            result.new_guards.append(item.directory.name)
        elif item.was_guard and not item.is_active_guard:
            result.former_guards.append(item.directory.name)
    return found


def _not_hidden(own: list[_Found], project: list[_Found], result: Discovery) -> list[_Found]:
    """The first stage, by directory name: what of the user's own the project does not hide."""
    by_name = {found.directory.name: found for found in project}
    kept: list[_Found] = []
    for found in own:
        other = by_name.get(found.directory.name)
        if other and _may_hide(other, found):
            result.quiet.append(f"{found.directory} is hidden by the project's {other.directory}")
        else:
            kept.append(found)
    return kept


def _may_hide(project: _Found, own: _Found) -> bool:
    if own.is_active_guard:
        return False
    return project.trusted or not own.runs


def _enabled(found: list[_Found], scope: Scope, cwd: Path, home: Path, result: Discovery) -> list[Entry]:
    entries: list[Entry] = []
    for item in found:
        if item.manifest is None:
            fix = _fix(item.directory, scope)
            result.problems.append(LoadProblem(item.directory, item.reason, item.declares_guard, fix))
        elif not item.manifest.enabled:
            result.quiet.append(f"{item.manifest.name} is disabled: {item.directory}")
        else:
            place = data_dir(item.manifest, scope, cwd, home)
            entries.append(Entry(item.manifest, scope, place))
    return entries


def _fix(directory: Path, scope: Scope) -> str:
    without = f"run `zot ext remove {directory.name}` to do without it" if scope == "global" else "remove it"
    return f"repair {directory / FILE}, or {without}"


def _unique(entries: list[Entry], result: Discovery) -> list[Entry]:
    """The second stage, by manifest name: the first wins, but some of the user's own do not yield to a project."""
    own = {entry.manifest.name: entry.manifest for entry in reversed(entries) if entry.scope == "global"}
    winners: dict[str, Entry] = {}
    for entry in entries:
        name = entry.manifest.name
        if entry.scope == "project" and name in own and _keeps_its_name(own[name], entry.manifest):
            result.notes.append(f"project extension {name} was skipped: your own extension of that name wins")
        elif name in winners:
            _report_duplicate(entry.manifest, winners[name].manifest, result)
        else:
            winners[name] = entry
    return list(winners.values())


def _report_duplicate(skipped: Manifest, winner: Manifest, result: Discovery) -> None:
    """The same directory reached twice (a link, a path typed twice) is nothing to worry about."""
    same = os.path.realpath(skipped.directory) == os.path.realpath(winner.directory)
    told = result.quiet if same else result.notes
    told.append(f"extension {skipped.name} in {skipped.directory} was skipped: {winner.directory} has that name")


def _keeps_its_name(own: Manifest, project: Manifest) -> bool:
    return own.guard or (own.has_process and not project.has_process)


def _find(directory: Path) -> _Found:
    try:
        return _Found(directory, read_manifest(directory))
    except ExtensionError as error:
        return _Found(directory, None, str(error))
