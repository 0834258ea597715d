"""Data that lies beside a program: which of an extension's files it may have written itself.

Nobody can know, so what is taken for data is only ever copied or kept, never moved or deleted: an extension may go on
writing beside its program, and reading there. What runs, is built, describes the extension or is kept in git is none.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from zot.features.extensions.loader.data_dir import RECORD
from zot.features.extensions.loader.manifest import FILE, THEME_FILES, Manifest
from zot.system.files import find_program, make_private_dir
from zot.system.safe_open import create, reading

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
_RUN_NOTHING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")  # a repository may name programs
_BEGINNINGS = ("readme", "license", "licence", "copying", "notice", "changelog", "requirements", "contributing")


def copy_files(source: Path, names: list[str], target: Path) -> None:
    for name in names:
        make_private_dir((target / name).parent)
        copy_file(source / name, target / name)


def copy_file(source: Path, target: Path) -> None:
    """With its owner's permission bits; ``target`` must not exist."""
    with reading(source) as original, os.fdopen(create(target), "wb") as copy:
        while data := original.read(1 << 20):
            copy.write(data)
    target.chmod(stat.S_IMODE(source.stat().st_mode) & 0o700)


def looks_like_data(path: Path, manifest: Manifest) -> bool:
    """Whether a program may have written the file as its state: nothing that runs, is built or tells about it."""
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
    """Files and links, in order; without git's own and bytecode."""
    for folder, folders, names in os.walk(directory):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(set(folders) - {".git", "__pycache__"} - set(linked))
        yield from (Path(folder, name) for name in sorted([*names, *linked]))


def git_lines(directory: Path, *words: str) -> list[str] | None:
    """What git says about the directory, NUL between lines; None when it is not in a repository, or there is no git."""
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
    """The same among an author's sources, where only git can tell: what it ignores."""
    ignored = ignored_names(manifest.directory)
    found = ((path, str(path.relative_to(manifest.directory))) for path in files_below(manifest.directory))
    return [name for path, name in found if is_among(name, ignored) and looks_like_data(path, manifest)]


def ignored_names(directory: Path) -> list[str]:
    """What git ignores there, a whole directory as one name; nothing outside of a repository."""
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return [name.rstrip("/") for name in git_lines(directory, *words) or ()]


def is_among(name: str, names: list[str]) -> bool:
    return any(name == entry or name.startswith(f"{entry}/") for entry in names)


def old_data(manifest: Manifest) -> list[str]:
    """Names of what lies beside the program and may be its data."""
    directory = manifest.directory
    found = [path for path in files_below(directory) if looks_like_data(path, manifest)]
    tracked = set((found and git_lines(directory, "ls-files", "-z")) or ())  # what is kept in git is the author's
    return [name for path in found if (name := str(path.relative_to(directory))) not in tracked]
