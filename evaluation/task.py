"""A task: read from its file, laid out in a directory, checked there, and solved by its reference.

The check is a bash script that runs in the project as the model left it. It gets the final answer on its standard
input, and two words of ours beside the shell's: ``says PATTERN`` looks for whole words in the answer, whatever their
case, and ``not COMMAND`` fails where the command succeeds (a plain ``!`` would be passed over).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

TASKS = Path(__file__).parent / "tasks"
HELD_OUT = Path(__file__).parent / "held_out"  # never looked at while zot is made better with the others
GROUPS = ("read", "search", "edit", "fix", "write", "run")
CHECK_S = 20.0
_WORDS = """\
set -euo pipefail
answer=$(cat)
says() { grep -Eqiw -e "$1" <<< "$answer"; }
not() { if "$@"; then return 1; fi; }
"""


class Solution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody who can do it would leave behind: files, the effect of a command, an answer."""

    files: dict[str, str] = {}
    run: str = ""
    answer: str = "Done."


class TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``kept`` are files that are written again before the check: nobody passes by changing the test."""

    prompt: str
    check: str
    files: dict[str, str]
    solution: Solution
    kept: list[str] = []


class Task(msgspec.Struct, frozen=True):
    group: str
    name: str
    text: TaskFile

    @property
    def id(self) -> str:
        return f"{self.group}/{self.name}"

    @property
    def prompt(self) -> str:
        return self.text.prompt

    def lay_out(self, project: Path) -> None:
        write_files(project, self.text.files)

    def check(self, project: Path, answer: str, jailed: bool = False) -> str:
        """Why it is not done; empty when it is."""
        write_files(project, {name: self.text.files[name] for name in self.text.kept})
        argv = ["bash", "-c", _WORDS + self.text.check]
        try:
            done = subprocess.run(
                [*jail(), *argv] if jailed else argv, cwd=project, input=answer, capture_output=True, text=True,
                errors="replace", timeout=CHECK_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"the check was not over after {CHECK_S:.0f} s"
        said = (done.stdout + done.stderr).strip()[-2000:]
        return "" if done.returncode == 0 else said or f"the check ended with {done.returncode}"

    def script(self) -> dict[str, object]:
        """The reference solution as the answers of a scripted model."""
        solution = self.text.solution
        calls = [{"name": "write", "args": {"path": path, "content": text}} for path, text in solution.files.items()]
        if solution.run:
            calls.append({"name": "bash", "args": {"command": solution.run}})
        return {"turns": [*({"tool_calls": [call]} for call in calls), {"text": solution.answer}]}


def read_task(path: Path) -> Task:
    try:
        text = msgspec.convert(tomllib.loads(path.read_text("utf-8")), TaskFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SystemExit(f"{path}: not a task: {error}") from error
    return Task(path.parent.name, path.stem, text)


def every_task(root: Path = TASKS) -> list[Task]:
    """In the order of the groups, then by name."""
    return [read_task(path) for group in GROUPS for path in sorted((root / group).glob("*.toml"))]


def write_files(project: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = project / name
        if path.is_dir() and not path.is_symlink():  # a model may leave anything in the place of a file
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text, "utf-8")


def jail() -> Sequence[str]:
    """What a model wrote is run by the check: with the same walls around it."""
    return (sys.executable, "-m", "zot", "jail", "--")
