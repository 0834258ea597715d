"""Runs git without hooks, filters, drivers or aliases of a repository or worker.

A ``ScratchRepository`` has its own configuration and borrows the objects of the real repository, in which only
references are read and moved.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from zot.errors import GitFailed
from zot.system.files import find_program, user_home
from zot.system.safe_open import create, read_prefix, read_whole
from zot.system.temp_files import locked_temp_dir, temporary_name

OLDEST = (2, 38)  # which can merge without a working tree
_LARGEST_INDEX = 256 << 20
_PATIENCE_S = 600.0
# Settings of the working tree; none of them names a program.
_TAKEN_OVER = ("autocrlf", "eol", "filemode", "ignorecase", "symlinks", "precomposeunicode")
_OTHERS = r"user\.(name|email)|extensions\.(refstorage|partialclone)|remote\..*\.promisor"
_ASKED = rf"^(core\.({'|'.join(_TAKEN_OVER)}|excludesfile)|{_OTHERS})$"
_QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
_RUN_NOTHING = ("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
SWARM_NAME, SWARM_ADDRESS = "zot swarm", "swarm@zot.invalid"


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """The repository of a directory. ``own`` is the git directory of this working tree, ``common`` what it shares with
    others of the same repository; ``settings`` are the settings copied from its configuration."""

    top: str
    own: str
    common: str
    format: str
    settings: dict[str, str]

    @property
    def objects(self) -> str:
        return os.path.join(self.common, "objects")

    @property
    def is_partial(self) -> bool:
        """Whether it is a partial clone."""
        return any(name == "extensions.partialclone" or name.endswith(".promisor") for name in self.settings)

    @property
    def author(self) -> tuple[str, str]:
        """The user's name and address for commits."""
        name, address = self.settings.get("user.name", ""), self.settings.get("user.email", "")
        return (name, address) if name and address else (SWARM_NAME, SWARM_ADDRESS)


class GitResult(msgspec.Struct, frozen=True):
    code: int
    out: bytes
    err_text: str


def git_program() -> str:
    if (git := find_program("git")) is None:  # never one in the current directory
        raise GitFailed("git is not on PATH; install it, or start the worker with --shared")
    return git


async def find_repository(directory: str | os.PathLike[str]) -> Repository:
    """The repository of a directory; GitFailed with a hint if a worktree cannot be made of it."""
    where = os.fspath(directory)
    if not os.path.isdir(where):
        raise GitFailed(f"{where} is not a directory")
    asked = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format")
    done = await _run([git_program(), *_RUN_NOTHING, "rev-parse", "--path-format=absolute", *asked], _outside(), where)
    lines = os.fsdecode(done.out).splitlines()
    if done.code or len(lines) != len(asked):
        raise GitFailed(_no_repository(where, done.err_text))
    top, own, common, form = lines
    listed = await _run([git_program(), *_RUN_NOTHING, "config", "-z", "--get-regexp", _ASKED], _outside(), where)
    pairs = (os.fsdecode(entry).partition("\n") for entry in listed.out.split(b"\0") if entry)
    settings = {name: value for name, _, value in pairs}
    if settings.get("extensions.refstorage", "files") != "files":
        raise GitFailed(f"{top} stores its branches in the format {settings['extensions.refstorage']}, unknown to zot")
    return Repository(top=top, own=own, common=common, format=form, settings=settings)


def _no_repository(where: str, output: str) -> str:
    if "not a git repository" in output:
        return f"{where} is not in a git repository; make one with `git init`, or start the worker with --shared"
    if "must be run in a work tree" in output:
        return f"{where} is a bare repository, without files to work on"
    return f"git refuses {where}: {one_line(output) or 'it did not name the repository'}"


