"""Protects existing git repositories and auto-executed files of a project and checks new ones after each command.
Git runs programs named in configuration and hooks. A new repository that would run something is moved aside, as is a
new auto-executed file; a changed one is reported. Existing repositories stay open, so that their inode numbers are not
reused."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from zot.system.auto_run_files import PACKAGES as _WITH_PACKAGES
from zot.system.auto_run_files import TOP_LEVEL, is_auto_executed
from zot.system.safe_open import read_whole

ASIDE = "-from-the-jail"
LONGEST_LOOK_S = 0.3
MOST_PROTECTED = 32
_HOLD = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW
_LARGEST = 64 << 10  # bytes of a configuration
_SETTLED_NS = 50_000_000  # resolution of a directory's time: younger ones may still change unnoticed
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?")
# Settings for which git runs nothing; all others count as a program's name.
_SAFE_SECTIONS = ("user", "branch", "init", "color", "gc", "pack", "index", "feature", "advice", "i18n", "pull", "push")
_SAFE = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol"
    r"|safecrlf|quotepath|abbrev|compression|sparsecheckout|sparsecheckoutcone|untrackedcache|commitgraph|splitindex)"
    r"|remote\.(url|fetch|push|pushurl|mirror|prune|tagopt)|submodule\.(url|active|branch|ignore)"
    r"|extensions\.(objectformat|refstorage|worktreeconfig)|fetch\.prune|merge\.(ff|conflictstyle)|rebase\.autostash"
    r"|diff\.(algorithm|renames)"
)


class GitHazard(NamedTuple):
    """Something that git would run or use; ``mark`` differs if its content does."""

    name: str
    mark: str = ""


class ScannedRepository(NamedTuple):
    """``place`` is a ``.git``, or a directory that git accepts as one; ``runs`` is what git would run or use."""

    place: str
    which: tuple[int, int]  # device and inode: another one under the same name is new, a moved one is not
    runs: tuple[GitHazard, ...]


class Directory(NamedTuple):
    changed_ns: int
    below: tuple[str, ...]
    holds: tuple[str, ...]  # names that git accepts as a repository; "." for the directory itself
    runs: tuple[str, ...] = ()  # names of other files that programs run by themselves


class RepositoryScanner:
    """Repositories below ``roots``. A directory is scanned again when its time changes, which commands cannot set.
    ``gave_up``: too large before the first command; what commands make later is scanned whatever its size."""

    def __init__(self, roots: Iterable[str], covered: Iterable[str] = TOP_LEVEL) -> None:
        self._roots = tuple(roots)
        self._covered = frozenset(covered)  # names in the roots that the jail itself protects
        self._seen: dict[str, Directory] = {}
        self._before: dict[tuple[int, int], ScannedRepository] = {}
        self._held: list[int] = []
        self._running = 0
        self._files: dict[str, str] = {}  # auto-executed files, and their state
        self._files_before: dict[str, str] = {}
        self._complete = False
        self.gave_up = False
        self._said_so = False

    def begin(self) -> list[str]:
        """Called before a command starts: returns the current git directories, for protection."""
        self._running += 1
        if self._running == 1:
            self._before = {found.which: found for found in self._look() if self._hold(found)}
            self._files_before = self._files
        return [found.place for found in self._before.values() if os.path.isdir(found.place)][:MOST_PROTECTED]

    @property
    def files(self) -> list[str]:
        """Existing auto-executed files that the policy does not name, to be read-only."""
        return list(self._files_before)[:MOST_PROTECTED]

    def _hold(self, found: ScannedRepository) -> bool:
        """True if it can be recognized; otherwise it counts as new."""
        try:
            held = os.open(found.place, _HOLD)
        except OSError:
            return False
        self._held.append(held)
        info = os.fstat(held)
        return (info.st_dev, info.st_ino) == found.which

    def end(self) -> list[str]:
        """Called after the command: sentences for the user."""
        self._running -= 1
        notes: list[str] = []
        for found in self._look():
            before = self._before.get(found.which)
            fresh = [reason for reason in found.runs if before is None or reason not in before.runs]
            if fresh and before is None:
                notes.append(_set_aside(found))
            elif fresh:
                notes.append(
                    f"{found.place} was changed: git would now use {_named(fresh)}; check it before you use git"
                )
        for path, state in self._files.items() if not self.gave_up else ():
            before = self._files_before.get(path)
            if before is None or before.split(" ")[0] != state.split(" ")[0]:
                notes.append(_set_file_aside(path))
            elif before != state:
                notes.append(f"{path} was changed; other programs run it by themselves: check it")
        if self.gave_up and not self._said_so:
            self._said_so = True
            notes.append(
                f"{', '.join(self._roots)} is too large to scan after commands: repositories and auto-executed files "
                "created there are not moved aside; check them before you use git or an editor"
            )
        while self._held and not self._running:
            os.close(self._held.pop())
        return notes

    def _look(self) -> list[ScannedRepository]:
        if self.gave_up:
            return []
        found: list[ScannedRepository] = []
        seen: dict[str, Directory] = {}
        files: dict[str, str] = {}
        ends = time.thread_time() + LONGEST_LOOK_S
        waiting = list(self._roots)
        while waiting:
            path = waiting.pop()
            if not self._complete and time.thread_time() > ends:
                self.gave_up = True
                return []
            directory = self._directory(path)
            if directory is None:
                continue
            seen[path] = directory
            waiting += [f"{path}/{name}" for name in directory.below]
            for name in directory.holds:
                place = path if name == "." else f"{path}/{name}"
                found += _judged(place)
            covered = self._covered if path in self._roots else ()
            files |= {f"{path}/{name}": _state(f"{path}/{name}") for name in directory.runs if name not in covered}
        self._seen, self._files, self._complete = seen, files, True
        return found

    def _directory(self, path: str) -> Directory | None:
        with suppress(OSError):
            info = os.lstat(path)
            known = self._seen.get(path)
            if known is not None and known.changed_ns == info.st_ctime_ns:
                return known
            with os.scandir(path) as entries:
                names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
            fresh = time.time_ns() - info.st_ctime_ns < _SETTLED_NS
            return Directory(0 if fresh else info.st_ctime_ns, *_sorted(path, names))
        return None


def _sorted(path: str, names: dict[str, bool]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Directories to scan next, what git accepts as a repository here, and auto-executed files."""
    own = os.path.basename(path)
    linked = "commondir" in names or {"objects", "refs"} <= names.keys()
    if "HEAD" in names and linked and own != ".git":
        return (("modules",) if names.get("modules") else ()), (".",), ()
    if own == ".git":
        return (("modules",) if names.get("modules") else ()), (), ()
    below = tuple(name for name, is_directory in names.items() if is_directory)
    runs = tuple(name for name in names if name != ".git" and is_auto_executed(own, name))
    if runs and not _WITH_PACKAGES.isdisjoint(path.split("/")):
        runs = ()
    return below, ((".git",) if ".git" in names else ()), runs


