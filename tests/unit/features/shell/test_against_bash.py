"""Both readings of a command compared with what bash does: commands from shell syntax at random are run, and a program
on PATH records each of its starts."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zot.features.shell.patterns import covers_command, match_command

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not installed")

PIECES = (
    *(
        "echo",
        "mark",
        "mark x",
        "true",
        "a",
        "b=1",
        "x",
        "-n",
        "EOF",
        "env",
        "sh",
        "-c",
        "eval",
        "timeout 5",
        "command",
    ),
    *(
        " ",
        " ",
        " ",
        " ",
        "\t",
        "\n",
        "\r",
        "\\\n",
        "\\",
        "'",
        "'",
        '"',
        '"',
        "`",
        "$(",
        ")",
        "(",
        "{ ",
        "; }",
        "${x:-",
    ),
    *("}", ";", "&", "&&", "||", "|", "|&", "!", "#", " #", ">", ">>", "<", "<<EOF\n", "\nEOF\n", "<<<", "2>&1", "<("),
    *(
        "$",
        "$'",
        "$x",
        "*",
        "?",
        "[",
        "]",
        "[[ ",
        " ]]",
        "if ",
        "; then ",
        "; fi",
        "for x in ",
        "; do ",
        "; done",
        "case x in x) ",
    ),
    *(
        ";;",
        " esac",
        "f() ",
        "function f ",
        "=",
        "x=",
        "$((",
        "))",
        "{m,}",
        "~",
        "\u00a0",
        "\u2028",
        "é",
        "\x0b",
        "time ",
        "m\\ark",
    ),
)
FRAMES = (
    *("{}", "echo $({})", 'echo "$({})"', "echo `{}`", "({})", "{{ {}; }}", "true && {}", "false || {}", "true | {}"),
    *("{} &", "if true; then {}; fi", "for x in 1; do {}; done", "case x in x) {};; esac", "f() {{ {}; }}; f", "! {}"),
    *(
        "sh -c '{}'",
        'sh -c "{}"',
        "eval '{}'",
        "eval {}",
        "env b=1 {}",
        "timeout 5 {}",
        "command {}",
        "b=1 {}",
        "time {}",
    ),
    *("echo <({})", "cat <<EOF\n$({})\nEOF\n", "sh <<EOF\n{}\nEOF\n", "echo '{}' | sh", "trap '{}' EXIT", "x='{}'; $x"),
    *("echo ${{x:-$({})}}", "echo $(( $({}) ))", "[[ -n $({}) ]]", "x=$({})", "echo a#b; {}", "echo \\\n{}", "> f {}"),
    *("true\n{}", "# c\n{}", "echo 'a' {}", "exec {}", "env -S '{}'", "echo <<<$({})", "while {}; do break; done"),
)
BASES = (
    "mark",
    "mark x",
    "'mark' x",
    "m\\ark",
    "ma\\\nrk",
    "$'mark'",
    "{mark,x}",
    'm"ar"k x',
    "echo mark",
    "mark #",
    "m?rk",
)
NESTED = st.tuples(st.sampled_from(BASES), st.lists(st.sampled_from(FRAMES), max_size=3)).map(
    lambda pair: functools.reduce(lambda text, frame: frame.format(text), pair[1], pair[0])
)


def _damaged(text: str, place: int, piece: str, removed: int) -> str:
    at = place % (len(text) + 1)
    return text[:at] + piece + text[at + removed :]


RANDOM = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
COMMANDS = st.one_of(
    NESTED,
    st.builds(_damaged, NESTED, st.integers(0, 200), st.sampled_from(PIECES), st.integers(0, 2)),
    RANDOM,
)
LIMITS = settings(
    max_examples=int(os.environ.get("ZOT_SHELL_EXAMPLES", "150")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the programs; ``mark`` leaves a file."""
    stage = tmp_path_factory.mktemp("stage")
    (stage / "bin").mkdir()
    (stage / "bin" / "mark").write_text('#!/bin/sh\n: > "$MARKED"\n')
    (stage / "bin" / "mark").chmod(0o755)
    for name in ("sh", "env", "timeout"):
        (stage / "bin" / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    return stage


def runs_mark(stage: Path, command: str) -> bool:
    """True if bash starts the program."""
    work, marked = stage / "work", stage / "marked"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    marked.unlink(missing_ok=True)
    env = {"PATH": str(stage / "bin"), "MARKED": str(marked), "HOME": str(work)}
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):  # an endless loop; a NUL
        subprocess.run(
            [str(BASH), "-c", command], cwd=work, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=10
        )
    return marked.exists()


@LIMITS
@given(command=COMMANDS)
def test_deny_rule_sees_each_command_that_bash_runs(stage: Path, command: str) -> None:
    """issue 32.5: what bash runs is matched by a deny rule, or doubted."""
    found, _ = match_command("mark *", command)
    assert found != "no" or not runs_mark(stage, command)


@LIMITS
@given(command=st.one_of(COMMANDS, COMMANDS.map(lambda text: f"echo {text}")))
def test_allow_rule_covers_no_additional_command(stage: Path, command: str) -> None:
    """issue 32.5: a command that rules for `echo` and `true` cover runs nothing else."""
    if covers_command(["echo *", "true:*", "time *", "env *", "sh *", "command *", "timeout *"], command):
        assert not runs_mark(stage, command)
