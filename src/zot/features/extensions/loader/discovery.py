"""Finds the extensions of a run in load order: explicit paths, project, user.
Untrusted extensions count as absent; a project bundle hides only extensions without a process. No extension can replace
a guard; a known guard that cannot run as before is missing, and tool calls are denied."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from zot.errors import ExtensionError
from zot.features.extensions.loader.data_dir import Scope, data_dir
from zot.features.extensions.loader.extension_trust import ExtensionTrust, extension_key
from zot.features.extensions.loader.guard_registry import known_guards
from zot.features.extensions.loader.manifest import FILE, Manifest, looks_like_guard, read_manifest
from zot.features.skills.discovery import FILE_NAME, SkillFile
from zot.features.trust import project_key
from zot.system.files import is_missing

STAGING = ".installing-"  # where `zot ext install` builds: never an extension
RUNS_NOTHING = 'is a guard without a process: "exec" is missing'


class DiscoveryFailed(ExtensionError):
    """The extensions cannot be listed; one of them may be a guard."""


class DiscoveredExtension(msgspec.Struct, frozen=True):
    manifest: Manifest
    scope: Scope
    data_dir: Path
    """Where the extension keeps state; the host creates it (0700) before the start."""
    was_guard: bool = False
    """It was a guard in the last run, and its manifest does not contradict it."""

    @property
    def guards(self) -> bool:
        return self.manifest.guard or self.was_guard


class LoadProblem(msgspec.Struct, frozen=True):
    directory: Path
    reason: str
    guard: bool = False
    """A declared guard that cannot be loaded: the host fails closed."""
    fix: str = ""

    @property
    def message(self) -> str:
        return f"{self.reason}; tool calls are denied: {self.fix}" if self.guard else self.reason


class Discovery(msgspec.Struct):
    entries: list[DiscoveredExtension] = []
    """In load order."""
    problems: list[LoadProblem] = []
    notes: list[str] = []
    """Skipped, shadowed, untrusted: one visible line each."""
    quiet: list[str] = []
    """Only for ``doctor``: disabled extensions, and copies hidden by the project's."""
    new_guards: list[str] = []
    """The user's directories newly found to be guards."""
    former_guards: list[str] = []
    """Known guards that no longer declare themselves guards."""


class _Found(msgspec.Struct):
    """A directory with a manifest file; ``manifest`` is None if it cannot be used."""

    directory: Path
    manifest: Manifest | None
    reason: str = ""
    trusted: bool = True
    was_guard: bool = False

    @property
    def declares_guard(self) -> bool:
        """A guard by its manifest, or by the registry if the manifest is silent."""
        if self.manifest is None:
            return self.was_guard or looks_like_guard(self.directory)
        return self.manifest.guard or (self.was_guard and not self.manifest.denies_guard)

    @property
    def is_active_guard(self) -> bool:
        """A guard that is not disabled; one with an unusable manifest counts."""
        return self.declares_guard and (self.manifest is None or self.manifest.enabled)

    @property
    def presumed_guard(self) -> bool:
        """A known guard whose manifest does not contradict it."""
        return self.was_guard and self.declares_guard

    @property
    def runs(self) -> bool:
        """True if it starts a process; assumed for an unusable manifest."""
        return self.manifest is None or self.manifest.has_process


def discover(
    *,
    explicit: Sequence[Path],
    cwd: Path,
    home: Path,
    scan: bool,
    trust: ExtensionTrust,
    trust_project: bool,
    required_guards: Collection[str] = (),
) -> Discovery:
    """All extensions of a run; ``scan`` is False under ``--no-ext``. ``required_guards`` are those of the starter of a
    worker, by ``project_key``. ConfigError if trust.json or guards.json cannot be read."""
    result = Discovery()
    chosen = _explicit(explicit, cwd, home, result)
    project = _project(cwd, trust, trust_project, result) if scan else []
    own = _not_hidden(_own(home, result), project, result) if scan else []
    chosen += _enabled(project, "project", cwd, home, result)
    chosen += _enabled(own, "global", cwd, home, result)
    result.entries = _unique(chosen, result)
    if required_guards:
        _require(required_guards, result)
    for entry in result.entries:
        result.notes += (
            f"extension {entry.manifest.name}: {slip} ({entry.manifest.directory})" for slip in entry.manifest.slips
        )
    return result