def _state(path: str) -> str:
    """Changes whenever the file, or an entry of the directory, does."""
    with suppress(OSError):
        info = os.lstat(path)
        own = f"{info.st_ino} {info.st_size} {info.st_mtime_ns}"
        if not stat.S_ISDIR(info.st_mode):
            return own
        with os.scandir(path) as entries:
            inside = (entry.stat(follow_symlinks=False) for entry in sorted(entries, key=lambda each: each.name)[:256])
            return " ".join((own, *(f"{each.st_ino} {each.st_size} {each.st_mtime_ns}" for each in inside)))
    return ""


def _set_file_aside(path: str) -> str:
    number = next(number for number in range(1, 1_000_000) if not os.path.lexists(_aside(path, number)))
    aside = _aside(path, number)
    try:
        os.rename(path, aside)
    except OSError as error:
        return f"a command created {path}, which other programs run; cannot move it aside ({error.strerror}): check it"
    return (
        f"a command created {path}, which other programs run by themselves; it was renamed to "
        f"{os.path.basename(aside)}; you can rename it back"
    )


def _judged(place: str) -> list[ScannedRepository]:
    try:
        info = os.lstat(place)
    except OSError:
        return []
    return [ScannedRepository(place, (info.st_dev, info.st_ino), tuple(dict.fromkeys(_runs(place, info.st_mode))))]


def _runs(place: str, mode: int) -> Iterator[GitHazard]:
    if stat.S_ISLNK(mode):
        yield GitHazard("a link instead of .git")
    if not stat.S_ISDIR(mode):
        return  # a pointer; its target is found where it is
    for name in ("config", "config.worktree"):
        yield from (GitHazard(f"{key.name} in {name}", key.mark) for key in _keys(f"{place}/{name}"))
    with suppress(FileNotFoundError, NotADirectoryError):
        for name in sorted(os.listdir(f"{place}/hooks")):
            if not name.endswith(".sample"):
                info = os.lstat(f"{place}/hooks/{name}")
                yield GitHazard(f"hooks/{name}", f"{info.st_ino} {info.st_size} {info.st_ctime_ns}")
    with suppress(OSError):
        common = read_whole(f"{place}/commondir", _LARGEST).strip()
        if common != b"." and not (common == b"../.." and os.path.basename(os.path.dirname(place)) == "worktrees"):
            yield GitHazard("commondir, which points elsewhere")


def _keys(path: str) -> Iterator[GitHazard]:
    """Settings that are not known to be harmless. A directory has none; the jail covers missing names with one."""
    if os.path.isdir(path):
        return
    try:
        text = read_whole(path, _LARGEST).decode()
    except FileNotFoundError:
        return
    except (OSError, UnicodeError):
        yield GitHazard("something unreadable")
        return
    section = ""
    for line in text.splitlines():
        rest = line.strip()
        if header := _SECTION.match(rest):
            section, rest = header[1].lower(), rest[header.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        setting = _SETTING.fullmatch(rest)
        if setting is None or rest.endswith("\\"):
            yield GitHazard("something unreadable", rest)
        elif section not in _SAFE_SECTIONS and not _SAFE.fullmatch(f"{section}.{setting[1].lower()}"):
            yield GitHazard(f"{section}.{setting[1].lower()}", rest)


def _set_aside(found: ScannedRepository) -> str:
    """Without its name and HEAD git ignores it."""
    what = f"a command created {found.place}, from which git would use {_named(found.runs)}"
    number = next(number for number in range(1, 1_000_000) if not os.path.lexists(_aside(found.place, number)))
    aside = _aside(found.place, number)
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.rename(f"{found.place}/HEAD", f"{found.place}/HEAD{ASIDE}")
        os.rename(found.place, aside)
    except OSError as error:
        return f"{what}; cannot move it aside ({error.strerror}): check it before you use git"
    return f"{what}; it was renamed to {os.path.basename(aside)}, its HEAD to HEAD{ASIDE}; you can rename them back"


def _aside(place: str, number: int) -> str:
    return f"{place}{ASIDE}{'' if number == 1 else f'-{number}'}"


def _named(reasons: Iterable[GitHazard]) -> str:
    return ", ".join(dict.fromkeys(reason.name for reason in reasons))
