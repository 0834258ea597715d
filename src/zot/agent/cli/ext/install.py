"""``zot ext install``: a directory is copied, a git repository cloned, into the user's extensions; all or nothing.

The work happens in a staging directory beside the destination and ends in one rename; whatever goes wrong before,
nothing is left behind. Nothing of what is installed is run, built or downloaded further. A copy has files with their
permission bits, and links as links: only what leads to another part of the same repository is followed, so that the
copy does not depend on it. Pipes, sockets and devices are left out and named.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

from zot.agent.cli.ext.installed import all_installed, typed_name
from zot.agent.cli.lines import tell
from zot.agent.cli.verb_arguments import parse
from zot.agent.cli.verbs import options
from zot.agent.extensions.bytecode import compile_ahead
from zot.agent.extensions.loading.discover import STAGING, global_dir
from zot.agent.extensions.loading.manifest import FILE, Manifest, read_manifest
from zot.errors import ExtensionError, UsageError, ZotError, in_words
from zot.system.files import find_program, make_private_dir, sync_dir, zot_home
from zot.system.opening import create, reading
from zot.system.temporary import held_directory, remove_if_dead

_PROGRESS_STEP = 200  # files


def run(argv: list[str]) -> int:
    source = parse(argv, options("ext install"), least=1, most=1, what="a path or a git URL").words[0]
    manifest = _clone(source) if is_git_url(source) else _copy(source)
    _report(manifest)
    return 0


def is_git_url(source: str) -> bool:
    return "://" in source or source.startswith("git@") or source.endswith(".git")


def repository_name(url: str) -> str:
    """The last part of the address without ``.git``: the name of the directory."""
    name = url.rstrip("/").replace(":", "/").rsplit("/", 1)[-1].removesuffix(".git")
    if not name:
        raise UsageError(f"{url!r} does not name a repository")
    return typed_name(name)


def _copy(typed: str) -> Manifest:
    source = Path(os.path.abspath(os.path.expanduser(typed)))
    if not source.is_dir():
        raise ZotError(f"{source} is not a directory (a git URL has a scheme, or ends in .git)")
    if not os.path.lexists(source / FILE):
        raise ZotError(f"{source} has no {FILE}; nothing was installed")
    with _staged(source.name) as staging:
        if staging.resolve().is_relative_to(source.resolve()):
            raise ZotError(f"{source} contains the place it would be installed to")
        tell(f"copying {source} …")
        try:
            copy_tree(source, staging)
        except OSError as error:
            raise ZotError(f"copying {source} failed and was rolled back: {in_words(error)}") from error
        return _checked(staging)


def _clone(url: str) -> Manifest:
    with _staged(repository_name(url)) as staging:
        tell(f"cloning {url} …")
        progress = "--progress" if sys.stderr.isatty() else "--quiet"
        if (git := find_program("git")) is None:  # never the one of the directory we are in
            raise ZotError("git is not on PATH; install it, or install the extension from a directory")
        done = subprocess.run([git, "clone", "--depth", "1", progress, "--", url, str(staging)], env=_git_environment())
        if done.returncode:
            raise ZotError(f"git could not clone {url}; nothing was installed")
        return _checked(staging)


def _git_environment() -> dict[str, str]:
    """Without what a surrounding git (a hook, say) says about its own repository."""
    taken = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
    return {name: value for name, value in os.environ.items() if name not in taken}


def _checked(staging: Path) -> Manifest:
    try:
        return read_manifest(staging)
    except ExtensionError as error:
        raise ZotError(f"not an extension ({error}); the install was rolled back") from error


@contextmanager
def _staged(name: str) -> Generator[Path]:
    """A place to build the directory ``name``; it moves to its destination when the block ends well."""
    parent = global_dir(zot_home())
    destination = parent / name
    if os.path.lexists(destination):
        raise ZotError(f"{destination} already exists; remove it first with `zot ext remove {name}`")
    make_private_dir(parent)
    for stale in parent.glob(f"{STAGING}*"):
        remove_if_dead(os.fspath(stale))
    staging = parent / f"{STAGING}{os.urandom(4).hex()}"
    signal.signal(signal.SIGTERM, _stop)
    with held_directory(staging):
        yield staging / name
        (staging / name).rename(destination)
        sync_dir(parent)


def _stop(_number: int, _frame: object) -> NoReturn:
    """A polite end runs the clean-up too."""
    raise SystemExit(143)


def _report(staged: Manifest) -> None:
    directory = global_dir(zot_home()) / staged.directory.name
    manifest = read_manifest(directory)
    tell(f"installed {manifest.name} {manifest.version} in {directory}".replace("  ", " "))
    others = [item for item in all_installed() if item.name == manifest.name and item.directory != directory]
    for other in others:
        tell(f"note: {other.directory} has the same name; the one that loads first wins (`zot ext doctor`)")
    if manifest.has_process:
        compile_ahead(manifest, zot_home())
        _report_exec(manifest)


def _report_exec(manifest: Manifest) -> None:
    try:
        program = manifest.argv(os.environ.get("PATH", ""))[0]
    except ExtensionError as error:
        tell(f"note: {error}")
        return
    if not os.access(program, os.X_OK):
        tell(f"note: {program} is missing or not executable; the extension cannot start until it is built")
    else:
        tell(f"it runs `{shlex.join((manifest.exec, *manifest.args))}` at the next start of zot")


# --- copying


def copy_tree(source: Path, destination: Path) -> None:
    """``destination`` must not exist. OSError leaves a part behind; the caller removes it."""
    progress = _Progress()
    root = Path(os.path.realpath(source))
    _copy_dir(root, destination, _Bounds(root, _repository(root)), progress)
    progress.close()


class _Bounds(NamedTuple):
    """What is being copied, and the repository it is a part of, if it is one."""

    root: Path
    repository: Path | None

    def followed(self, there: Path) -> bool:
        """Whether the content of a link's target is copied: it is elsewhere in the repository, and not around us."""
        outside = self.repository is not None and there.is_relative_to(self.repository)
        return outside and not self.root.is_relative_to(there) and not there.is_relative_to(self.root)


