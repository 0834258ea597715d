"""Data directory of an extension, below ``$ZOT_HOME/data``, so that updates and removal preserve it.
Data of older versions beside the program is copied once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from zot.features.extensions.loader.manifest import FILE, THEME_FILES, Manifest
from zot.system.digest import sha256
from zot.system.files import find_program, make_private_dir
from zot.system.safe_open import create, open_buffered

Scope = Literal["explicit", "project", "global"]

RECORD = ".zot-install.json"  # written by `zot ext install` beside the program: origin and files
LOCK = "ext-lock.json"  # in zot's home: pinned files and granted permissions
MOST_FILES, MOST_BYTES = 1000, 256 << 20


def data_dir(manifest: Manifest, scope: Scope, cwd: Path, home: Path) -> Path:
    """By name for the user's extensions; by project or directory, and name, for others."""
    if scope == "global" or (scope == "explicit" and is_data_dir(manifest.directory, home)):
        return home / "data" / "global" / manifest.name
    place = os.path.realpath(cwd if scope == "project" else manifest.directory)
    return home / "data" / sha256(os.fsencode(place))[:16] / manifest.name


def make_data_dir(manifest: Manifest, scope: Scope, place: Path) -> str:
    """Create ``place``; returns a notice if data was copied there. OSError if it fails."""
    if place.is_dir():
        return ""
    make_private_dir(place.parent)
    if scope == "project" or (manifest.directory / RECORD).exists():
        make_private_dir(place)
        return ""
    from zot.system.temp_files import locked_temp_dir, temporary_name

    old = own_data(manifest) if scope == "explicit" else legacy_files(manifest)
    if len(old) > MOST_FILES or sum((manifest.directory / name).lstat().st_size for name in old) > MOST_BYTES:
        make_private_dir(place)
        return (
            f"the data directory of {manifest.name} is now {place}; copy needed files there from {manifest.directory}"
        )
    making = Path(temporary_name(os.fspath(place)))
    try:
        with locked_temp_dir(making):
            copy_files(manifest.directory, old, making)
            making.rename(place)
    except OSError:
        if not place.is_dir():  # not if another process was first
            raise
        return ""
    if not old:
        return ""
    named = ", ".join(old[:3]) + (f" and {len(old) - 3} more" if len(old) > 3 else "")
    return f"the data directory of {manifest.name} is now {place}; copied from {manifest.directory}: {named}"


def is_data_dir(directory: Path, home: Path) -> bool:
    return os.path.realpath(directory.parent) == os.path.realpath(home / "extensions")


# Data beside a program: files an extension may have written itself.

_BUILT = {"node_modules", "vendor", "venv", "dist", "build", "target", "bin", "lib", "obj", "out", "zot_ext", "zot-ext"}
_OF_AUTHORS = {"docs", "test", "tests", "testdata", "fixtures", "examples", "skills", "themes", "src"}
_CODE = {
    *(".py", ".pyi", ".pyc", ".pyd", ".typed", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".map"),
    *(".go", ".mod", ".sum", ".rs", ".rb", ".pl", ".pm", ".lua", ".php", ".sh", ".bash", ".zsh", ".fish", ".c", ".h"),
    *(".cc", ".cpp", ".hpp", ".java", ".class", ".jar", ".kt", ".swift", ".cs", ".zig", ".nim", ".ex", ".exs", ".so"),
    *(".dylib", ".dll", ".a", ".o", ".node", ".wasm", ".exe"),
}
_NAMES = {
    *(FILE, RECORD, "theme.json", "package.json", "package-lock.json", "tsconfig.json", "deno.json", "pyproject.toml"),
    *("setup.cfg", "cargo.toml", "cargo.lock", "gemfile", "gemfile.lock", "yarn.lock", "pnpm-lock.yaml", "uv.lock"),
    *("poetry.lock", "makefile", "dockerfile", "justfile", "skill.md", ".gitignore", ".gitattributes", ".gitmodules"),
    *(".editorconfig", ".npmrc", ".ds_store", ".python-version"),
}
_RUN_NOTHING = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
)  # a repository's configuration may name programs
_BEGINNINGS = ("readme", "license", "licence", "copying", "notice", "changelog", "requirements", "contributing")


def copy_files(source: Path, names: list[str], target: Path) -> None:
    for name in names:
        make_private_dir((target / name).parent)
        copy_file(source / name, target / name)


def copy_file(source: Path, target: Path) -> None:
    """Copy with the owner's permission bits; ``target`` must not exist."""
    with open_buffered(source) as original, os.fdopen(create(target), "wb") as copy:
        while data := original.read(1 << 20):
            copy.write(data)
    target.chmod(stat.S_IMODE(source.stat().st_mode) & 0o700)


def looks_like_data(path: Path, manifest: Manifest) -> bool:
    """True if the file may be state written by the program: not code, build output or documentation."""
    inside = path.relative_to(manifest.directory)
    folders = {part.lower() for part in inside.parts[:-1]}
    if folders & (_BUILT | _OF_AUTHORS) or any(part.startswith((".", "__")) for part in inside.parts[:-1]):
        return False
    name = path.name.lower()
    if path.suffix.lower() in _CODE or name in _NAMES or name.startswith(_BEGINNINGS):
        return False
    named = {os.path.normpath(word) for word in (manifest.exec, *manifest.args, *THEME_FILES)}
    if str(inside) in named or any(inside.is_relative_to(skill) for skill in manifest.skills):
        return False
    return not path.is_symlink() and path.is_file() and not os.access(path, os.X_OK)


def files_below(directory: Path) -> Iterator[Path]:
    """Files and links in order, without git's files and bytecode."""
    for folder, folders, names in os.walk(directory):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(set(folders) - {".git", "__pycache__"} - set(linked))
        yield from (Path(folder, name) for name in sorted([*names, *linked]))


def git_lines(directory: Path, *words: str) -> list[str] | None:
    """Output of git for the directory, NUL-separated; None without git or repository."""
    import subprocess

    inside = any((place / ".git").exists() for place in (directory, *directory.parents))
    git = find_program("git") if inside else None
    if git is None:
        return None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [git, *_RUN_NOTHING, "-C", str(directory), *words],
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(line) for line in done.stdout.split(b"\0") if line] if done.returncode == 0 else None


def own_data(manifest: Manifest) -> list[str]:
    """Data files in an author's sources: those that git ignores."""
    ignored = ignored_names(manifest.directory)
    found = ((path, str(path.relative_to(manifest.directory))) for path in files_below(manifest.directory))
    return [name for path, name in found if is_among(name, ignored) and looks_like_data(path, manifest)]


def ignored_names(directory: Path) -> list[str]:
    """Names ignored by git, whole directories as one; none outside a repository."""
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return [name.rstrip("/") for name in git_lines(directory, *words) or ()]


def is_among(name: str, names: list[str]) -> bool:
    return any(name == entry or name.startswith(f"{entry}/") for entry in names)


def legacy_files(manifest: Manifest) -> list[str]:
    directory = manifest.directory
    found = [path for path in files_below(directory) if looks_like_data(path, manifest)]
    tracked = set((found and git_lines(directory, "ls-files", "-z")) or ())  # tracked files are the author's
    return [name for path in found if (name := str(path.relative_to(directory))) not in tracked]
