"""Source of an extension and the record of an installation: origin and files.
A source is a directory, git repository, ``URL@REF``, ``URL#DIRECTORY`` or ``…/tree/REF/DIRECTORY``. Fetching runs
nothing. Files not in the record were written later."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import msgspec

from zot.errors import ExtensionError, UsageError, ZotError, describe_error
from zot.features.extensions.install.copy_tree import Notify, copy_extension, copy_tree, repository_of
from zot.features.extensions.install.installed import typed_name
from zot.features.extensions.loader.data_dir import RECORD, files_below, git_lines
from zot.features.extensions.loader.manifest import FILE, Manifest, read_manifest
from zot.system.files import find_program, write_atomic
from zot.system.safe_open import read_whole

_FORGE = re.compile(r"(https?://[^/]+/.+?)(?:/-)?/tree/([^/]+)(?:/(.+?))?/?")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class ExtensionSource(msgspec.Struct, frozen=True):
    """``place`` is a URL or an absolute path; ``ref`` and ``subdir`` are empty for the defaults. Of an index,
    ``ref`` is the version and ``subdir`` the name."""

    kind: Literal["git", "path", "index"]
    place: str
    ref: str = ""
    subdir: str = ""

    @property
    def directory_name(self) -> str:
        """The last part of the address without ``.git``, or of its subdirectory."""
        address = self.subdir or self.place
        name = address.rstrip("/").replace(":", "/").rsplit("/", 1)[-1].removesuffix(".git" if not self.subdir else "")
        if not name:
            raise UsageError(f"{self.place!r} does not name a repository")
        return typed_name(name)

    @property
    def told(self) -> str:
        if self.kind == "index":
            return f"{self.subdir}{f'@{self.ref}' if self.ref else ''} of {self.place}"
        return self.place + (f"@{self.ref}" if self.ref else "") + (f"#{self.subdir}" if self.subdir else "")


class Fetched(msgspec.Struct, frozen=True):
    manifest: Manifest
    commit: str = ""


def read_source(typed: str, ref: str = "", subdir: str = "") -> ExtensionSource:
    if os.path.exists(os.path.expanduser(typed.removeprefix("file://"))):
        url, typed_ref, typed_subdir = typed, "", ""  # an existing path may contain @ or #
    else:
        url, typed_ref, typed_subdir = _split(typed)
    ref, subdir = ref or typed_ref, subdir or typed_subdir
    parts = [part for part in subdir.split("/") if part not in ("", ".")]
    if ".." in parts or os.path.isabs(subdir) or ".git" in parts:
        raise UsageError(f'"{subdir}" is not a directory inside the repository')
    subdir = "/".join(parts)
    if is_git_url(url):
        return ExtensionSource("git", url, ref, subdir)
    if ref:
        raise UsageError(
            f'"{typed}" is not a git URL and has no "{ref}"; for a local repository write file://{os.path.abspath(os.path.expanduser(url))}'
        )
    return ExtensionSource("path", os.path.abspath(os.path.join(os.path.expanduser(url), subdir)))


def is_git_url(source: str) -> bool:
    return "://" in source or source.startswith("git@") or source.endswith(".git")


def fetch(source: ExtensionSource, target: Path, notify: Notify, *, force: bool = False) -> Fetched:
    """Fetch into ``target``, which must not exist; the caller removes it after a failure. ``force``: also a version
    that an index withdrew."""
    if source.kind == "index":
        from zot.features.extensions.install.index_source import fetch_from_index

        return fetch_from_index(source, target, notify, force=force)
    if source.kind == "path":
        return _copy(Path(source.place), target, notify)
    if not source.subdir:
        _clone(source, target, notify)
        return Fetched(_checked(target), _commit(target))
    clone = target.with_name(f"{target.name}.clone")
    _clone(source, clone, notify)
    inside = clone / source.subdir
    if not inside.is_dir() or not inside.resolve().is_relative_to(clone.resolve()):
        raise ZotError(f"{source.place} has no directory {source.subdir}; nothing was installed")
    copy_tree(inside, target, clone.resolve(), lambda path: path.name == ".git", notify)
    commit = _commit(clone)
    shutil.rmtree(clone)
    return Fetched(_checked(target), commit)


def fetch_files(source: ExtensionSource, target: Path, notify: Notify) -> str:
    """Copy any directory without git's files; returns its commit."""
    if source.kind == "git":
        clone = target.with_name(f"{target.name}.clone")
        _clone(source, clone, notify)
        inside, commit = clone / source.subdir, _commit(clone)
        if not inside.is_dir() or not inside.resolve().is_relative_to(clone.resolve()):
            raise ZotError(f"{source.place} has no directory {source.subdir}; nothing was installed")
        copy_tree(inside, target, clone.resolve(), lambda path: path.name == ".git", notify)
        shutil.rmtree(clone)
        return commit
    place = Path(source.place)
    if not place.is_dir():
        raise ZotError(f"{place} is not a directory; a git URL has a scheme or ends in .git")
    if target.parent.resolve().is_relative_to(place.resolve()):
        raise ZotError(f"cannot install {place}: it contains the target directory")
    notify(f"copying {place} …")
    try:
        copy_tree(place, target, repository_of(place), lambda path: path.name in (".git", "__pycache__"), notify)
    except OSError as error:
        raise ZotError(f"cannot copy {place}: {describe_error(error)}; nothing was installed") from error
    return ""