def _repository(directory: Path) -> Path | None:
    return next((parent for parent in directory.parents if os.path.lexists(parent / ".git")), None)


def _copy_dir(source: Path, destination: Path, bounds: _Bounds, progress: _Progress) -> None:
    destination.mkdir(mode=0o700)
    with os.scandir(source) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            _copy_path(Path(entry.path), destination / entry.name, bounds, progress)
    destination.chmod(stat.S_IMODE(source.stat().st_mode) & 0o777 | 0o700)


def _copy_path(source: Path, target: Path, bounds: _Bounds, progress: _Progress) -> None:
    if source.is_symlink():
        there = Path(os.path.realpath(source))
        if there.exists() and bounds.followed(there):
            _copy_path(there, target, _Bounds(there, None), progress)  # links in it stay links
        else:
            os.symlink(_link_target(source, bounds.root), target)
    elif source.is_dir():
        _copy_dir(source, target, bounds, progress)
    elif source.is_file():
        with reading(source) as original, os.fdopen(create(target), "wb") as copy:
            shutil.copyfileobj(original, copy, 1 << 20)
        target.chmod(stat.S_IMODE(source.stat().st_mode) & 0o777)
        progress.add(source.stat().st_size)
    else:
        tell(f"left out {source}: not a file, directory or link")


def _link_target(link: Path, root: Path) -> str:
    """Where the copy points: inside the tree it stays relative, what leads out keeps its target by absolute path."""
    text = os.readlink(link)
    here = os.path.realpath(link.parent)
    there = os.path.normpath(os.path.join(here, text))
    if Path(there).is_relative_to(root):
        return os.path.relpath(there, here)
    return there


class _Progress:
    """A counter on a terminal, for copies big enough to wonder about."""

    def __init__(self) -> None:
        self._files = 0
        self._bytes = 0
        self._shown = False

    def add(self, size: int) -> None:
        self._files += 1
        self._bytes += size
        if self._files % _PROGRESS_STEP == 0 and sys.stderr.isatty():
            self._shown = True
            sys.stderr.write(f"\r  {self._files} files, {self._bytes / 1e6:.1f} MB")
            sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write(f"\r  {self._files} files, {self._bytes / 1e6:.1f} MB\n")