def _require(guards: Collection[str], result: Discovery) -> None:
    """These are guards whatever their manifests say; for one that was not found, tool calls are denied."""
    found = {project_key(entry.manifest.directory) for entry in result.entries}
    result.entries = [
        msgspec.structs.replace(entry, was_guard=True) if project_key(entry.manifest.directory) in guards else entry
        for entry in result.entries
    ]
    known = {project_key(problem.directory) for problem in result.problems if problem.guard}
    for key in sorted(set(guards) - found - known):
        reason = "this guard of the session that started the worker cannot run here"
        fix = "start the worker where the guard is trusted, or remove the guard from the session"
        result.problems.append(LoadProblem(Path(key), reason, guard=True, fix=fix))


def project_dir(cwd: Path) -> Path:
    return cwd / ".zot" / "extensions"


def global_dir(home: Path) -> Path:
    return home / "extensions"


def candidates(parent: Path) -> list[Path]:
    """Directories with a manifest, sorted by name.
    Unreadable ones are included, so that reading reports why; DiscoveryFailed for the parent."""
    try:
        names = sorted(os.listdir(parent))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DiscoveryFailed(f"cannot list the extensions in {parent}: {error.strerror}") from error
    paths = [Path(os.path.abspath(parent)) / name for name in names if not name.startswith(STAGING)]
    return [path for path in paths if _may_be_directory(path) and not is_missing(path / FILE)]


def _may_be_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return True


def _explicit(paths: Sequence[Path], cwd: Path, home: Path, result: Discovery) -> list[DiscoveredExtension]:
    entries: list[DiscoveredExtension] = []
    known = known_guards(home).paths if paths else ()
    for path in paths:
        directory = Path(os.path.abspath(path))
        found = _find(directory)
        found.was_guard = project_key(directory) in known
        if found.manifest is None:
            reason = found.reason if directory.is_dir() else "no such directory"
            fix = f"repair {directory / FILE}, or run without --ext"
            result.problems.append(LoadProblem(directory, reason, found.declares_guard, fix))
        elif not found.manifest.enabled:
            result.notes.append(f"skipped extension {found.manifest.name}: disabled ({directory})")
        elif found.declares_guard and not found.runs:
            result.problems.append(LoadProblem(directory, RUNS_NOTHING, True, "run without --ext"))
        else:
            place = data_dir(found.manifest, "explicit", cwd, home)
            entries.append(DiscoveredExtension(found.manifest, "explicit", place, found.presumed_guard))
    return entries


def _project(cwd: Path, trust: ExtensionTrust, trust_project: bool, result: Discovery) -> list[_Found]:
    """The project's trusted extensions, and bundles, which run nothing."""
    counted: list[_Found] = []
    records = trust.project_records(cwd)
    for directory in _listed(project_dir(cwd), result, guards=False):  # missing trusted ones are reported below
        record = records.pop(extension_key(directory), None)
        found = _find(directory)
        found.was_guard = record is not None and record.guard
        exactly = trust.is_trusted(directory)
        found.trusted = trust_project or exactly
        if found.was_guard and not _runs_as_guard(found, exactly, trust_project):
            # a trusted guard changed
            changes = ", ".join(trust.changed(found.directory)) or found.reason or "it no longer runs as a guard"
            fix = f"review it, then run `zot ext trust {found.directory}`; drop it: `zot ext untrust`"
            result.problems.append(LoadProblem(found.directory, f"a trusted guard changed ({changes})", True, fix))
        elif found.trusted or not found.runs:
            counted.append(found)
        else:
            _report_untrusted(found, record is not None, result)
    for key, record in records.items():
        if record.guard:
            fix = f"restore it, or drop it: `zot ext untrust {key}`"
            result.problems.append(LoadProblem(Path(key), f"the trusted guard {record.name} is missing", True, fix))
    return counted


