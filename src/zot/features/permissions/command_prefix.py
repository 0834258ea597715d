"""The words of a command that runs exactly one program, and the prefix that may be allowed for good. Joined commands,
pipes, redirections, substitutions, variables, patterns and line breaks have no words, so no rule covers them."""

from __future__ import annotations

import re

LONGEST = 4_000  # characters; nobody reads more in passing

_SPACES = re.compile(r"[ \t]+")
_PIECE = re.compile(r"""[A-Za-z0-9_./:@%+,=-]+|'[^'\x00-\x1f\x7f]*'|"[^"\\$`!\x00-\x1f\x7f]*\"""")
_NAME = re.compile(r"[A-Za-z0-9_.+/-]+")
_PLAIN = re.compile(r"[a-z][a-z0-9:_-]*")

# Programs whose next word says what they do, and pairs where only the word after that does.
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
# They run whatever comes behind them: to allow their beginning would be to allow everything.
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
    """Whether it looks like one that is hard to undo: "no" is selected, and no rule about a beginning covers it."""
    return len(command) > LONGEST or _DANGER.search(command) is not None


def split_simple_command(command: str) -> tuple[str, ...]:
    """The words as the program gets them; empty when the command is anything but one program with plain arguments.

    >>> words_of("git commit -m 'it works; really'")
    ('git', 'commit', '-m', 'it works; really')
    >>> words_of("git status && make"), words_of("git log > x"), words_of("git show $REV")
    ((), (), ())
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
    # A first word with an equals sign would set a variable, which may change what the program behind it does
    return tuple(words) if words and (_NAME.fullmatch(words[0]) is not None) else ()


def command_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """The beginning that says what a command does; empty when there is none that would limit anything.

    >>> prefix_of(("git", "status", "--short")), prefix_of(("npm", "run", "test")), prefix_of(("ls", "-l"))
    (('git', 'status'), ('npm', 'run', 'test'), ('ls',))
    >>> prefix_of(("python", "x.py")), prefix_of(("git", "-C", "x", "status")), prefix_of(("uv", "run", "python"))
    ((), (), ())
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
