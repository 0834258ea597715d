"""What has happened since the user spoke, told as facts: what was read, found, run and changed, and what files hold.

Everything is computed from the messages, so the same request always tells the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from zot.local_model.coaching.file_knowledge import Step, known_after, known_files, steps_of
from zot.provider.messages import Message

_CHANGING = ("edit", "write")
_LARGEST_PARSED = 20_000  # characters


class Run(msgspec.Struct, frozen=True):
    """A command that really ran. ``changes`` is how many changes had been made before it."""

    command: str
    output: str
    failed: bool
    changes: int

    @property
    def says_nothing(self) -> bool:
        """It could not tell anything: there is no such program, or no test."""
        missing = "[exit 127]" in self.output[-200:] or "No module named pytest" in self.output[-500:]
        return missing or any(said in self.output[-500:] for said in ("Ran 0 tests", "no tests ran", "NO TESTS RAN"))


class History(msgspec.Struct):
    """``files`` hold what is known of files now, ``before`` what they held when they were first seen in this prompt,
    ``tries`` how often each was written or edited, ``refused`` the calls that a guard or the user did not
    allow or that could not be carried out."""

    prompt: str = ""
    earlier: tuple[str, str] = ("", "")
    steps: list[Step] = []
    files: dict[str, str] = {}
    before: dict[str, str] = {}
    read: list[str] = []
    unreadable: set[str] = set()
    found: list[Step] = []
    runs: list[Run] = []
    tries: dict[str, int] = {}
    refused: list[Step] = []

    def is_changed(self, path: str) -> bool:
        """More than its empty lines and the space in it, that is."""
        now, before = self.files.get(path), self.before.get(path, "")
        return path in self.tries and now is not None and now.split() != before.split()

    @property
    def changes(self) -> int:
        return sum(self.tries.values())

    def runs_of(self, command: str) -> list[Run]:
        return [run for run in self.runs if run.command == command]


def history_of(messages: Sequence[Message]) -> History:
    places = [number for number, message in enumerate(messages) if message.role == "user"]
    start = places[-1] if places else 0
    if not messages:
        return History()
    earlier = _exchange(messages[places[-2] : start]) if len(places) > 1 else ("", "")
    files = known_files(steps_of(messages[:start]))
    told = History(prompt=messages[start].text(), earlier=earlier, files=files, before=dict(files))
    for step in steps_of(messages[start:]):
        _add(step, told)
    return told


def _exchange(messages: Sequence[Message]) -> tuple[str, str]:
    """What was asked before, and the answer."""
    said = [message.text() for message in messages if message.role == "assistant" and not message.tool_calls()]
    return messages[0].text(), said[-1] if said else ""


def _add(step: Step, told: History) -> None:
    """The next step, in order."""
    told.steps.append(step)
    name, failed = step.call.name, step.result.is_error
    known_after(step, told.files)
    if name == "read" and failed:
        told.unreadable.add(step.path)
    elif name == "read":
        told.read.append(step.path)
        if step.path in told.files and step.path not in told.tries:
            told.before[step.path] = told.files[step.path]
    elif name in ("grep", "glob") and not failed:
        told.found.append(step)
    elif name == "bash" and "[exit " in step.text[-200:]:
        command = str(step.args.get("command", "")).strip()
        told.runs.append(Run(command, step.text, failed, told.changes))
    elif name in _CHANGING and (not failed or "are the same" in step.text):
        told.tries[step.path] = told.tries.get(step.path, 0) + 1
    elif failed and name != "grep":
        told.refused.append(step)


def broken(path: str, text: str) -> str:
    """Why a file is not what its name says; empty where it is, or where nobody can tell."""
    ending = path.rpartition(".")[2]
    if len(text) > _LARGEST_PARSED or ending not in ("py", "json", "toml"):
        return ""
    try:
        _parse(ending, text)
    except (SyntaxError, ValueError, msgspec.MsgspecError) as error:
        return str(error)[:200]
    except (RecursionError, MemoryError):
        return ""
    return ""


def _parse(ending: str, text: str) -> None:
    if ending == "json":
        msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    elif ending == "toml":
        import tomllib

        tomllib.loads(text)
    else:
        import ast
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