def _runs_as_guard(found: _Found, exactly: bool, trust_project: bool) -> bool:
    """True if a trusted guard is present unchanged, or with --trust-project and still declared."""
    if found.manifest is None or not (found.runs and found.is_active_guard):
        return False
    return exactly or (trust_project and found.manifest.guard)


def _report_untrusted(found: _Found, was_trusted: bool, result: Discovery) -> None:
    fix = f"review it, then run `zot ext trust {found.directory}`"
    if found.manifest is None:
        result.problems.append(LoadProblem(found.directory, found.reason))
    elif found.manifest.enabled:
        why = "has changed since you trusted it" if was_trusted else "is not trusted"
        name = found.manifest.name
        result.notes.append(f"skipped project extension {name}, which {why}; {fix} (or pass --trust-project)")


def _own(home: Path, result: Discovery) -> list[_Found]:
    """The user's extensions, including known guards with a missing manifest or directory."""
    known = known_guards(home).guards
    present = _listed(global_dir(home), result, guards=True)
    lost = known.difference(directory.name for directory in present)
    directories = [*present, *(Path(os.path.abspath(global_dir(home))) / name for name in sorted(lost))]
    found = [_find(directory) for directory in directories]
    for item in found:
        item.was_guard = item.directory.name in known
        if item.is_active_guard and not item.was_guard:
            result.new_guards.append(item.directory.name)
        elif item.was_guard and not item.is_active_guard:
            result.former_guards.append(item.directory.name)
            disabled = item.manifest is not None and not item.manifest.enabled
            says = '"enabled" is false' if disabled else '"guard" is false'
            result.notes.append(
                f"your guard {item.directory.name} is no longer a guard: {says} in {item.directory / FILE}"
            )
    return found


def _listed(parent: Path, result: Discovery, *, guards: bool) -> list[Path]:
    """``guards``: deny tool calls if the directory cannot be listed."""
    try:
        return candidates(parent)
    except DiscoveryFailed as error:
        result.problems.append(LoadProblem(parent, str(error), guards, "make it readable, or pass --no-ext"))
        return []


def _not_hidden(own: list[_Found], project: list[_Found], result: Discovery) -> list[_Found]:
    """First stage, by directory name: the user's extensions that the project does not hide."""
    by_name = {found.directory.name: found for found in project}
    kept: list[_Found] = []
    for found in own:
        other = by_name.get(found.directory.name)
        if other and not found.is_active_guard and (other.trusted or not found.runs):
            result.quiet.append(f"{found.directory} is hidden by the project's {other.directory}")
        else:
            kept.append(found)
    return kept


def _enabled(found: list[_Found], scope: Scope, cwd: Path, home: Path, result: Discovery) -> list[DiscoveredExtension]:
    entries: list[DiscoveredExtension] = []
    for item in found:
        if item.manifest is None:
            fix = _fix(item.directory, scope)
            result.problems.append(LoadProblem(item.directory, item.reason, item.declares_guard, fix))
        elif not item.manifest.enabled:
            result.quiet.append(f"{item.manifest.name} is disabled: {item.directory}")
        elif scope == "global" and item.declares_guard and not item.runs:
            result.problems.append(LoadProblem(item.directory, RUNS_NOTHING, True, _fix(item.directory, scope)))
        else:
            place = data_dir(item.manifest, scope, cwd, home)
            entries.append(DiscoveredExtension(item.manifest, scope, place, item.presumed_guard))
    return entries


