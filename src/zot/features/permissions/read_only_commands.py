"""Finds commands that only read files of the project, so that plan and ask mode run them without a question.
A table names the programs and the options that would write, run a program or follow links; everything else is not
read-only. ``is_inside`` decides about every argument, because each may be a path."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from zot.core.permission_modes import CallClass
from zot.features.permissions.command_prefix import command_prefix, is_dangerous, program_name
from zot.features.shell.plain_commands import PlainCommand, plain_commands
from zot.system.safe_open import read_whole

Reading = Literal["look", "look elsewhere", "no"]

_LONGEST_WORD = 200  # characters of an option that may contain a path


class _Denied:
    """Options that make a program more than read-only: letters of short ones, and long ones, also abbreviated."""

    def __init__(self, short: str = "", *long: str) -> None:
        self.short, self.long = frozenset(short), long

    def covers(self, word: str) -> bool:
        if word.startswith("--"):
            option = word.partition("=")[0]
            return len(option) > 2 and any(full.startswith(option) for full in self.long)
        return word.startswith("-") and not self.short.isdisjoint(word[1:])


_LISTS_FILES = "--files0-from"  # the file may name others
_NONE = _Denied()
_PROGRAMS: dict[str, _Denied] = {
    **dict.fromkeys(("ls", "cat", "head", "tail", "stat", "df", "pwd", "echo", "true", "false", "whoami"), _NONE),
    **dict.fromkeys(("which", "basename", "dirname", "realpath", "readlink", "cut", "tr", "nl", "cmp", "comm"), _NONE),
    **dict.fromkeys(("id", "uname", "cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum"), _NONE),
    "sha512sum": _NONE,
    "wc": _Denied("", _LISTS_FILES),
    "du": _Denied("LDH", _LISTS_FILES, "--dereference", "--dereference-args"),
    "file": _Denied("CfpzZ", "--compile", "--files-from", "--preserve-date", "--uncompress", "--uncompress-noreport"),
    "tree": _Denied("oRl", "--output"),
    "sort": _Denied("oT", "--output", "--compress-program", "--temporary-directory", _LISTS_FILES),
    "uniq": _NONE,
    "diff": _Denied("lr", "--paginate", "--recursive", "--from-file", "--to-file"),
    "jq": _Denied("fL", "--from-file"),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _Denied("RSO", "--dereference-recursive")),
    "rg": _Denied("Lz", "--pre", "--pre-glob", "--hostname-bin", "--follow", "--search-zip"),
}
_FIND = frozenset(
    (
        *("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype"),
        *("-type", "-xtype", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin", "-newer", "-newermt", "-anewer"),
        *("-cnewer", "-ctime", "-cmin", "-atime", "-amin", "-empty", "-print", "-print0", "-printf", "-ls"),
        *("-prune", "-quit", "-not", "-and", "-or", "-a", "-o", "-perm", "-user", "-group", "-nouser", "-nogroup"),
        *("-readable", "-writable", "-executable", "-depth", "-d", "-daystart", "-xdev", "-mount", "-links"),
        *("-inum", "-samefile", "-true", "-false", "-noleaf", "-P"),
    )
)


def classify_command(command: str, cwd: Path, is_inside: Callable[[Path], bool]) -> CallClass:
    """The kind of a command, and the words of its parts that a rule may allow. ``cd DIR &&`` may precede parts that
    only read."""
    plain = () if is_dangerous(command) else plain_commands(command)
    moved = _goes_to(plain)
    base = Path(cwd, moved) if moved else cwd
    parts = [part.words for part in (plain[1:] if moved else plain)]
    if not parts or (moved and (".." in base.parts or not base.is_dir())):
        return CallClass()
    found = [classify_reading(part, base, is_inside) for part in parts]
    kind = "act" if "no" in found else "look elsewhere" if "look elsewhere" in found else "look"
    if moved:
        return CallClass(kind)
    needed = [part for part, reading in zip(parts, found, strict=True) if len(parts) == 1 or reading != "look"]
    prefixes = tuple(map(command_prefix, needed))
    if not all(prefixes):
        return CallClass(kind)  # no rule covers it
    if len(needed) == 1:
        return CallClass(kind, words=needed[0], prefix=prefixes[0])
    return CallClass(kind, parts=tuple(needed), prefixes=tuple(dict.fromkeys(prefixes)))


def _goes_to(plain: tuple[PlainCommand, ...]) -> str:
    """The directory of ``cd DIR &&`` at the start; empty if it is a name that CDPATH may find."""
    if len(plain) < 2 or plain[1].joint != "&&" or len(plain[0].words) != 2 or plain[0].words[0] != "cd":
        return ""
    place = plain[0].words[1]
    return place if place == "." or place.startswith(("/", "./")) else ""


def classify_reading(words: tuple[str, ...], base: Path, is_inside: Callable[[Path], bool]) -> Reading:
    """``look`` if the command only reads below the project, ``look elsewhere`` if it only reads; ``base`` is where it
    runs."""
    name = program_name(words[0])
    if not _is_reading(name, words[1:], base, is_inside):
        return "no"
    return "look" if all(_is_inside(word, base, is_inside) for word in (".", *words[1:])) else "look elsewhere"


def _is_reading(name: str, words: tuple[str, ...], base: Path, is_inside: Callable[[Path], bool]) -> bool:
    match name:
        case "git":
            return _is_reading_git(words) and _is_plain_repository(base, is_inside)
        case "find":
            return all(word in _FIND or not word.startswith("-") for word in words)
        case "uniq":  # the second operand is written
            operands = [word for word in words if not word.startswith("-") or word == "-"]
            return len(operands) <= 1 and "--" not in words
        case "diff" if any(os.path.isdir(base / word) for word in words):  # it would follow links in it
            return False
        case "jq" if any(re.search("import|include", word) for word in words):
            return False
        case _:
            denied = _PROGRAMS.get(name)
            return denied is not None and not any(map(denied.covers, words))


def _is_inside(word: str, base: Path, is_inside: Callable[[Path], bool]) -> bool:
    """True if no reading of the word is a path outside: as it is, the value of an option, or attached to its letter."""
    if len(word) > _LONGEST_WORD and (word.startswith("-") or "/" in word):
        return False
    places = [word]
    if word.startswith("-"):
        places = [word.partition("=")[2]] if word.startswith("--") else [word[at:] for at in range(2, len(word))]
    try:
        return all(is_inside(Path(base, place)) for place in places if place)
    except (OSError, ValueError):
        return False


# --- git: the options that write or run something, and a repository whose own settings run nothing

_GIT_DENIED = _Denied("", "--output", "--ext-diff", "--textconv", "--exec", "--upload-pack", "--open-files-in-pager")
_GIT_READING = frozenset(("status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "describe", "shortlog"))
_BRANCH = frozenset(
    (
        "-a",
        "-r",
        "-v",
        "-vv",
        "-av",
        "--all",
        "--remotes",
        "--verbose",
        "--list",
        "--show-current",
        "--merged",
        "--no-merged",
    )
)
_TAG = frozenset(("-l", "-n", "--list", "--merged", "--no-merged"))
_REMOTE = ((), ("-v",), ("--verbose",))
_CONFIG_KEYS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol)"
    r"|remote\..*\.(url|fetch|pushurl|prune|tagopt)|branch\..*\.(remote|merge|rebase|description|pushremote)"
    r"|user\.(name|email|signingkey)|extensions\.objectformat|pull\.(rebase|ff)|push\.\w+|init\.defaultbranch"
)
_SECTION = re.compile(r'\[([\w.-]+)(?: "([^"\\]*)")?\]')
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=[^\\]*)?")
_SUBMODULE = b"\x00\x00\xe0\x00"  # the mode of a submodule in the index: git would run in it, with its settings


def _is_reading_git(words: tuple[str, ...]) -> bool:
    words = words[1:] if words[:1] == ("--no-pager",) else words
    verb, rest = (words[0], words[1:]) if words else ("", ())
    if any(map(_GIT_DENIED.covers, rest)):
        return False
    options = [word.partition("=")[0] for word in rest if word.startswith("-")]
    match verb:
        case "branch":
            lists = "--list" in rest or len(options) == len(rest)
            return lists and all(word in _BRANCH or word in ("--sort", "--format") for word in options)
        case "tag":
            lists = not {"-l", "--list"}.isdisjoint(rest) or len(options) == len(rest)
            return lists and all(word in _TAG or word in ("--sort", "--format") for word in options)
        case "remote":
            return rest in _REMOTE or (rest[:1] == ("get-url",) and len(rest) == 2)
        case _:
            return verb in _GIT_READING and not any(word.startswith("-O") for word in rest)


def _is_plain_repository(base: Path, is_inside: Callable[[Path], bool]) -> bool:
    """True if the repository is in the project, and no setting, hook or submodule of it can run a program."""
    for folder in (base, *base.parents):
        if not is_inside(folder) or all(os.path.lexists(folder / name) for name in ("HEAD", "objects", "refs")):
            return False  # in a bare repository its settings are project files
        if os.path.lexists(folder / ".git"):
            return _runs_nothing(folder / ".git")
    return False


def _runs_nothing(git: Path) -> bool:
    if git.is_symlink() or not git.is_dir() or os.path.lexists(git / "commondir"):
        return False
    names = os.listdir(git)
    if "config.worktree" in names or any(name.startswith("sharedindex.") for name in names):
        return False
    if os.path.lexists(git / "hooks" / "post-index-change"):
        return False
    index = read_whole(git / "index") if "index" in names else b""
    return _SUBMODULE not in index and _is_plain_config(read_whole(git / "config").decode())


def _is_plain_config(text: str) -> bool:
    section = ""
    for line in map(str.strip, text.split("\n")):
        if not line or line[0] in "#;":
            continue
        if header := _SECTION.fullmatch(line):
            section = ".".join(part for part in header.groups() if part is not None).lower()
        elif not (key := _KEY.fullmatch(line)) or not _CONFIG_KEYS.fullmatch(f"{section}.{key[1].lower()}"):
            return False
    return True