def _split(typed: str) -> tuple[str, str, str]:
    if found := _FORGE.fullmatch(typed):
        return found[1], unquote(found[2]), unquote(found[3] or "")
    url, _, subdir = typed.partition("#")
    subdir = subdir.removeprefix("subdirectory=")
    if ".git@" in url:
        url, _, ref = url.partition(".git@")
        return f"{url}.git", ref, subdir
    start = max(url.rfind("/"), url.rfind(":")) + 1
    if start and "@" in url[start:] and is_git_url(url):  # after the last separator, since a host may have a user
        at = url.index("@", start)
        return url[:at], url[at + 1 :], subdir
    return (url, "", subdir) if is_git_url(url) else (typed, "", "")


def _copy(source: Path, target: Path, notify: Notify) -> Fetched:
    if not source.is_dir():
        raise ZotError(f"{source} is not a directory; a git URL has a scheme or ends in .git")
    if not os.path.lexists(source / FILE):
        raise ZotError(f"{source} has no {FILE}; nothing was installed")
    if target.parent.resolve().is_relative_to(source.resolve()):
        raise ZotError(f"cannot install {source}: it contains the target directory")
    notify(f"copying {source} …")
    try:
        copy_extension(_checked(source), target, notify)
    except OSError as error:
        raise ZotError(f"cannot copy {source}: {describe_error(error)}; nothing was installed") from error
    return Fetched(_checked(target))


def _clone(source: ExtensionSource, target: Path, notify: Notify) -> None:
    notify(f"cloning {source.told} …")
    progress = "--progress" if sys.stderr.isatty() else "--quiet"
    git = _git()
    by_commit = _COMMIT.fullmatch(source.ref) is not None
    depth = [] if by_commit else ["--depth", "1"]
    branch = [f"--branch={source.ref}"] if source.ref and not by_commit else []
    quietly = ["-c", "advice.detachedHead=false"] if branch else []
    words = [git, *quietly, "clone", *depth, progress, *branch, "--", source.place, str(target)]
    if subprocess.run(words, env=_git_environment()).returncode:
        which = f" at {source.ref}" if source.ref else ""
        raise ZotError(f"git cannot clone {source.place}{which}; nothing was installed")
    if by_commit:
        words = [git, "-C", str(target), "checkout", "--quiet", "--detach", source.ref]
        if subprocess.run(words, env=_git_environment()).returncode:
            raise ZotError(f"{source.place} has no commit {source.ref}; nothing was installed")


def clone_at(place: str, commit: str, target: Path, notify: Notify) -> None:
    """Clone exactly this commit."""
    _clone(ExtensionSource("git", place, commit), target, notify)
    if _commit(target) != commit:
        raise ZotError(f"{place}: {commit} is no commit; nothing was installed")


def _git() -> str:
    if (git := find_program("git")) is None:  # never a repository around the working directory
        raise ZotError("git is not on PATH; install it, or install the extension from a directory")
    return git


def _commit(repository: Path) -> str:
    words = [_git(), "-C", str(repository), "rev-parse", "HEAD"]
    done = subprocess.run(words, env=_git_environment(), capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def _git_environment() -> dict[str, str]:
    """Environment without variables of a surrounding git, such as those of a git hook."""
    taken = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
    return {name: value for name, value in os.environ.items() if name not in taken}


def _checked(directory: Path) -> Manifest:
    try:
        return read_manifest(directory)
    except ExtensionError as error:
        raise ZotError(f"not an extension ({error}); nothing was installed") from error


class InstallRecord(msgspec.Struct, frozen=True):
    source: ExtensionSource
    commit: str = ""
    files: dict[str, str] = {}
    """Each with its size and time of change."""


def write_record(directory: Path, source: ExtensionSource, commit: str) -> list[str]:
    """Names of the current files."""
    files = {str(path.relative_to(directory)): _mark(path) for path in files_below(directory) if path.name != RECORD}
    encoded = msgspec.json.encode(InstallRecord(source, commit, files))
    write_atomic(directory / RECORD, msgspec.json.format(encoded, indent=1) + b"\n")
    return list(files)


def read_record(directory: Path) -> InstallRecord | None:
    """None if the origin is unknown. A clone of an older zot has it in its git configuration."""
    try:
        return msgspec.json.decode(read_whole(directory / RECORD), type=InstallRecord)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        if not (directory / ".git").exists() or directory.is_symlink():
            return None
        url = git_lines(directory, "config", "--null", "--get", "remote.origin.url")
        tracked = git_lines(directory, "ls-files", "-z")
        if not url or tracked is None:
            return None
        branch = (git_lines(directory, "symbolic-ref", "--quiet", "--short", "HEAD") or [""])[0].strip()
        commit = (git_lines(directory, "rev-parse", "HEAD") or [""])[0].strip()
        edited = git_lines(directory, "diff", "--name-only", "-z", "HEAD") or []
        marks = {name: _mark(directory / name) for name in tracked if os.path.lexists(directory / name)}
        return InstallRecord(ExtensionSource("git", url[0], branch), commit, marks | dict.fromkeys(edited, "edited"))


def files_added_since(directory: Path, record: InstallRecord) -> list[str]:
    found = (str(path.relative_to(directory)) for path in files_below(directory))
    return [name for name in found if name not in record.files and name != RECORD]


def modified_files(directory: Path, record: InstallRecord) -> list[str]:
    """Names of installed files that changed; without the manifest, which enabling rewrites."""
    return [
        name
        for name, mark in record.files.items()
        if name != FILE and os.path.lexists(directory / name) and _mark(directory / name) != mark
    ]


def origin_of(manifest: Manifest) -> str:
    record = read_record(manifest.directory)
    return record.source.told if record else ""


def _mark(path: Path) -> str:
    status = path.lstat()
    return f"link to {os.readlink(path)}" if path.is_symlink() else f"{status.st_size} {status.st_mtime_ns}"
