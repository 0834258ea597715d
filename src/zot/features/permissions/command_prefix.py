"""The prefix of a command that an answer "always" may allow, and commands that look hard to undo."""

from __future__ import annotations

import re

from zot.features.shell.plain_commands import LONGEST_PLAIN

_PLAIN = re.compile(r"[a-z][a-z0-9:_-]*")

# Programs that a prefix may allow from now on: none runs a program that its arguments name. An unknown program is never
# among them. Several run code of the project, as a user expects of tests and builds.
_ARGUMENTS_ARE_DATA = frozenset(
    {
        *(
            "ls",
            "cat",
            "head",
            "tail",
            "wc",
            "stat",
            "file",
            "du",
            "df",
            "pwd",
            "echo",
            "true",
            "false",
            "whoami",
            "id",
        ),
        *("uname", "hostname", "which", "basename", "dirname", "realpath", "readlink", "cut", "uniq", "tr", "nl"),
        *("diff", "cmp", "comm", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "tree", "jq", "grep", "egrep"),
        *("fgrep", "touch", "mkdir", "rmdir", "cp", "mv", "ln", "sleep", "pytest", "ruff", "black", "isort", "flake8"),
        *("mypy", "pyright", "basedpyright", "tsc", "eslint", "prettier", "jest", "vitest", "gofmt", "rustfmt"),
        *("shellcheck", "yamllint", "markdownlint", "hadolint"),
    }
)
_VERBS: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "git": "status log diff show branch add commit fetch pull push stash tag rev-parse blame ls-files remote "
        "restore checkout switch merge worktree describe shortlog reflog cherry-pick revert mv rm init",
        "cargo": "build check test clippy fmt doc tree metadata bench clean",
        "go": "build test vet fmt list version doc mod",
        "npm": "test run ls list outdated audit view ci install",
        "pnpm": "test run ls list outdated audit view install",
        "yarn": "test run list outdated audit install",
        "bun": "test run install",
        "deno": "check fmt lint test task",
        "make": "*",
        "docker": "ps images logs inspect version info compose",
        "podman": "ps images logs inspect version info",
        "kubectl": "get describe logs version",
        "gh": "pr issue run repo",
        "pip": "list show freeze check",
        "pip3": "list show freeze check",
        "uv": "sync lock tree version run pip",
        "poetry": "run show check",
        "pdm": "run list",
        "hatch": "run",
        "bundle": "exec list",
        "dotnet": "build test restore format",
        "mvn": "test compile package verify",
        "gradle": "build test check",
        "gradlew": "build test check",
        "mix": "test compile format deps.get",
        "terraform": "fmt validate show",
        "systemctl": "status",
        "apt": "list show search",
        "brew": "list info search",
    }.items()
}
_SECOND: dict[tuple[str, str], frozenset[str]] = {
    ("git", "stash"): frozenset(("list", "show", "push", "pop", "apply", "drop")),
    ("git", "remote"): frozenset(("show", "get-url")),
    ("git", "worktree"): frozenset(("list", "prune")),
    ("go", "mod"): frozenset(("tidy", "download", "verify", "graph", "why")),
    ("docker", "compose"): frozenset(("ps", "logs", "config", "ls")),
    ("gh", "pr"): frozenset(("view", "list", "status", "diff", "checks")),
    ("gh", "issue"): frozenset(("view", "list", "status")),
    ("gh", "run"): frozenset(("view", "list", "watch")),
    ("gh", "repo"): frozenset(("view", "list")),
    ("uv", "pip"): frozenset(("list", "show", "freeze", "check", "tree")),
    **{(name, "run"): frozenset("*") for name in ("npm", "pnpm", "yarn", "bun")},
    ("deno", "task"): frozenset("*"),
}
_RUNNERS = frozenset({("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("bundle", "exec")})
# Options whose value would be run; git and others accept the beginning of a long option as well.
_RUNS_ITS_VALUE = (
    *("--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--textconv", "--open-files-in-pager", "--config"),
    *("--config-env", "--toolexec", "--vettool", "--script-shell", "--shell", "--shell-arg", "--justfile", "--command"),
    *("--init-script", "--pre", "--hostname-bin", "--to-command", "--use-compress-program", "--compress-program"),
    *("--rsh", "--eval", "--file", "--makefile", "--directory", "--include-dir", "--editor", "--pager", "--template"),
    *("--strategy", "--plugin", "--pdbcls", "--runner", "--node-options", "--require", "--import", "--git-dir"),
)
_RUNS_ITS_VALUE_SHORT = {
    "go": ("-exec", "-toolexec", "-vettool", "-overlay", "-modfile"),
    "make": ("-f", "-C", "-I", "-E"),
    "mvn": ("-D", "-f", "-s", "-gs"),
    "gradle": ("-I", "-b", "-P", "-D"),
    "gradlew": ("-I", "-b", "-P", "-D"),
    "pytest": ("-p", "-c"),
    "gh": ("-R",),
}
_DANGER = re.compile(
    r"\brm\s+(-\S*\s+)*-\S*[rf]|\bsudo\b|\bdd\s|\bmkfs|\bgit\s+(push\s.*(-f\b|--force)|reset\s+--hard|clean\s+-\S*f)"
    r"|\b(curl|wget)\b.*\|\s*(ba|z|da)?sh\b|\bch(mod|own)\s+-R|>\s*/dev/(sd|nvme)|\b(shutdown|reboot|killall|pkill)\b"
    r"|\b(DROP|TRUNCATE)\s+(TABLE|DATABASE)\b|:\(\)\s*\{",
    re.IGNORECASE,
)


def is_dangerous(command: str) -> bool:
    """True if it looks hard to undo: "no" is preselected, and no prefix rule covers it."""
    return len(command) > LONGEST_PLAIN or _DANGER.search(command) is not None


def command_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """The prefix that identifies a command's action; empty if allowing it could allow any program.

    >>> command_prefix(("git", "status", "--short")), command_prefix(("npm", "run", "test"))
    (('git', 'status'), ('npm', 'run', 'test'))
    >>> command_prefix(("python", "x.py")), command_prefix(("git", "-C", "x", "status")), command_prefix(("flock", "x"))
    ((), (), ())
    >>> command_prefix(("uv", "run", "pytest", "-q")), command_prefix(("go", "test", "-exec", "sh"))
    (('uv', 'run', 'pytest'), ())
    """
    if not words or not program_name(words[0]):
        return ()
    name = program_name(words[0])
    if _has_running_option(name, words[1:]):
        return ()
    if name in _ARGUMENTS_ARE_DATA:
        return words[:1]
    verb = words[1] if len(words) > 1 else ""
    if not _is_listed(verb, _VERBS.get(name, frozenset())):
        return ()
    if (name, verb) in _RUNNERS:
        inner = command_prefix(words[2:])
        return (*words[:2], *inner) if inner else ()
    if (name, verb) in _SECOND:
        third = words[2] if len(words) > 2 else ""
        return words[:3] if _is_listed(third, _SECOND[name, verb]) else ()
    return words[:2]


def program_name(word: str) -> str:
    """The program's name; empty for a file that is not in a directory of the system."""
    folder, _, name = word.rpartition("/")
    return name if folder in ("", "/bin", "/usr/bin", "/usr/local/bin") or word == "./gradlew" else ""


def _is_listed(verb: str, known: frozenset[str]) -> bool:
    return bool(_PLAIN.fullmatch(verb)) and (verb in known or "*" in known)


_MERGING = ("merge", "pull", "revert", "cherry-pick")  # -s names a program


def _has_running_option(name: str, words: tuple[str, ...]) -> bool:
    short = _RUNS_ITS_VALUE_SHORT.get(name, ())
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("--") and len(option) > 3 and any(full.startswith(option) for full in _RUNS_ITS_VALUE):
            return True
        if word.startswith("-") and any(word.startswith(each) for each in short):
            return True
        if (name == "make" and "=" in word) or (name == "git" and word.startswith("-s") and words[0] in _MERGING):
            return True
    return False
