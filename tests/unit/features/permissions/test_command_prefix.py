"""Which commands have words a rule may be about: one program, plain arguments, nothing a shell would expand."""

from __future__ import annotations

import pytest

from zot.features.permissions.command_prefix import command_prefix, is_dangerous
from zot.features.shell.plain_commands import split_commands


def single_command(command: str) -> tuple[str, ...]:
    """The words of a command that runs one program; empty for anything else."""
    parts = () if is_dangerous(command) else split_commands(command)
    return parts[0] if len(parts) == 1 else ()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", ("git", "status")),
        ("  git   status\t-s ", ("git", "status", "-s")),
        ("git commit -m 'a; b && c | d $(e) `f`'", ("git", "commit", "-m", "a; b && c | d $(e) `f`")),
        ('git commit -m "a; b"', ("git", "commit", "-m", "a; b")),
        ("ls -l ./src/a+b,c@d:e=f%", ("ls", "-l", "./src/a+b,c@d:e=f%")),
        ("gi't' stat\"us\"", ("git", "status")),
        ("echo ''", ("echo", "")),
    ],
)
def test_plain_command_has_its_arguments_as_words(command: str, words: tuple[str, ...]) -> None:
    assert single_command(command) == words


# Whatever follows "git status" here must not ride on a yes for `git status …`.
RIDERS = [
    *(
        "&& rm x",
        "; rm x",
        "| sh",
        "|| rm x",
        "& rm x",
        "&",
        "\nrm x",
        "\r\nrm x",
        "\x0brm x",
        "\x00rm x",
        "\u2028rm x",
    ),
    *("$(rm x)", "`rm x`", "${IFS}x", "$x", "$'x'", '"$(rm x)"', '"`rm x`"', '"$x"', '"\\$x"', '"!x"', "$((1))"),
    *("> x", ">> x", "< x", "2>x", ">&x", "<(rm x)", ">(rm x)", "<<x", "<<<x", ">|x", "&>x"),
    *("*", "?", "[a]", "{a,b}", "~", "~root", "\\", "\\x", "# x", "(x)", "!x", "!!", "'x", '"x', "'x\ny'", "\x1b[2J"),
    *("-m 'x' ; rm x", "a\\\nb", "é", "\u00a0x", "\ufeff", "''&& rm x", "''|sh", "^x^y"),
]


@pytest.mark.parametrize("rider", RIDERS, ids=repr)
@pytest.mark.parametrize("glue", [" ", ""], ids=["apart", "together"])
def test_shell_syntax_has_no_command_words(rider: str, glue: str) -> None:
    assert single_command(f"git status{glue}{rider}") == ()


@pytest.mark.parametrize(
    "command", ["", " ", "PATH=. git status", "x=1", "'git status'", "rm -rf x", "git push --force", "x " * 4000]
)
def test_non_program_or_irreversible_command_has_no_prefix(command: str) -> None:
    assert command_prefix(single_command(command)) == ()


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("git status -s", "git status"),
        ("/usr/bin/git log", "/usr/bin/git log"),
        ("npm run test:unit -- --watch", "npm run test:unit"),
        ("docker compose logs -f", "docker compose logs"),
        ("docker compose up", ""),
        ("uv run pytest -x", "uv run pytest"),
        ("make", ""),
        ("make test", "make test"),
        ("pytest -x", "pytest"),
        ("./run.sh a", ""),
        ("git -c core.pager=x status", ""),
        ("git --version", ""),
        ("npm run", ""),
    ],
)
def test_prefix_identifies_the_command(command: str, prefix: str) -> None:
    assert " ".join(command_prefix(single_command(command))) == prefix


@pytest.mark.parametrize(
    "command",
    [
        "bash x",
        "sh -c x",
        "/bin/sh x",
        "env x",
        "sudo x",
        "xargs rm",
        "python x.py",
        "python3.12 x",
        "node x",
        "find . x",
        "eval x",
        "exec x",
        "command x",
        "uv run python x",
        "poetry run bash",
        "ssh host",
        "timeout 9 rm",
        "coproc x",
    ],
)
def test_a_beginning_that_would_allow_everything_is_not_offered(command: str) -> None:
    assert command_prefix(single_command(command)) == ()


@pytest.mark.parametrize(
    "command",
    [
        "printf -v 'a[$(id)]' x",
        "test -v 'a[$(id)]'",
        "[ -v x ]",
        "flock lock sh",
        "choom -n 0 sh",
        "setpriv --nnp sh",
        "docker run image sh",
        "podman exec box sh",
        "git bisect run sh",
        "git submodule foreach sh",
        "git rebase -x sh",
        "git fetch --upload-pack sh origin",
        "git fetch --upload-p=sh origin",
        "git log --ext-diff",
        "git merge -s sh",
        "git difftool -x sh",
        "git grep -Osh x",
        "go test -exec sh ./x",
        "go build -toolexec sh",
        "go run main.go",
        "cargo test --config x",
        "cargo run",
        "make SHELL=sh all",
        "make -f other all",
        "npm run test --script-shell sh",
        "npm exec sh",
        "npm explore x",
        "yarn dlx sh",
        "uv run sh",
        "uv run python x.py",
        "poetry run python x.py",
        "pytest -p evil",
        "kubectl exec pod sh",
        "gh api x",
        "gh alias set x y",
        "mvn -Dexec.executable=sh test",
        "sort --compress-program=sh x",
        "rg --pre sh x",
        "ssh-keygen -D lib.so",
        "unknown-program x",
        "/home/me/ls x",
        "./ls x",
        "node_modules/.bin/eslint x",
        "tmp/git status",
        "bwrap sh",
        "prlimit sh",
        "numactl sh",
        "faketime now sh",
        "catchsegv sh",
        "linux64 sh",
        "ld.so prog",
        "rlwrap sh",
        "entr sh",
        "hyperfine sh",
        "perf record sh",
        "valgrind sh",
        "qemu-x86_64 prog",
        "wine prog",
        "proot sh",
        "fakeroot sh",
        "firejail sh",
        "pkexec sh",
        "start-stop-daemon --exec sh",
        "capsh -- -c x",
        "tcpdump -z sh",
        "journalctl -u x",
    ],
)
def test_programs_running_their_arguments_have_no_prefix(command: str) -> None:
    assert command_prefix(single_command(command)) == ()


@pytest.mark.parametrize("saved", [("flock", "lock"), ("printf",), ("docker", "run"), ("./run.sh",)])
def test_rule_saved_for_an_unsafe_program_covers_nothing(saved: tuple[str, ...]) -> None:
    words = single_command(" ".join((*saved, "x")))
    assert words and command_prefix(words) == ()