def _outside() -> dict[str, str]:
    """For reading a repository with the user's settings; git checks its owner."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET


class ScratchRepository:
    """``place`` is zot's git directory. With ``looks``, new objects stay in it and are deleted with it."""

    def __init__(self, repository: Repository, place: Path, *, looks: bool) -> None:
        self.repository = repository
        self.place = place
        self._is_long = repository.format != "sha1"
        self._git = git_program()
        kept = {
            name: value for name, value in os.environ.items() if name in ("PATH", "TMPDIR", "TZ", "LD_LIBRARY_PATH")
        }
        self._environment = {
            **kept,
            **_QUIET,
            "HOME": os.fspath(place / "home"),
            "XDG_CONFIG_HOME": os.fspath(place / "home"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_DIR": os.fspath(place),
            "GIT_OBJECT_DIRECTORY": repository.objects,
        }
        if looks:
            self._environment["GIT_OBJECT_DIRECTORY"] = os.fspath(place / "objects")
            self._environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted_path(repository.objects)
        _lay(place, repository)

    async def git(
        self,
        *words: str,
        given: bytes = b"",
        index: Path | None = None,
        top: str = "",
        codes: Iterable[int] = (0,),
        author: tuple[str, str] = (SWARM_NAME, SWARM_ADDRESS),
    ) -> bytes:
        """The output of a git command; GitFailed for an exit code not in ``codes``."""
        done = await self.try_git(*words, given=given, index=index, top=top, author=author)
        if done.code not in codes:
            raise GitFailed(f"git {words[0]}: {one_line(done.err_text) or f'ended with {done.code}'}")
        return done.out

    async def try_git(
        self,
        *words: str,
        given: bytes = b"",
        index: Path | None = None,
        top: str = "",
        author: tuple[str, str] = (SWARM_NAME, SWARM_ADDRESS),
    ) -> GitResult:
        environment = {**self._environment, **_signed(author)}
        if index is not None:
            environment["GIT_INDEX_FILE"] = os.fspath(index)
        if top:
            environment["GIT_WORK_TREE"] = top
        return await _run([self._git, "--no-pager", *words], environment, top or self.place, given)

    async def line(self, *words: str, given: bytes = b"", index: Path | None = None, top: str = "") -> str:
        return os.fsdecode(await self.git(*words, given=given, index=index, top=top)).strip()

    async def copy_index(self, source: Path, target: Path, otherwise: str) -> None:
        """A copy of the index ``source``; if it is missing, damaged or split, an index of ``otherwise``."""
        with suppress(OSError):
            copy_with_time(source, target)
            if (await self.try_git("ls-files", "--unmerged", index=target)).code == 0:
                return
        target.unlink(missing_ok=True)
        await self.git("read-tree", otherwise, index=target)

    async def entries(self, tree: str, paths: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
        """Mode and object of every file of a tree."""
        out = await self.git("ls-tree", "-r", "-z", "--full-tree", tree, *(("--", *paths) if paths else ()))
        found: dict[str, tuple[str, str]] = {}
        for row in out.split(b"\0"):
            if row:
                about, _, name = row.partition(b"\t")
                mode, _, rest = about.decode().partition(" ")
                found[os.fsdecode(name)] = (mode, rest.split()[-1])
        return found

    def row(self, entry: tuple[str, str] | None) -> str:
        """Mode and object as ``update-index --index-info`` expects; a missing one is removed."""
        return f"{entry[0]} {entry[1]}" if entry is not None else f"0 {'0' * (64 if self._is_long else 40)}"

    async def commit(self, tree: str, parents: Iterable[str], message: str, author: tuple[str, str] = ("", "")) -> str:
        words = [word for parent in parents for word in ("-p", parent)]
        by = author if all(author) else (SWARM_NAME, SWARM_ADDRESS)
        out = await self.git("commit-tree", tree, *words, given=message.encode(errors="replace"), author=by)
        return out.decode().strip()

    async def import_commit(self, objects: str, commit: str, known: str) -> bool:
        """Copies a commit and what it needs beyond ``known``; False if it is missing or invalid."""
        elsewhere = {**self._environment, "GIT_OBJECT_DIRECTORY": objects}
        elsewhere["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted_path(self.repository.objects)
        argv = [self._git, "--no-pager", "pack-objects", "--revs", "--stdout", "-q"]
        packed = await _run(argv, elsewhere, self.place, f"{commit}\n^{known}\n".encode())
        if packed.code:
            return False
        return (await self.try_git("unpack-objects", "-q", "--strict", given=packed.out)).code == 0

    def shallow(self) -> bytes:
        """The boundary commits of a shallow clone; empty for a full one."""
        try:
            return read_whole(self.place / "shallow")
        except FileNotFoundError:
            return b""

    # References, in the repository itself.

    async def tip(self, reference: str) -> str:
        """The commit of a branch; empty if missing or symbolic."""
        linked = await self._real("symbolic-ref", "-q", reference, codes=(0, 1, 128))
        if linked.code == 0:
            return ""
        done = await self._real("rev-parse", "-q", "--verify", f"{reference}^{{commit}}", codes=(0, 1, 128))
        return done.out.decode().strip() if done.code == 0 else ""

    async def head(self) -> tuple[str, str]:
        """The commit that is checked out, and its branch as ``refs/heads/NAME``, empty for a detached HEAD."""
        done = await self._real("rev-parse", "-q", "--verify", "HEAD^{commit}", codes=(0, 1, 128), own=True)
        if done.code:
            raise GitFailed(f"{self.repository.top} has no commit yet; commit something first")
        branch = await self._real("symbolic-ref", "-q", "HEAD", codes=(0, 1, 128), own=True)
        return done.out.decode().strip(), os.fsdecode(branch.out).strip() if branch.code == 0 else ""

    async def update_branch(self, reference: str, new: str, old: str, why: str) -> bool:
        """Moves a branch from ``old`` (empty: missing) to ``new``; False if it is elsewhere."""
        was = old or "0" * len(new)
        done = await self._real("update-ref", "--no-deref", "-m", why, reference, new, was, codes=(0, 1, 128))
        return done.code == 0

    async def forget(self, reference: str) -> None:
        await self._real("update-ref", "--no-deref", "-d", reference, codes=(0, 1, 128))

    async def branches(self) -> dict[str, str]:
        """Every branch with the working tree it is checked out in, if any."""
        done = await self._real("for-each-ref", "--format=%(refname)%00%(worktreepath)", "refs/heads/")
        rows = (os.fsdecode(row).partition("\0") for row in done.out.splitlines())
        return {name: where for name, _, where in rows}

    async def _real(self, *words: str, codes: Iterable[int] = (0,), own: bool = False) -> GitResult:
        """In the repository's own directory, ``own`` in that of this working tree."""
        environment = {**self._environment, **_signed(self.repository.author)}
        for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"):
            environment.pop(name, None)
        place = self.repository.own if own else self.repository.common
        done = await _run([self._git, *_RUN_NOTHING, f"--git-dir={place}", *words], environment, place)
        if done.code not in codes:
            raise GitFailed(f"git {words[0]}: {one_line(done.err_text) or f'ended with {done.code}'}")
        return done


@asynccontextmanager
async def scratch_repository(
    repository: Repository, beside: Path, *, looks: bool = False
) -> AsyncGenerator[ScratchRepository]:
    """Exists for the time of the block, in a directory of zot."""
    with locked_temp_dir(Path(temporary_name(os.fspath(beside / "git")))) as place:
        yield ScratchRepository(repository, place, looks=looks)


def _lay(place: Path, repository: Repository) -> None:
    for name in ("refs", "objects", "info", "home"):
        (place / name).mkdir(mode=0o700)
    core = {
        "repositoryformatversion": "1" if repository.format != "sha1" else "0",
        "bare": "false",
        "hooksPath": "/dev/null",
        "fsmonitor": "false",
        "untrackedCache": "false",
        "splitIndex": "false",
        "attributesFile": "/dev/null",
        "excludesFile": "/dev/null",
        "quotePath": "false",
        "logAllRefUpdates": "false",
        **{name: value for name in _TAKEN_OVER if (value := repository.settings.get(f"core.{name}", ""))},
    }
    lines = ["[core]", *(f'\t{name} = "{_quoted(value)}"' for name, value in core.items()), "[gc]", "\tauto = 0"]
    if repository.format != "sha1":
        lines += ["[extensions]", f"\tobjectformat = {repository.format}"]
    write_new(place / "config", "\n".join([*lines, ""]).encode())
    write_new(place / "HEAD", b"ref: refs/heads/none\n")
    own = repository.settings.get("core.excludesfile", "")
    configured = os.environ.get("XDG_CONFIG_HOME") or os.fspath(user_home() / ".config")
    personal = os.path.expanduser(own) if own else os.path.join(configured, "git", "ignore")
    found: list[bytes] = []
    for path in (personal, os.path.join(repository.common, "info", "exclude")):
        with suppress(OSError):
            found.append(read_prefix(path, 1 << 20))
    write_new(place / "info" / "exclude", b"\n".join(found))
    with suppress(FileNotFoundError):
        write_new(place / "shallow", read_whole(os.path.join(repository.common, "shallow")))


def own_config(repository: Repository) -> bytes:
    """Configuration of a worker's repository: file settings and user name, nothing else."""
    sha1 = repository.format == "sha1"
    core = {"repositoryformatversion": "0" if sha1 else "1", "bare": "false", "logAllRefUpdates": "true"}
    core |= {name: value for name in _TAKEN_OVER if (value := repository.settings.get(f"core.{name}", ""))}
    name, address = repository.author
    sections = {"core": core, "user": {"name": name, "email": address}, "gc": {"auto": "0"}}
    if not sha1:
        sections["extensions"] = {"objectformat": repository.format}
    lines = [
        line
        for section, values in sections.items()
        for line in (f"[{section}]", *(f'\t{key} = "{_quoted(value)}"' for key, value in values.items()))
    ]
    return "\n".join([*lines, ""]).encode()


def _quoted(value: str) -> str:
    return re.sub(r'["\\\n]', "", value)


def _quoted_path(path: str) -> str:
    escaped = re.sub(r'(["\\])', r"\\\1", path)
    return f'"{escaped}"'


def _signed(author: tuple[str, str]) -> dict[str, str]:
    name, address = author
    parts = (("NAME", name), ("EMAIL", address))
    return {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in parts}


async def _run(
    argv: Sequence[str], environment: Mapping[str, str], cwd: str | os.PathLike[str], given: bytes = b""
) -> GitResult:
    """One git process, killed on cancellation; in its own group and our session."""
    pipe = asyncio.subprocess.PIPE
    try:
        child = await asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0
        )
    except OSError as error:
        raise GitFailed(f"cannot start git: {error.strerror or error}") from error
    try:
        async with asyncio.timeout(_PATIENCE_S):
            out, err = await child.communicate(given)
    except TimeoutError as error:
        raise GitFailed(f"git was stopped after {_PATIENCE_S:.0f} s in {os.fspath(cwd)}") from error
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, 9)
            await child.wait()
    return GitResult(child.returncode or 0, out, err.decode(errors="replace"))


def one_line(text: str) -> str:
    """The most useful line of git's stderr: its first error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(?i)(error|fatal):", line)] or lines
    full = [line for line in lines if "No space left" in line or "quota" in line.lower()]
    return re.sub(r"(?i)^(error|fatal): ", "", (full or telling or [""])[0])


def write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    with os.fdopen(create(path, mode), "wb") as file:
        file.write(data)


def copy_with_time(source: Path, target: Path) -> None:
    """An index is valid only for files older than it, so the copy keeps the original's time."""
    info = os.stat(source)
    write_new(target, read_whole(source, _LARGEST_INDEX))
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))


async def check_version() -> None:
    done = await _run([git_program(), "--version"], _outside(), "/")
    found = re.search(rb"(\d+)\.(\d+)", done.out)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise GitFailed(f"git {'.'.join(map(str, OLDEST))} or newer is required, found {done.out.decode().strip()}")
