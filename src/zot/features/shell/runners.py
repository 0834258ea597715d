"""Programs that run other programs, and what they run: ``timeout 5 rm``, ``sh -c 'rm'``, ``find -exec``, ``git -c``.
The tables are generous: a word that may begin a command counts as one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zot.features.shell.syntax import ANY

SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "csh", "tcsh", "fish"])

# They run the command that begins at one of their words.
_PREFIXES = frozenset(
    (
        *("env", "nice", "nohup", "timeout", "gtimeout", "time", "command", "builtin", "exec", "setsid", "ionice"),
        *("stdbuf", "unbuffer", "sudo", "doas", "su", "runuser", "pkexec", "xargs", "watch", "flock", "chroot"),
        *("unshare", "nsenter", "setarch", "linux32", "linux64", "taskset", "chrt", "numactl", "choom", "prlimit"),
        *("setpriv", "capsh", "strace", "ltrace", "perf", "valgrind", "script", "busybox", "toybox", "caffeinate"),
        *("parallel", "coproc", "sem", "sg", "fakeroot", "proot", "firejail", "bwrap", "systemd-run", "batch"),
        *("rlwrap", "entr", "hyperfine", "faketime", "dbus-run-session", "xvfb-run", "torsocks", "proxychains"),
        *("proxychains4", "catchsegv", "eatmydata", "chronic", "start-stop-daemon", "ssh-agent", "tmux", "screen"),
        *("!", "if", "then", "else", "elif", "while", "until", "do", "{", "("),  # where the grammar missed a keyword
        *("ld.so", "ssh", "mosh"),
    )
)
# A rule with a pattern may allow these; a rule that denies also looks at the programs they run.
_PROGRAM_RUNNERS = frozenset(("npx", "bunx", "pnpx", "uvx", "pipx", "cross-env", "dotenv", "doppler", "direnv", "mise"))
_RUNNING_VERBS = frozenset(
    (
        *(("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run"), ("bundle", "exec")),
        *(("npm", "exec"), ("npm", "x"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("yarn", "dlx")),
        *(("bun", "x"), ("docker", "exec"), ("docker", "run"), ("podman", "exec"), ("podman", "run")),
        *(("docker", "compose"), ("kubectl", "exec"), ("git", "bisect"), ("git", "submodule"), ("git", "rebase")),
        *(("conda", "run"), ("nix", "run"), ("nix", "shell"), ("nix", "develop"), ("cargo", "watch")),
    )
)
# Their arguments may be commands as text.
_TAKES_TEXT = frozenset(
    (
        *("env", "su", "runuser", "watch", "ssh", "parallel", "script", "flock", "eval", "trap", "sg", "entr"),
        *("hyperfine", "tmux", "screen", "npx", "npm", "bind", "complete", "compgen", "mapfile", "readarray", "alias"),
        *("at", "batch", "systemd-run"),
    )
)
# Builtins that change what later commands mean, or evaluate their arguments.
_EVALUATE = frozenset(
    (
        *("eval", ".", "source", "alias", "unalias", "trap", "hash", "enable", "bind", "complete", "compgen"),
        *("mapfile", "readarray", "set", "shopt", "let", "declare", "typeset", "local", "export", "readonly"),
    )
)
_READ_EXPRESSIONS = frozenset(("printf", "test", "read", "wait", "getopts", "unset"))  # as in ``printf -v 'a[$(id)]'``
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
_FIND_CHANGES = (*_FIND_RUNS, "-delete", "-fls", "-fprint", "-fprint0", "-fprintf")
_RUNNING_OPTIONS = (
    *("--exec", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--ext-diff", "--toolexec", "--pre"),
    *("--hostname-bin", "--to-command", "--use-compress-program", "--compress-program", "--checkpoint-action", "--rsh"),
    *("--script-shell", "--config-env", "--exec-path"),
)
_SHORT_RUNNING_OPTIONS: dict[str, tuple[str, ...]] = {
    "git": ("-c", "-O", "-x"),
    "go": ("-exec", "-toolexec", "-vettool"),
    "rsync": ("-e",),
    "tar": ("-I", "-F"),
    "fd": ("-x", "-X"),
    "fdfind": ("-x", "-X"),
    "sort": (),
}
_RUNNING_GIT = frozenset((("bisect", "run"), ("submodule", "foreach")))
# Of these only the first word after options, numbers and assignments is the command.
_ONE_COMMAND = _PROGRAM_RUNNERS | frozenset(
    (
        *("env", "nice", "nohup", "timeout", "gtimeout", "time", "command", "builtin", "exec", "setsid", "ionice"),
        *("stdbuf", "unbuffer", "sudo", "doas", "xargs", "caffeinate", "busybox", "toybox", "coproc", "watch"),
        *("!", "if", "then", "else", "elif", "while", "until", "do", "{", "("),
    )
)
_WORD_IS_TEXT = frozenset(("trap", "alias", "bind", "complete", "compgen", "mapfile", "readarray", "su", "script"))
_OPERAND = re.compile(r"\d[\d.]*[a-z]?|[^=]*=.*|[{}%.\\]*", re.DOTALL)
_SHELL_TEXT = re.compile(r"[\s;|&$`()<>]")
_MOST_WORDS = 64  # of one command that are looked at


def basename(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def needs_exact_rule(words: tuple[str, ...]) -> bool:
    """True if a pattern with ``*`` must not allow the command, because its other words may be a command.

    >>> needs_exact_rule(("timeout", "5", "rm", "x")), needs_exact_rule(("find", ".", "-delete"))
    (True, True)
    >>> needs_exact_rule(("bash", "build.sh", "all")), needs_exact_rule(("bash", "-c", "ls"))
    (False, True)
    >>> needs_exact_rule(("git", "-c", "alias.x=!rm", "x")), needs_exact_rule(("git", "commit", "-m", "a -c"))
    (True, False)
    """
    name, rest = basename(words[0]), words[1:]
    if name in _PREFIXES or name in _EVALUATE:
        return True
    if name in SHELLS:
        return not rest or rest[0][:1] in ("-", "+", "") or rest[0].startswith(("/dev/", "/proc/"))
    if name in _READ_EXPRESSIONS and any("$" in word or "`" in word for word in rest):
        return True
    if name in ("find", "gfind"):
        return any(word in _FIND_CHANGES for word in rest)
    if name == "git" and _git_verb(rest) in _RUNNING_GIT:
        return True
    return any(_runs_its_value(name, word) for word in rest)


def _runs_its_value(name: str, word: str) -> bool:
    if word.startswith("--"):
        option = word.partition("=")[0]
        return len(option) > 3 and any(full.startswith(option) for full in _RUNNING_OPTIONS)
    short = _SHORT_RUNNING_OPTIONS.get(name, ())
    if name == "git":  # ``-c name=value`` before the verb; ``git commit -c`` reuses a message
        return word in short or word.startswith("-O")
    return any(word.startswith(each) for each in short)


def _git_verb(rest: tuple[str, ...]) -> tuple[str, str]:
    plain = [word for word in git_without_options(rest) if not word.startswith("-")]
    return (plain[0], plain[1]) if len(plain) > 1 else ("", "")


def git_without_options(rest: tuple[str, ...]) -> tuple[str, ...]:
    """The words of ``git`` from its verb on.

    >>> git_without_options(("-C", "x", "--no-pager", "push", "-f"))
    ('push', '-f')
    """
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        takes_value = rest[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env")
        at += 2 if takes_value else 1
    return rest[at:]


# --- what a command runs


def inner_commands(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The commands that may begin at words of this one."""
    name, rest = basename(words[0]), words[1 : _MOST_WORDS + 1]
    if name == "command" and rest[:1] in (("-v",), ("-V",)):
        return
    verb = (name, rest[0] if rest else "")
    if name in _PREFIXES or name in _PROGRAM_RUNNERS or verb in _RUNNING_VERBS:
        after = rest[1:] if verb in _RUNNING_VERBS else rest
        places = _first_places(after) if name in _ONE_COMMAND or verb in _RUNNING_VERBS else range(len(after))
        more = (ANY,) if name in ("xargs", "parallel") else ()
        for at in places:
            if not after[at].startswith("-"):
                yield (*after[at:], *more)
    if name in ("find", "gfind", "fd", "fdfind"):
        yield from _found_commands(rest)
    if name == "git" and (verb := git_without_options(rest)) != rest and verb:
        yield (words[0], *verb)