def _fix(directory: Path, scope: Scope) -> str:
    without = f"drop it: `zot ext remove {directory.name}`" if scope == "global" else "remove it"
    return f"repair {directory / FILE}, or {without}"


def _unique(entries: list[DiscoveredExtension], result: Discovery) -> list[DiscoveredExtension]:
    """Second stage, by manifest name: one of each, in load order."""
    same_name: dict[str, list[DiscoveredExtension]] = {}
    for entry in entries:
        same_name.setdefault(entry.manifest.name, []).append(entry)
    winners = {name: _winner(group) for name, group in same_name.items()}
    kept: list[DiscoveredExtension] = []
    for entry in entries:
        winner = winners[entry.manifest.name]
        if entry is winner:
            kept.append(entry)
        else:
            _report_skipped(entry, winner, result)
    return kept


def _winner(group: list[DiscoveredExtension]) -> DiscoveredExtension:
    """Guards first, the user's before others; else the first.
    A project bundle does not replace an extension that runs."""
    guards = [entry for entry in group if entry.guards]
    if guards:
        return next((entry for entry in guards if entry.scope == "global"), guards[0])
    own_runs = any(entry.scope == "global" and entry.manifest.has_process for entry in group)
    return next(
        (entry for entry in group if entry.scope != "project" or entry.manifest.has_process or not own_runs), group[0]
    )


def _report_skipped(skipped: DiscoveredExtension, winner: DiscoveredExtension, result: Discovery) -> None:
    """A directory reached twice (link, repeated path) is normal; a second guard is not."""
    name, directory, place = skipped.manifest.name, skipped.manifest.directory, winner.manifest.directory
    if os.path.realpath(directory) == os.path.realpath(place):
        result.quiet.append(f"skipped extension {name} in {directory}: {place} has the same name")
    elif skipped.guards and (skipped.was_guard or skipped.scope != "project"):
        fix = "rename one of them or drop one (`zot ext disable`, `zot ext untrust`, no --ext)"
        result.problems.append(LoadProblem(directory, f"{place} is also a guard named {name}", True, fix))
    elif skipped.scope == "project" and winner.scope == "global":
        result.notes.append(f"skipped project extension {name}: your own extension has the same name")
    else:
        guard = ", a guard," if winner.guards else ""
        result.notes.append(f"skipped extension {name} in {directory}: {place}{guard} has the same name")


def _find(directory: Path) -> _Found:
    try:
        return _Found(directory, read_manifest(directory))
    except ExtensionError as error:
        return _Found(directory, None, str(error))


# Skills of extensions, found from the manifests without starting anything. Each must be in the extension's directory.


def skill_files(entries: Iterable[DiscoveredExtension]) -> tuple[list[SkillFile], list[str]]:
    """The SKILL.md files of all extensions in load order, and problems of manifest entries."""
    found: list[SkillFile] = []
    problems: list[str] = []
    for entry in entries:
        name = entry.manifest.name
        for item in entry.manifest.skills:
            try:
                files = _files(entry.manifest.directory, item)
            except ValueError as error:
                problems.append(f"extension {name}: skipped skills entry {item!r}: {error}")
            else:
                label, directory = f"extension {name}", entry.manifest.directory
                found += [SkillFile(file, label, prefix_of(name), directory) for file in files]
    return found, problems


def _files(directory: Path, item: str) -> list[Path]:
    path = directory / item
    if ".." in Path(item).parts or not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory)):
        raise ValueError("is outside the extension's directory")
    return files_of_skill(path)


def files_of_skill(path: Path) -> list[Path]:
    """The SKILL.md files of a directory, or the one named; ValueError for anything else."""
    if path.is_dir():
        return sorted(path.rglob(FILE_NAME))
    if path.name == FILE_NAME and path.is_file():
        return [path]
    raise ValueError(f"is neither a directory nor a {FILE_NAME}")


def prefix_of(name: str) -> str:
    """Put before the names of an extension's skills and templates."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", name)
    return (re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "extension") + ":"
