"""Splits a command that runs exactly one program into words, and finds the prefix a rule may allow.
Commands with pipes, redirections, substitutions, variables, patterns or line breaks have no words, so no rule covers
them."""

from __future__ import annotations

import re

LONGEST = 4_000  # characters; longer ones cannot be reviewed

_SPACES = re.compile(r"[ \t]+")
_PIECE = re.compile(r"""[A-Za-z0-9_./:@%+,=-]+|'[^'\x00-\x1f\x7f]*'|"[^"\\$`!\x00-\x1f\x7f]*\"""")
_NAME = re.compile(r"[A-Za-z0-9_.+/-]+")
_PLAIN = re.compile(r"[a-z][a-z0-9:_-]*")

# Programs with subcommands, and pairs with a second level of subcommands.
_WITH_VERBS = frozenset(
    {
        *("git", "gh", "glab", "npm", "pnpm", "yarn", "bun", "cargo", "go", "rustup", "docker", "podman", "kubectl"),
        *("helm", "make", "just", "task", "rake", "uv", "pip", "pip3", "pipx", "poetry", "pdm", "hatch", "tox", "nox"),
        *("conda", "apt", "apt-get", "brew", "dnf", "systemctl", "journalctl", "terraform", "dotnet", "mvn", "gradle"),
        *("gradlew", "bazel", "mix", "rails", "composer", "bundle", "deno", "zot"),
    }
)
_WITH_TWO = frozenset(
    {
        *(("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("deno", "task"), ("composer", "run")),
        *(("docker", "compose"), ("docker", "image"), ("docker", "container"), ("uv", "pip"), ("uv", "run")),
        *(("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("bundle", "exec"), ("pipx", "run"), ("conda", "run")),
        *(("gh", "pr"), ("gh", "issue"), ("gh", "run"), ("gh", "repo"), ("git", "stash"), ("git", "remote")),
        *(("go", "mod"), ("go", "tool"), ("cargo", "run"), ("rustup", "run"), ("git", "worktree"), ("zot", "ext")),
    }
)
# These run other programs: allowing their prefix would allow everything.
_RUN_ANYTHING = frozenset(
    {
        *("sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "busybox", "env", "sudo", "doas", "su", "runuser"),
        *("xargs", "parallel", "nohup", "setsid", "time", "timeout", "nice", "ionice", "chrt", "taskset", "stdbuf"),
        *("script", "watch", "exec", "eval", "command", "builtin", "source", ".", "trap", "alias", "coproc", "enable"),
        *(
            "mapfile",
            "readarray",
            "compgen",
            "complete",
            "jobs",
            "bind",
            "python",
            "python2",
            "python3",
            "pypy",
            "perl",
        ),
        *(
            "ruby",
            "node",
            "nodejs",
            "php",
            "lua",
            "tclsh",
            "osascript",
            "awk",
            "gawk",
            "mawk",
            "sed",
            "find",
            "fd",
            "ssh",
        ),
        *("scp", "rsync", "socat", "nc", "ncat", "netcat", "gdb", "strace", "ltrace", "unshare", "nsenter", "chroot"),
        *(
            "flatpak",
            "npx",
            "pnpx",
            "bunx",
            "uvx",
            "tmux",
            "screen",
            "expect",
            "vi",
            "vim",
            "nvim",
            "ed",
            "ex",
            "emacs",
        ),
        *("less", "more", "man", "tar", "zip", "cmake", "ninja", "rg", "dd", "at", "batch", "crontab", "systemd-run"),
    }
)
_DANGER = re.compile(
    r"\brm\s+(-\S*\s+)*-\S*[rf]|\bsudo\b|\bdd\s|\bmkfs|\bgit\s+(push\s.*(-f\b|--force)|reset\s+--hard|clean\s+-\S*f)"
    r"|\b(curl|wget)\b.*\|\s*(ba|z|da)?sh\b|\bch(mod|own)\s+-R|>\s*/dev/(sd|nvme)|\b(shutdown|reboot|killall|pkill)\b"
    r"|\b(DROP|TRUNCATE)\s+(TABLE|DATABASE)\b|:\(\)\s*\{",
    re.IGNORECASE,
)


def is_dangerous(command: str) -> bool:
    """True if it looks hard to undo: "no" is preselected, and no prefix rule covers it."""
    return len(command) > LONGEST or _DANGER.search(command) is not None


def split_simple_command(command: str) -> tuple[str, ...]:
    """The words of a single plain command; empty for anything else.

    >>> split_simple_command("git commit -m 'it works; really'")
    ('git', 'commit', '-m', 'it works; really')
    >>> split_simple_command("git status && make"), split_simple_command("git show $REV")
    ((), ())
    """
    if is_dangerous(command):
        return ()
    words: list[str] = []
    text = command.strip(" \t")
    place = 0
    while place < len(text):
        word = ""
        while piece := _PIECE.match(text, place):
            word += piece[0][1:-1] if piece[0][0] in "'\"" else piece[0]
            place = piece.end()
        words.append(word)
        gap = _SPACES.match(text, place)
        if gap is None and place < len(text):
            return ()
        place = gap.end() if gap is not None else place
    # a leading assignment may change what the program does
    return tuple(words) if words and (_NAME.fullmatch(words[0]) is not None) else ()


def command_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """The prefix that identifies a command's action; empty if none would limit it.

    >>> command_prefix(("git", "status", "--short")), command_prefix(("npm", "run", "test"))
    (('git', 'status'), ('npm', 'run', 'test'))
    >>> command_prefix(("python", "x.py")), command_prefix(("git", "-C", "x", "status"))
    ((), ())
    """
    if not words or _runs_anything(words[0]):
        return ()
    wanted = 1
    if words[0].rpartition("/")[2] in _WITH_VERBS:
        wanted = 3 if (words[0].rpartition("/")[2], *words[1:2]) in _WITH_TWO else 2
    verbs = words[1:wanted]
    if len(verbs) < wanted - 1 or not all(_PLAIN.fullmatch(verb) for verb in verbs):
        return ()
    return () if any(map(_runs_anything, verbs)) else words[:wanted]


def _runs_anything(word: str) -> bool:
    name = word.rpartition("/")[2]
    return name in _RUN_ANYTHING or name.rstrip("0123456789.") in _RUN_ANYTHING