def _first_places(words: tuple[str, ...]) -> Iterator[int]:
    """Where the command may begin: at a value of an option, or after all options, numbers and assignments."""
    for at, word in enumerate(words):
        if not word.startswith("-"):
            yield at
            of_option = at > 0 and words[at - 1].startswith("-")
            if not of_option and ANY not in word and not _OPERAND.fullmatch(word):
                return


def _found_commands(rest: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for at, word in enumerate(rest):
        if word in (*_FIND_RUNS, "-x", "-X", "--exec", "--exec-batch") and at + 1 < len(rest):
            inner = rest[at + 1 :]
            ends = [place for place, each in enumerate(inner) if each in (";", "+")]
            yield tuple(ANY if each == "{}" else each for each in inner[: ends[0] if ends else None])


def inner_texts(words: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """The shell texts among the words, and whether they certainly are: the script of ``sh -c``, the value of
    ``git -c alias.x='!…'``."""
    name, rest = basename(words[0]), words[1 : _MOST_WORDS + 1]
    if name in SHELLS:
        yield from ((text, True) for text in _scripts(rest))
    elif name == "eval":
        yield " ".join(rest), True
    elif name == "git":
        yield from ((text, True) for text in _git_texts(rest))
    elif name in _TAKES_TEXT:
        for word in rest:
            for text in (word, word[2:] if word.startswith("-") else "", word.partition("=")[2]):
                if (_SHELL_TEXT.search(text) or (text and name in _WORD_IS_TEXT)) and not text.startswith("-"):
                    yield text, name in ("env", "trap")


def _git_texts(rest: tuple[str, ...]) -> Iterator[str]:
    verb = git_without_options(rest)
    for word in rest[: len(rest) - len(verb)]:
        if "=" in word and not word.startswith("--"):
            yield word.partition("=")[2].lstrip("!")
    if verb[:1] in (("rebase",), ("submodule",), ("bisect",), ("difftool",), ("filter-branch",)):
        yield from (word.partition("=")[2] or word for word in verb[1:] if " " in word)


def _scripts(rest: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(rest):
        if word[:1] == "-" and "c" in word and not word.startswith("--"):
            yield from (text for text in rest[at + 1 :] if text[:1] not in ("-", "+"))
            return


def reads_commands_from_input(words: tuple[str, ...]) -> bool:
    """True for a shell without a script: it runs what it reads, such as a here-document or a pipe.

    >>> reads_commands_from_input(("bash", "-s")), reads_commands_from_input(("bash", "x.sh"))
    (True, False)
    >>> reads_commands_from_input(("sh", "-c", "ls")), reads_commands_from_input(("sh", "--version"))
    (False, False)
    """
    if basename(words[0]) not in SHELLS and words[0] not in (".", "source"):
        return False
    rest = words[1:]
    if any(word.startswith(("/dev/", "/proc/")) or ANY in word for word in rest[:1]):
        return True
    if words[0] in (".", "source") or {"--version", "--help", "-n"} & set(rest[:1]):
        return False
    has_script = any(word[:1] not in ("-", "+") for word in rest)
    return not has_script or any(word[:1] == "-" and word[1:2] != "-" and "s" in word for word in rest[:1])
